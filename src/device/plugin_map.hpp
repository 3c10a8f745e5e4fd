// Elementwise programs on plug-in devices.
#pragma once

#include "src/device/plugin_device.hpp"

namespace sluice::detail {

/// Renders, compiles at the first call, and queues. Throws Unsupported if the device has no f64 and the program needs
/// it, or if the operands are too many.
void plugin_map(PluginDevice& device, const MapCall& call);

}  // namespace sluice::detail
