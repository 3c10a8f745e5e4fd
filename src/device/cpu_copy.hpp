// Strided copies of the CPU device: runs by memcpy, exchanged dimensions tile by tile through the first-level cache.
#pragma once

#include "src/device/device_impl.hpp"

namespace sluice::detail {

/// DeviceImpl::copy in host memory, on the calling thread and the pool. `from` and `to` do not overlap.
void cpu_copy(const CopyCall& call);

}  // namespace sluice::detail
