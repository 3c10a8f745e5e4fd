// get_device_report(): the whole picture of backends, devices and the choice, as data and as text.
#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "sluice/backends.hpp"
#include "src/device/components.hpp"
#include "src/device/kernel_store.hpp"
#include "src/device/private_file.hpp"
#include "src/device/readable.hpp"
#include "src/device/selection.hpp"

namespace sluice::inline v0 {
namespace {

using detail::BackendRecord;
using detail::DeviceRecord;
using detail::Registry;

std::string kind_text(std::uint32_t kind) {
  switch (kind) {
    case SLUICE_KIND_DISCRETE: return "discrete";
    case SLUICE_KIND_INTEGRATED: return "integrated";
    case SLUICE_KIND_CPU: return "CPU";
    default: return "other";
  }
}

DeviceReport describe(Registry& registry, DeviceRecord& record, int id) {
  DeviceReport report;
  report.id = id;
  report.functional = registry.is_functional(record);
  report.reason = record.problem;
  if (record.device == nullptr) return report;
  const detail::DeviceFacts& facts = record.device->facts();
  report.name = facts.name;
  report.kind = kind_text(facts.kind);
  report.architecture = facts.architecture;
  report.driver = facts.driver;
  report.card = facts.card;
  report.memory_bytes = facts.memory_bytes;
  return report;
}

/// Why a functional backend was not the choice.
std::string why_not(const BackendReport& report, const std::string& chosen) {
  bool only_cpus = true;
  for (const DeviceReport& device : report.devices) only_cpus = only_cpus && device.kind == "CPU";
  if (only_cpus) return "its devices are processors, which are never chosen unasked";
  return chosen + " comes first";
}

BackendReport describe(Registry& registry, BackendRecord& backend, const detail::PluginDevice* chosen) {
  BackendReport report;
  report.name = backend.name;
  report.file = backend.table == nullptr ? "" : backend.file;
  report.loaded = backend.table != nullptr;
  report.reason = registry.problem(backend);
  report.functional = report.reason.empty();
  report.available = !backend.devices.empty();
  for (std::size_t i = 0; i < backend.devices.size(); ++i) {
    report.devices.push_back(describe(registry, backend.devices[i], static_cast<int>(i)));
    report.chosen = report.chosen || (chosen != nullptr && backend.devices[i].device == chosen);
  }
  for (const detail::ComponentFacts& facts : detail::components(backend)) {
    report.components.push_back({facts.name, facts.file, facts.version, facts.reason});
  }
  return report;
}

BackendReport describe_cpu(const SelectionReport& report) {
  BackendReport cpu;
  cpu.name = "CPU";
  cpu.loaded = cpu.available = cpu.functional = true;
  cpu.chosen = report.chosen == to_string(cpu_device());
  cpu.reason = cpu.chosen ? report.reason : report.chosen + " comes first";
  DeviceReport device;
  device.name = cpu_device().name();
  device.kind = "CPU";
  device.functional = true;
  cpu.devices.push_back(device);
  return cpu;
}

KernelCacheReport describe_kernel_cache() {
  KernelCacheReport report;
  report.folder = detail::kernel_folder(report.reason);
  if (report.folder.empty()) return report;
  std::error_code error;
  // It is made with the first kernel.
  if (std::filesystem::exists(report.folder, error)) report.reason = detail::private_folder_problem(report.folder);
  const detail::KernelStoreUse use = detail::kernel_store_use(report.folder);
  report.kernels = use.files;
  report.bytes = use.bytes;
  return report;
}

std::string bytes_text(std::uint64_t bytes) { return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / 0x1p30); }

void append_device(std::string& text, const DeviceReport& device) {
  text += fmt::format("    {}: {}", device.id, device.name.empty() ? "?" : device.name);
  for (const std::string& fact : {device.kind, device.architecture, device.card}) {
    if (!fact.empty()) text += ", " + fact;
  }
  if (device.memory_bytes > 0) text += ", " + bytes_text(device.memory_bytes);
  if (!device.driver.empty()) text += ", driver " + device.driver;
  text += device.functional ? "\n" : fmt::format("\n       not functional: {}\n", device.reason);
}

void append_backend(std::string& text, const BackendReport& backend) {
  const char* const state = backend.functional  ? "functional"
                            : backend.available ? "available, not functional"
                            : backend.loaded    ? "loaded, not available"
                                                : "not loaded";
  text += fmt::format("{} {:8}{}\n", backend.chosen ? "*" : " ", backend.name, state);
  if (!backend.reason.empty()) text += fmt::format("    {}\n", backend.reason);
  if (!backend.file.empty()) text += fmt::format("    plug-in {}\n", backend.file);
  for (const DeviceReport& device : backend.devices) append_device(text, device);
  for (const ComponentReport& component : backend.components) {
    text += fmt::format("    {} {}{}\n", component.name, component.version,
                        component.reason.empty() ? "found: " + component.file : "missing: " + component.reason);
  }
}

}  // namespace

SelectionReport get_device_report() {
  const detail::Selection selection = detail::select_device();
  SelectionReport report;
  report.reason = selection.reason;
  if (selection.preference) {
    report.preference = selection.preference->value;
    report.preference_source = selection.preference->where;
  }
  const Device chosen = selection.device == nullptr ? cpu_device() : Device(selection.device);
  report.chosen = to_string(chosen);
  Registry registry;
  for (const auto& backend : registry.backends()) {
    report.backends.push_back(describe(registry, *backend, selection.device));
    BackendReport& last = report.backends.back();
    if (last.functional)
      last.reason = last.chosen ? selection.reason : why_not(last, detail::short_name(*chosen.impl()));
  }
  report.backends.push_back(describe_cpu(report));
  for (const detail::Refusal& refusal : registry.refusals()) report.refused.push_back({refusal.path, refusal.problem});
  for (const detail::PluginFolder& folder : registry.folders()) {
    if (!folder.problem.empty()) report.refused.push_back({folder.path, folder.problem});
  }
  report.kernel_cache = describe_kernel_cache();
  return report;
}

std::string to_string(const SelectionReport& report) {
  std::string text = fmt::format("get_device() gives {}: {}\n", report.chosen, report.reason);
  if (report.preference) text += fmt::format("preference {} from {}\n", *report.preference, report.preference_source);
  for (const BackendReport& backend : report.backends) append_backend(text, backend);
  if (!report.refused.empty()) text += "not used\n";
  for (const RefusedFile& refused : report.refused) text += fmt::format("    {}: {}\n", refused.path, refused.reason);
  const KernelCacheReport& cache = report.kernel_cache;
  text += cache.folder.empty()
              ? "kernels are not kept"
              : fmt::format("{} kernels, {}, in {}", cache.kernels, detail::readable(cache.bytes), cache.folder);
  text += cache.reason.empty() ? "\n" : fmt::format(": {}\n", cache.reason);
  return text;
}

std::ostream& operator<<(std::ostream& out, const SelectionReport& report) { return out << to_string(report); }

}  // namespace sluice::inline v0
