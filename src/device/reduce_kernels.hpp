// The vector loops behind reductions, compiled once per instruction set (reduce_kernel.cpp).
//
// Every loop combines into 8-byte accumulators: double for f32 and f64, 64-bit integers for i32 and i64. The order in
// which elements are combined does not depend on the instruction set, so neither does the result.
#pragma once

namespace sluice::detail {

struct ReduceLoops {
  static constexpr int kTypes = 4;     // in the order of Register: f32, f64, i32, i64
  static constexpr int kCombines = 4;  // in the order of CombineOp: sum, prod, max, min

  /// accumulators[j] combined with `run` elements from values + j * run, for j < count.
  using Runs = void (*)(const void* values, long run, long count, void* accumulators);
  /// accumulators[j] combined with values[j + i * stride], for j < width, i < rows.
  using Rows = void (*)(const void* values, long width, long stride, long rows, void* accumulators);

  Runs runs[kTypes][kCombines];
  Rows rows[kTypes][kCombines];
};

namespace baseline {
extern const ReduceLoops kReduceLoops;
}
#if defined(__x86_64__)
namespace avx2 {
extern const ReduceLoops kReduceLoops;
}
namespace avx512 {
extern const ReduceLoops kReduceLoops;
}
#endif

/// The loops for this machine's instruction set.
const ReduceLoops& reduce_loops();

}  // namespace sluice::detail
