// Reductions over runs (each output has consecutive elements) and over rows (outputs lie side by side).
//
// Sums of f32 run in 32 float lanes for at most 512 elements and in double from there on: within a few ulp of a double
// sum, at the speed of memory. Products of f32 run in double, so that they overflow only when the
// result does.
#include "src/device/reduce_kernels.hpp"

namespace sluice::detail::SLUICE_ISA {
namespace {

#if defined(__AVX512F__)
#define SLUICE_VECTOR_BYTES 64
#elif defined(__AVX__)
#define SLUICE_VECTOR_BYTES 32
#else
#define SLUICE_VECTOR_BYTES 16
#endif

using I64 = __INT64_TYPE__;
using U64 = __UINT64_TYPE__;

constexpr long kLanes = 32;
constexpr long kBlock = 512;

// Each operation on scalars and vectors alike. Maximum and minimum keep a NaN of either side.
struct Sum {
  template <class T>
  static inline T combine(T a, T b) {
    return a + b;
  }
};
struct Prod {
  template <class T>
  static inline T combine(T a, T b) {
    return a * b;
  }
};
struct Max {
  template <class T>
  static inline T combine(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
struct Min {
  template <class T>
  static inline T combine(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};

// How elements of type T are combined by Op: in Lane within a block, in Total (the accumulator) across blocks. Sums and
// products of integers are computed unsigned, so that they wrap.
template <class T, class Op>
struct Types;
template <class Op>
struct Types<float, Op> {
  using Lane = float;
  using Total = double;
};
template <>
struct Types<float, Prod> {
  using Lane = double;
  using Total = double;
};
template <class Op>
struct Types<double, Op> {
  using Lane = double;
  using Total = double;
};
template <class Op>
struct Types<int, Op> {
  using Lane = int;
  using Total = I64;
};
template <class Op>
struct Types<I64, Op> {
  using Lane = I64;
  using Total = I64;
};
template <>
struct Types<I64, Sum> {
  using Lane = U64;
  using Total = U64;
};
template <>
struct Types<I64, Prod> {
  using Lane = U64;
  using Total = U64;
};
template <>
struct Types<int, Sum> {
  using Lane = U64;
  using Total = U64;
};
template <>
struct Types<int, Prod> {
  using Lane = U64;
  using Total = U64;
};

// A vector of the machine's width; loads need not be aligned.
template <class Lane>
struct Vector {
  typedef Lane Type __attribute__((vector_size(SLUICE_VECTOR_BYTES)));
  static constexpr long kWidth = SLUICE_VECTOR_BYTES / static_cast<long>(sizeof(Lane));
};

template <class V, class T>
inline void load(V& to, const T* from) {
  using Lane = __typeof__(to[0] + to[0]);
  if constexpr (sizeof(T) == sizeof(Lane)) {
    __builtin_memcpy(&to, from, sizeof to);
  } else {
    for (unsigned j = 0; j < sizeof to / sizeof(Lane); ++j) to[j] = static_cast<Lane>(from[j]);
  }
}

// All of `steps` * 32 elements, steps >= 1: lanes first, then the lanes pairwise.
template <class T, class Op>
inline typename Types<T, Op>::Lane block(const T* x, long steps) {
  using Lane = typename Types<T, Op>::Lane;
  using V = typename Vector<Lane>::Type;
  constexpr long kWidth = Vector<Lane>::kWidth;
  constexpr long kVectors = kLanes / kWidth;
  V lanes[kVectors];
  for (long v = 0; v < kVectors; ++v) load(lanes[v], x + v * kWidth);
  for (long s = 1; s < steps; ++s) {
    for (long v = 0; v < kVectors; ++v) {
      V next;
      load(next, x + s * kLanes + v * kWidth);
      lanes[v] = Op::combine(lanes[v], next);
    }
  }
  for (long half = kVectors / 2; half > 0; half /= 2) {
    for (long v = 0; v < half; ++v) lanes[v] = Op::combine(lanes[v], lanes[v + half]);
  }
  Lane flat[kWidth];
  __builtin_memcpy(flat, lanes, sizeof flat);
  for (long half = kWidth / 2; half > 0; half /= 2) {
    for (long j = 0; j < half; ++j) flat[j] = Op::combine(flat[j], flat[j + half]);
  }
  return flat[0];
}

template <class T, class Op>
inline typename Types<T, Op>::Total one_run(const T* x, long n, typename Types<T, Op>::Total total) {
  using Total = typename Types<T, Op>::Total;
  long i = 0;
  while (n - i >= kLanes) {
    const long rest = n - i;
    const long steps = (rest < kBlock ? rest : kBlock) / kLanes;
    total = Op::combine(total, static_cast<Total>(block<T, Op>(x + i, steps)));
    i += steps * kLanes;
  }
  if (n - i >= 4) {
    Total four[4];
    for (long j = 0; j < 4; ++j) four[j] = static_cast<Total>(x[i + j]);
    for (i += 4; n - i >= 4; i += 4) {
      for (long j = 0; j < 4; ++j) four[j] = Op::combine(four[j], static_cast<Total>(x[i + j]));
    }
    total = Op::combine(total, Op::combine(Op::combine(four[0], four[2]), Op::combine(four[1], four[3])));
  }
  for (; i < n; ++i) total = Op::combine(total, static_cast<Total>(x[i]));
  return total;
}

template <class T, class Op>
void runs(const void* values, long run, long count, void* accumulators) {
  const T* x = static_cast<const T*>(values);
  auto* total = static_cast<typename Types<T, Op>::Total*>(accumulators);
  for (long j = 0; j < count; ++j) total[j] = one_run<T, Op>(x + j * run, run, total[j]);
}

// Eight rows at a time, added pairwise before they meet the accumulators.
template <class T, class Op>
void wide_rows(const T* __restrict x, long width, long stride, long rows,
               typename Types<T, Op>::Total* __restrict total) {
  using Lane = typename Types<T, Op>::Lane;
  using Total = typename Types<T, Op>::Total;
  long i = 0;
  for (; i + 8 <= rows; i += 8, x += 8 * stride) {
    for (long j = 0; j < width; ++j) {
      const T* p = x + j;
      const Lane a = Op::combine(static_cast<Lane>(p[0]), static_cast<Lane>(p[stride]));
      const Lane b = Op::combine(static_cast<Lane>(p[2 * stride]), static_cast<Lane>(p[3 * stride]));
      const Lane c = Op::combine(static_cast<Lane>(p[4 * stride]), static_cast<Lane>(p[5 * stride]));
      const Lane d = Op::combine(static_cast<Lane>(p[6 * stride]), static_cast<Lane>(p[7 * stride]));
      total[j] = Op::combine(total[j], static_cast<Total>(Op::combine(Op::combine(a, b), Op::combine(c, d))));
    }
  }
  for (; i < rows; ++i, x += stride) {
    for (long j = 0; j < width; ++j) total[j] = Op::combine(total[j], static_cast<Total>(x[j]));
  }
}

// Adjacent short rows are one long vector: its second half is folded onto its first until one row is left.
template <class T, class Op>
void narrow_rows(const T* x, long width, long rows, typename Types<T, Op>::Total* total) {
  using Lane = typename Types<T, Op>::Lane;
  Lane folded[kBlock];
  const long most = 2 * (kBlock / width);
  for (long i = 0; i < rows; i += most, x += most * width) {
    long left = rows - i < most ? rows - i : most;
    long kept = (left + 1) / 2;
    for (long j = 0; j < kept * width; ++j) folded[j] = static_cast<Lane>(x[j]);
    for (long j = 0; j < (left - kept) * width; ++j) {
      folded[j] = Op::combine(folded[j], static_cast<Lane>(x[j + kept * width]));
    }
    for (left = kept; left > 1; left = kept) {
      kept = (left + 1) / 2;
      const long step = kept * width;
      for (long j = 0; j < (left - kept) * width; ++j) folded[j] = Op::combine(folded[j], folded[j + step]);
    }
    for (long j = 0; j < width; ++j) {
      total[j] = Op::combine(total[j], static_cast<typename Types<T, Op>::Total>(folded[j]));
    }
  }
}

template <class T, class Op>
void rows(const void* values, long width, long stride, long count, void* accumulators) {
  const T* x = static_cast<const T*>(values);
  auto* total = static_cast<typename Types<T, Op>::Total*>(accumulators);
  if (width < 64 && stride == width && count > 1) {
    narrow_rows<T, Op>(x, width, count, total);
  } else {
    wide_rows<T, Op>(x, width, stride, count, total);
  }
}

}  // namespace

#define SLUICE_LOOPS(loop, T) \
  { loop<T, Sum>, loop<T, Prod>, loop<T, Max>, loop<T, Min> }
#define SLUICE_ALL_LOOPS(loop) \
  { SLUICE_LOOPS(loop, float), SLUICE_LOOPS(loop, double), SLUICE_LOOPS(loop, int), SLUICE_LOOPS(loop, I64) }

const ReduceLoops kReduceLoops = {SLUICE_ALL_LOOPS(runs), SLUICE_ALL_LOOPS(rows)};

}  // namespace sluice::detail::SLUICE_ISA
