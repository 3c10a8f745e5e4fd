// Matrix products on plug-in devices: by a vendor's library where that is quicker (plugin_gemm.hpp), else by a kernel
// of our own.
#pragma once

#include "src/device/plugin_device.hpp"

namespace sluice::detail {

/// Sums of f16, bf16 and f32 are f32; integers wrap.
void plugin_product(PluginDevice& device, const ProductCall& call);
/// By our own kernel; no size may be 0 but that of the sums.
void plugin_own_product(PluginDevice& device, const ProductCall& call);

}  // namespace sluice::detail
