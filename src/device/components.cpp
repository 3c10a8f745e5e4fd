#include "src/device/components.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "src/device/component_probe.hpp"
#include "src/device/component_verdicts.hpp"
#include "src/device/plugin_file.hpp"

namespace sluice::detail {
namespace {

using End = ProbeVerdict::End;

template <std::size_t N>
std::string text_of(const char (&text)[N]) {
  return std::string(text, strnlen(text, N));
}

constexpr std::uint32_t kMostComponents = 64;

/// A verdict and the file that keeps it, empty if none does.
struct KnownVerdict {
  ProbeVerdict verdict;
  std::string file;
};

/// What this process knows; the registry's lock guards it.
struct Known {
  std::map<std::string, KnownVerdict> verdicts;
  std::set<std::pair<const BackendRecord*, std::uint32_t>> enabled;
};

Known& known() {
  static auto* const instance = new Known;
  return *instance;
}

/// Everything that a verdict depends on, a line each.
std::string key_of(const BackendRecord& backend, const DeviceFacts& device, const ComponentFacts& component) {
  std::string key = fmt::format("sluice probe, ABI {}", SLUICE_BACKEND_ABI);
  for (const auto& [what, value] : {std::pair("backend", backend.name), std::pair("plug-in", file_state(backend.file)),
                                    std::pair("driver", device.driver), std::pair("device", device.name),
                                    std::pair("architecture", device.architecture),
                                    std::pair("component", component.name + " " + component.version),
                                    std::pair("library", file_state(component.file))}) {
    key += fmt::format("\n{} {}", what, printable(value));
  }
  return key;
}

/// A library that compiles at its first call may be slow once, so only several programs in a row that waited in vain
/// prove something; and a wait that was shorter than ours proves nothing.
bool is_final(const ProbeVerdict& verdict, int seconds) {
  constexpr int kTrials = 3;
  return verdict.end != End::timed_out || verdict.number >= kTrials * seconds;
}

/// From memory, from disk, or by a run of the helper. A run that proves nothing is remembered by this process only.
KnownVerdict find_verdict(const BackendRecord& backend, const PluginDevice& device, const ComponentFacts& component,
                          std::uint32_t k) {
  const std::string key = key_of(backend, device.facts(), component);
  const int seconds = probe_seconds();
  if (const auto it = known().verdicts.find(key); it != known().verdicts.end()) return it->second;

  KnownVerdict result{{}, verdict_file(key)};
  const std::optional<ProbeVerdict> kept = load_verdict(result.file, key);
  if (kept && is_final(*kept, seconds)) {
    result.verdict = *kept;
  } else {
    std::string problem;
    const std::string program = probe_program(problem);
    if (program.empty()) return {{End::untried, 0, problem}, {}};
    result.verdict = run_probe(program, {backend.file, std::to_string(device.id()), std::to_string(k)}, seconds);
    if (kept && result.verdict.end == End::timed_out) result.verdict.number += kept->number;
    if (!keep_verdict(result.file, key, result.verdict)) result.file.clear();
  }
  return known().verdicts.emplace(key, std::move(result)).first->second;
}

/// Why the component cannot be used on one of the devices that can; each model of card is tried.
std::string trial_problem(Registry& registry, BackendRecord& backend, const ComponentFacts& component,
                          std::uint32_t k) {
  std::set<std::tuple<std::string, std::string, std::string>> models;
  for (DeviceRecord& record : backend.devices) {
    if (!registry.is_functional(record)) continue;
    const DeviceFacts& facts = record.device->facts();
    if (!models.emplace(facts.name, facts.architecture, facts.driver).second) continue;
    const KnownVerdict found = find_verdict(backend, *record.device, component, k);
    if (found.verdict.end == End::works) continue;
    std::string problem = fmt::format("{} on {} device {} {}; Sluice's own kernels are used instead", component.name,
                                      backend.name, record.device->id(), to_string(found.verdict));
    if (!found.file.empty()) problem += fmt::format(". The verdict is kept in {}; remove it to try again", found.file);
    return problem;
  }
  return models.empty() ? fmt::format("no device of {} is functional", backend.name) : std::string();
}

std::string unknown_component(const BackendRecord& backend, const std::vector<ComponentFacts>& all,
                              std::string_view component) {
  std::string names;
  for (const ComponentFacts& facts : all) names += (names.empty() ? "" : ", ") + facts.name;
  return fmt::format("{} has no component {}; {}", backend.name, component,
                     names.empty() ? "it has none" : "it has " + names);
}

}  // namespace

std::vector<ComponentFacts> components(const BackendRecord& backend) {
  std::vector<ComponentFacts> result;
  for (std::uint32_t k = 0; backend.table != nullptr && k < kMostComponents; ++k) {
    sluice_component component{};
    component.size = sizeof component;
    if (backend.table->call(&sluice_backend::component, k, &component).status != SLUICE_OK) break;
    ComponentFacts facts{text_of(component.name), text_of(component.file), text_of(component.version),
                         text_of(component.reason)};
    if (component.state == SLUICE_COMPONENT_FOUND) facts.reason.clear();
    else if (facts.reason.empty()) facts.reason = "the backend gives no reason";
    result.push_back(std::move(facts));
  }
  return result;
}

std::string component_problem(Registry& registry, BackendRecord& backend, std::string_view component) {
  const std::vector<ComponentFacts> all = components(backend);
  std::uint32_t k = 0;
  while (k < all.size() && all[k].name != component) ++k;
  if (k == all.size()) return unknown_component(backend, all, component);
  const ComponentFacts& facts = all[k];
  if (!facts.reason.empty()) return facts.reason;
  if (known().enabled.contains({&backend, k})) return {};
  if (backend.file.empty()) {
    return fmt::format(
        "{} cannot be tried: {} is linked into the program, and the helper program tries the libraries "
        "of plug-in files only",
        facts.name, backend.name);
  }
  registry.open_devices(backend);
  if (std::string problem = trial_problem(registry, backend, facts, k); !problem.empty()) return problem;
  const PluginFailure failure = backend.table->call(&sluice_backend::enable, k);
  if (failure.status != SLUICE_OK) return fmt::format("{} cannot be switched on: {}", facts.name, failure.text);
  known().enabled.emplace(&backend, k);
  return {};
}

}  // namespace sluice::detail
