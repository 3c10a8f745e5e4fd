// Matrix products of the CPU device, in terms of the raw gemm.
#pragma once

#include "src/device/device_impl.hpp"

namespace sluice::detail {

/// DeviceImpl::product in host memory; operands of one type, which is not bool.
void cpu_product(const ProductCall& call);

}  // namespace sluice::detail
