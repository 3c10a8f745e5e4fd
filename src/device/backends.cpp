// The public questions about backends and devices, and the wish for one.
#include "sluice/backends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "src/device/components.hpp"
#include "src/device/selection.hpp"

namespace sluice::inline v0 {
namespace {

using detail::BackendRecord;
using detail::DeviceRecord;
using detail::Registry;

/// A name as people give it, for questions that take any: "AMD" is AMDGPU.
std::string known_name(std::string_view backend) {
  std::vector<detail::Message> messages;
  std::string name = detail::current_name(backend, messages);
  detail::tell(messages, false);
  return name;
}

std::string list_of_supported() {
  std::string list;
  for (const std::string_view name : supported_devices())
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
  return "(" + list + ")";
}

[[noreturn]] void throw_unsupported(std::string_view backend) {
  throw ArgumentError(fmt::format("Unsupported backend: {}. Supported backends are {}.", backend, list_of_supported()));
}

/// The number behind the colon of "OpenCL:1".
int device_number(std::string_view name, std::size_t colon) {
  const std::string_view digits = name.substr(colon + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc{} && end == digits.data() + digits.size() && number >= 0) return number;
  throw ArgumentError(
      fmt::format("get_device: \"{}\" names no device; a name and a number are meant, as in \"OpenCL:0\"", name));
}

/// The record of a numbered device that may be used. Throws with the reason.
DeviceRecord& usable_device(Registry& registry, std::string_view name, int n) {
  BackendRecord* const backend = registry.find(name);
  if (backend == nullptr) throw_unsupported(name);
  if (backend->table == nullptr) {
    throw DeviceError(
        fmt::format("Unavailable backend: {}. Its plug-in is not loaded: {}", name, backend->load_problem));
  }
  registry.open_devices(*backend);
  if (backend->devices.empty()) {
    throw DeviceError(fmt::format("Backend {} is not functional: {}", name, backend->driver_problem));
  }
  const auto count = static_cast<int>(backend->devices.size());
  if (n < 0 || n >= count) {
    throw IndexError(fmt::format("get_device: {} was asked for device {}; it has {} device{}, number{} {}", name, n,
                                 count, count == 1 ? "" : "s", count == 1 ? "" : "s",
                                 count == 1 ? "0" : fmt::format("0 to {}", count - 1)));
  }
  DeviceRecord& record = backend->devices[static_cast<std::size_t>(n)];
  if (!registry.is_functional(record)) {
    const std::string problem =
        record.problem.empty() ? "it was lost, or opened before this process was forked" : record.problem;
    throw DeviceError(fmt::format("get_device: {} device {} cannot be used: {}", name, n, problem));
  }
  return record;
}

}  // namespace

const std::array<std::string_view, 5>& supported_devices() {
  static constexpr std::array<std::string_view, 5> kNames = {"CUDA", "AMDGPU", "Metal", "OpenCL", "CPU"};
  return kNames;
}

// ---- Questions.

bool loaded(std::string_view backend) {
  const std::string name = known_name(backend);
  if (name == "CPU") return true;
  const Registry registry;
  const BackendRecord* const record = registry.find(name);
  return record != nullptr && record->table != nullptr;
}

bool available(std::string_view backend) {
  const std::string name = known_name(backend);
  if (name == "CPU") return true;
  Registry registry;
  BackendRecord* const record = registry.find(name);
  if (record == nullptr) return false;
  registry.open_devices(*record);
  return !record->devices.empty();
}

std::string why(std::string_view backend) {
  const std::string name = known_name(backend);
  if (name == "CPU") return {};
  Registry registry;
  BackendRecord* const record = registry.find(name);
  if (record == nullptr) return fmt::format("{} is no backend; supported are {}", name, list_of_supported());
  return registry.problem(*record);
}

bool functional(std::string_view backend) { return why(backend).empty(); }

std::string why(std::string_view backend, std::string_view component) {
  const std::string name = known_name(backend);
  Registry registry;
  BackendRecord* const record = registry.find(name);
  if (record == nullptr) return fmt::format("{} has no components", name);
  if (std::string problem = registry.problem(*record); !problem.empty()) return problem;
  return detail::component_problem(registry, *record, component);
}

bool functional(std::string_view backend, std::string_view component) { return why(backend, component).empty(); }

// ---- Devices.

std::vector<Device> devices(std::string_view backend) {
  const std::string name = known_name(backend);
  if (name == "CPU") return {cpu_device()};
  std::vector<Device> result;
  Registry registry;
  BackendRecord* const record = registry.find(name);
  if (record == nullptr) return result;
  registry.open_devices(*record);
  for (DeviceRecord& device : record->devices) {
    if (registry.is_functional(device)) result.push_back(Device(device.device));
  }
  return result;
}

std::vector<Device> devices() {
  std::vector<Device> result;
  std::set<std::string> cards;
  Registry registry;
  for (const auto& backend : registry.backends()) {
    registry.open_devices(*backend);
    std::set<std::string> here;  // two devices of one backend on one card, parts of it, are both listed
    for (DeviceRecord& record : backend->devices) {
      if (record.device == nullptr || record.device->facts().kind == SLUICE_KIND_CPU) continue;
      const std::string& card = record.device->facts().card;
      if (cards.contains(card) || !registry.is_functional(record)) continue;
      if (!card.empty()) here.insert(card);
      result.push_back(Device(record.device));
    }
    cards.merge(here);
  }
  result.push_back(cpu_device());
  return result;
}

Device get_device(DeviceOptions options) {
  const detail::Selection selection = detail::select_device();
  detail::tell(selection.messages, options.verbose);
  return selection.device == nullptr ? cpu_device() : Device(selection.device);
}

Device get_device(std::string_view backend, int n) {
  const std::size_t colon = backend.find(':');
  if (colon != std::string_view::npos) {
    if (n != 0) throw ArgumentError(fmt::format("get_device: \"{}\" has a number, and {} is another one", backend, n));
    n = device_number(backend, colon);
    backend = backend.substr(0, colon);
  }
  const std::string name = known_name(backend);
  if (name == "CPU") return cpu_device();
  Registry registry;
  return Device(usable_device(registry, name, n).device);
}

Device gpu_device() { return get_device(); }

Device gpu_device(int n) {
  const Device best = get_device();
  return best == cpu_device() ? best : get_device(best.backend(), n);
}

Device require_device(std::string_view backend, int n) { return get_device(backend, n); }

Device require_device() {
  const Device device = get_device();
  if (!(device == cpu_device())) return device;
  const SelectionReport report = get_device_report();
  std::string reasons;
  for (const BackendReport& backend : report.backends) {
    if (backend.name != "CPU") reasons += fmt::format("\n  {}: {}", backend.name, backend.reason);
  }
  throw DeviceError(fmt::format("require_device: only the CPU can be used here ({}):{}", report.reason, reasons));
}

// ---- The wish.

void set_gpu_backend(std::string_view backend) {
  const std::string name = known_name(backend);
  bool is_legal = detail::is_supported(name);
  if (!is_legal) is_legal = Registry().find(name) != nullptr;
  if (!is_legal) {
    throw ArgumentError(
        fmt::format("Unsupported GPU backend: {}. Supported backends are: {}.", backend, list_of_supported()));
  }
  const std::optional<detail::Preference> now = detail::gpu_backend_preference();
  const bool is_set = now && now->value == name;
  const std::string file = detail::store_gpu_backend(name);
  const std::string text = is_set ? fmt::format("GPU backend is already set to: {}.", name)
                                  : fmt::format("New GPU backend set: {}, in {}.", name, file);
  detail::tell({{LogLevel::info, text}}, true);
}

void clear_gpu_backend() { detail::clear_stored_gpu_backend(); }

std::optional<std::string> gpu_backend() {
  const std::optional<detail::Preference> preference = detail::gpu_backend_preference();
  if (!preference) return std::nullopt;
  return known_name(preference->value);
}

// ---- Explicit loading.

std::string load_backend(std::string_view path_or_name) {
  Registry registry;
  if (path_or_name.find('/') == std::string_view::npos) {
    std::string problem;
    const BackendRecord* const record = registry.find_or_load(path_or_name, problem);
    if (record != nullptr) return record->name;
    throw DeviceError(fmt::format("load_backend: {}: {}", path_or_name, problem));
  }
  if (path_or_name.front() != '/') {
    throw DeviceError(fmt::format("load_backend: {}: nothing is loaded from the working folder; give the absolute path",
                                  path_or_name));
  }
  return registry.load_file(std::string(path_or_name)).name;
}

std::string register_backend(const sluice_backend* table) { return Registry().add_table(table).name; }

}  // namespace sluice::inline v0
