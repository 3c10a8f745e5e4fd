// Softmax and logsoftmax on the CPU: each column is read from memory once and written once.
#pragma once

#include "src/device/device_impl.hpp"

namespace sluice::detail {

/// Input and output have the same floating type and are not empty; they may be the same memory.
void cpu_softmax(const AxisCall& call, SoftmaxKind kind);

}  // namespace sluice::detail
