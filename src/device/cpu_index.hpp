// Gather and scatter of the CPU device.
#pragma once

#include "src/device/device_impl.hpp"

namespace sluice::detail {

/// DeviceImpl::gather in host memory. Throws IndexError before it writes anything.
void cpu_gather(const IndexCall& call);

/// DeviceImpl::scatter_add in host memory. Every output element is summed in the order of the indices, f16 and bf16 in
/// f32, integers wrapping; the bits do not depend on the number of threads. Throws IndexError before it writes
/// anything.
void cpu_scatter_add(const IndexCall& call);

}  // namespace sluice::detail
