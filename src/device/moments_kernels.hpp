// The vector loops behind mean and variance, compiled once per instruction set (moments_kernel.cpp). Each column is
// visited twice: for its mean, and for the squares of what differs from it. Sums of f32 are kept in double from 512
// elements on. A variance over no more than `correction` elements is NaN.
#pragma once

namespace sluice::detail {

template <class T>
struct MomentsLoops {
  /// `count` columns of `length` elements, one after the other.
  void (*columns)(const T* x, long length, long count, long correction, T* mean, T* variance);
  /// At most kWidth columns side by side, the next element of each `stride` further.
  void (*group)(const T* x, long width, long stride, long length, long correction, T* mean, T* variance);
  static constexpr long kWidth = 128;
};

struct MomentsTable {
  MomentsLoops<float> f32;
  MomentsLoops<double> f64;
};

namespace baseline {
extern const MomentsTable kMomentsTable;
}
#if defined(__x86_64__)
namespace avx2 {
extern const MomentsTable kMomentsTable;
}
namespace avx512 {
extern const MomentsTable kMomentsTable;
}
#endif

}  // namespace sluice::detail
