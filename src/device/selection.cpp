#include "src/device/selection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/core/warn.hpp"

namespace sluice::detail {
namespace {

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// The best device of a backend that computes, null if there is none.
PluginDevice* first_functional(Registry& registry, BackendRecord& backend, bool with_cpus) {
  for (DeviceRecord* const record : registry.ranked(backend, with_cpus)) {
    if (registry.is_functional(*record)) return record->device;
  }
  return nullptr;
}

/// Whether the user has hardware for this backend that does not work.
bool is_broken(const BackendRecord& backend) {
  if (backend.table == nullptr || !backend.has_driver) return false;
  const bool no_device = backend.devices.empty() && backend.driver_problem.starts_with("its driver sees no device");
  return !no_device && std::none_of(backend.devices.begin(), backend.devices.end(),
                                    [](const DeviceRecord& d) { return d.device != nullptr && d.problem.empty(); });
}

class Selector {
 public:
  Selection run() {
    result_.preference = gpu_backend_preference();
    if (result_.preference && try_preference()) return std::move(result_);
    Registry registry;
    for (const auto& backend : registry.backends()) {
      if (backend->table == nullptr) continue;
      PluginDevice* const device = first_functional(registry, *backend, false);
      if (device == nullptr) {
        if (is_broken(*backend)) broken_.emplace_back(backend->name, one_line(registry.problem(*backend)));
        continue;
      }
      choose(device, fmt::format("the first functional backend in the order of preference"));
      say(LogLevel::info, fmt::format("Using backend: {}.", backend->name));
      break;
    }
    if (result_.device == nullptr) {
      result_.reason = "no other backend is functional here";
      say(LogLevel::info, "Using backend: CPU.");
    }
    complain();
    return std::move(result_);
  }

 private:
  void say(LogLevel level, std::string text) { result_.messages.push_back({level, std::move(text)}); }

  void choose(PluginDevice* device, std::string reason) {
    result_.device = device;
    result_.reason = std::move(reason);
  }

  /// Whether the preference decides.
  bool try_preference() {
    const Preference& wish = *result_.preference;
    const std::string name = current_name(wish.value, result_.messages);
    const std::string reason = fmt::format("it is set in the preferences ({})", wish.where);
    if (name == "CPU") {
      choose(nullptr, reason);
      say(LogLevel::info, "Using backend set in preferences: CPU.");
      return true;
    }
    Registry registry;
    BackendRecord* const backend = registry.find(name);
    if (backend == nullptr) {
      say(LogLevel::warning, fmt::format("`gpu_backend` preference is set to {}, which is not allowed ({}).\n"
                                         "Defaulting to automatic device selection.",
                                         one_line(wish.value), wish.where));
      return false;
    }
    say(LogLevel::info, fmt::format("Using backend set in preferences: {}.", name));
    if (backend->table == nullptr) {
      say(LogLevel::warning, fmt::format("Backend {} is set in the preferences ({}) but its plug-in is not loaded: {}\n"
                                         "Defaulting to automatic device selection.",
                                         name, wish.where, one_line(backend->load_problem)));
      return false;
    }
    PluginDevice* const device = first_functional(registry, *backend, true);
    if (device == nullptr) {
      say(LogLevel::warning, fmt::format("Backend: {} from the set preferences ({}) is not functional: {}\n"
                                         "Defaulting to automatic device selection.",
                                         name, wish.where, one_line(registry.problem(*backend))));
      told_ = name;
      return false;
    }
    choose(device, reason);
    return true;
  }

  /// One line for hardware that is there and cannot be used.
  void complain() {
    const std::string chosen = result_.device == nullptr ? "CPU" : short_name(*result_.device);
    for (const auto& [name, problem] : broken_) {
      if (name == told_) continue;
      say(LogLevel::warning,
          fmt::format("{} hardware is there but cannot be used, so {} is: {}. `sluice doctor` says more; "
                      "set_gpu_backend(\"CPU\") silences this.",
                      name, chosen, problem));
    }
  }

  Selection result_;
  std::vector<std::pair<std::string, std::string>> broken_;
  std::string told_;  // the backend that was complained about already
};

}  // namespace

Selection select_device() { return Selector().run(); }

void tell(const std::vector<Message>& messages, bool verbose) {
  for (const Message& message : messages) {
    if (message.level == LogLevel::warning) warn_once(message.text, message.text);
    else if (verbose) log_message(message.level, message.text);
  }
}

std::string current_name(std::string_view backend, std::vector<Message>& messages) {
  if (backend != "AMD") return std::string(backend);
  messages.push_back({LogLevel::warning, "\"AMD\" backend is deprecated. Please use \"AMDGPU\" instead."});
  return "AMDGPU";
}

bool is_supported(std::string_view backend) {
  return backend == "CPU" ||
         std::find(std::begin(kKnownBackends), std::end(kKnownBackends), backend) != std::end(kKnownBackends);
}

}  // namespace sluice::detail
