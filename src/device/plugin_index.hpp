// Columns by index on plug-in devices. Both wait for the device once per call: indices out of range must be reported
// before anything is written.
#pragma once

#include "src/device/plugin_device.hpp"

namespace sluice::detail {

void plugin_gather(PluginDevice& device, const IndexCall& call);
/// The columns of each sum are added in their order, so the result is the same every time.
void plugin_scatter_add(PluginDevice& device, const IndexCall& call);

}  // namespace sluice::detail
