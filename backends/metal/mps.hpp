// Metal Performance Shaders, component 0: the products of Apple's own library.
#pragma once

#include "backends/metal/metal_device.hpp"
#include "sluice/backend.h"

namespace sluice::metal {

/// Makes no call into the library.
void describe_mps(sluice_component& component);
/// Multiplies two small matrices and looks at the result.
void probe_mps(Device& device);
void enable_mps();
/// Products of f32 and f16. SLUICE_UNSUPPORTED for all others, and unless it is enabled.
void multiply(Device& device, const sluice_gemm& gemm);

}  // namespace sluice::metal
