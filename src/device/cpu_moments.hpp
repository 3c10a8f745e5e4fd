// Mean and variance along an axis on the CPU: two passes per column, the second from the cache.
#pragma once

#include "src/device/device_impl.hpp"

namespace sluice::detail {

/// Means to call.output, variances to `variance`; input and outputs are all f32 or all f64, the input not empty.
void cpu_moments(const AxisCall& call, const Operand& variance, std::int64_t correction);

}  // namespace sluice::detail
