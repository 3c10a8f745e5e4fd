// The vector loops behind softmax, f32, compiled once per instruction set (softmax_kernel.cpp). A group is `width`
// columns that lie side by side: element i of column j is at j + i * stride. Columns of their own have width 1.
#pragma once

namespace sluice::detail {

struct SoftmaxLoops {
  /// `count` columns of `length` elements, one after the other.
  using Columns = void (*)(const float* x, float* y, long length, long count);
  /// One group of at most kWidth columns.
  using Group = void (*)(const float* x, float* y, long width, long stride, long length);
  static constexpr long kWidth = 1024;

  Columns softmax_columns;
  Columns logsoftmax_columns;
  Group softmax_group;
  Group logsoftmax_group;
};

namespace baseline {
extern const SoftmaxLoops kSoftmaxLoops;
}
#if defined(__x86_64__)
namespace avx2 {
extern const SoftmaxLoops kSoftmaxLoops;
}
namespace avx512 {
extern const SoftmaxLoops kSoftmaxLoops;
}
#endif

}  // namespace sluice::detail
