// Strided copies on plug-in devices: permute, slice, cat, expand.
#pragma once

#include "src/device/plugin_device.hpp"

namespace sluice::detail {

void plugin_copy(PluginDevice& device, const CopyCall& call);

}  // namespace sluice::detail
