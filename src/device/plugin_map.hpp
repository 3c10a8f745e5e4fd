// Elementwise programs on plug-in devices.
#pragma once

#include "src/device/plugin_device.hpp"

namespace sluice::detail {

/// Renders, compiles at the first call, and queues; a program with too many tensors for one kernel runs in parts.
/// Throws Unsupported if the device has no f64 and the program needs it.
void plugin_map(PluginDevice& device, const MapCall& call);

}  // namespace sluice::detail
