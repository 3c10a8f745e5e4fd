// The choice of a device: the wish that is written down, else the best one that works.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/log.hpp"
#include "src/device/preferences.hpp"
#include "src/device/registry.hpp"

namespace sluice::detail {

/// Something to say once the registry is free again: a program's log sink may ask for devices itself.
struct Message {
  LogLevel level;
  std::string text;
};

struct Selection {
  PluginDevice* device = nullptr;  ///< null: the CPU
  std::string reason;              ///< why this one
  std::optional<Preference> preference;
  std::vector<Message> messages;  ///< warnings, to be given once per process, and the lines of `verbose`
};

/// The algorithm of get_device(). Never throws for anything that is missing or broken.
Selection select_device();

/// Passes on the warnings, each text once per process, and the information if `verbose`.
void tell(const std::vector<Message>& messages, bool verbose);

/// "AMDGPU" for "AMD", which adds the warning that it is an old name; every other name as it is.
std::string current_name(std::string_view backend, std::vector<Message>& messages);

/// One of supported_devices().
bool is_supported(std::string_view backend);

}  // namespace sluice::detail
