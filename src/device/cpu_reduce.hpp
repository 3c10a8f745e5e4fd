// Reductions on the CPU. The program of a call runs tile by tile as a prologue: nothing but its operands is read from
// memory. How a reduction is split depends on the shapes alone, and partial results are combined in a fixed order:
// any number of threads gives the same bits.
#pragma once

#include "src/device/device_impl.hpp"

namespace sluice::detail {

/// Runs the call; its space is not empty.
void cpu_reduce(const ReduceCall& call);

/// Indices of the greatest or least along the middle of the call, whose length is not 0; NaN wins, then the first.
void cpu_argreduce(const AxisCall& call, bool greatest);

}  // namespace sluice::detail
