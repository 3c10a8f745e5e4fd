// Reductions on plug-in devices.
#pragma once

#include "src/device/plugin_device.hpp"

namespace sluice::detail {

/// One kernel, or two where few outputs have many elements. How elements are combined depends on the shape alone.
void plugin_reduce(PluginDevice& device, const ReduceCall& call);

}  // namespace sluice::detail
