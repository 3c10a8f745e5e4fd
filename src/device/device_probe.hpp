// Whether a device computes: a tiny kernel is compiled and run on it, and its numbers are compared.
#pragma once

#include <string>

#include "src/device/plugin_device.hpp"

namespace sluice::detail {

/// Why the device cannot be used, empty if its numbers were right. Never throws.
std::string probe_device(PluginDevice& device) noexcept;

}  // namespace sluice::detail
