#include "src/device/moments_kernels.hpp"

namespace sluice::detail::SLUICE_ISA {
namespace {

constexpr long kLanes = 32;
constexpr long kBlock = 512;

template <class T>
inline T sum_lanes(T* lane) {
  for (long half = kLanes / 2; half > 0; half /= 2) {
    for (long j = 0; j < half; ++j) lane[j] += lane[j + half];
  }
  return lane[0];
}

// Sum of n <= kBlock elements.
template <class T>
T block_sum(const T* x, long n) {
  T lane[kLanes];
  for (long j = 0; j < kLanes; ++j) lane[j] = j < n ? x[j] : 0;
  long i = kLanes;
  for (; i + kLanes <= n; i += kLanes) {
    for (long j = 0; j < kLanes; ++j) lane[j] += x[i + j];
  }
  for (long j = 0; i + j < n; ++j) lane[j] += x[i + j];
  return sum_lanes(lane);
}

struct Deviation {
  double sum;      // of x - mean: what rounding the mean has left
  double squares;  // of (x - mean)^2
};

// Adds those of n <= kBlock elements.
template <class T>
void add_block(Deviation* total, const T* x, T mean, long n) {
  T sum[kLanes];
  T squares[kLanes];
  for (long j = 0; j < kLanes; ++j) {
    const T d = j < n ? x[j] - mean : 0;
    sum[j] = d;
    squares[j] = d * d;
  }
  long i = kLanes;
  for (; i + kLanes <= n; i += kLanes) {
    for (long j = 0; j < kLanes; ++j) {
      const T d = x[i + j] - mean;
      sum[j] += d;
      squares[j] += d * d;
    }
  }
  for (long j = 0; i + j < n; ++j) {
    const T d = x[i + j] - mean;
    sum[j] += d;
    squares[j] += d * d;
  }
  total->sum += static_cast<double>(sum_lanes(sum));
  total->squares += static_cast<double>(sum_lanes(squares));
}

inline double variance_of(Deviation total, long n, long correction) {
  if (n <= correction) return __builtin_nan("");
  const double count = static_cast<double>(n);
  const double rest = total.squares - total.sum * total.sum / count;
  return (rest < 0 ? 0 : rest) / static_cast<double>(n - correction);
}

template <class T>
void columns(const T* x, long length, long count, long correction, T* mean, T* variance) {
  for (long j = 0; j < count; ++j, x += length) {
    double sum = 0;
    for (long i = 0; i < length; i += kBlock) {
      sum += static_cast<double>(block_sum(x + i, length - i < kBlock ? length - i : kBlock));
    }
    mean[j] = static_cast<T>(sum / static_cast<double>(length));
    Deviation total = {0, 0};
    for (long i = 0; i < length; i += kBlock) {
      add_block(&total, x + i, mean[j], length - i < kBlock ? length - i : kBlock);
    }
    variance[j] = static_cast<T>(variance_of(total, length, correction));
  }
}

template <class T>
void group(const T* x, long width, long stride, long length, long correction, T* mean, T* variance) {
  double sum[MomentsLoops<T>::kWidth];
  double squares[MomentsLoops<T>::kWidth];
  for (long j = 0; j < width; ++j) sum[j] = 0;
  for (long i = 0; i < length; ++i) {
    for (long j = 0; j < width; ++j) sum[j] += static_cast<double>(x[i * stride + j]);
  }
  for (long j = 0; j < width; ++j) {
    mean[j] = static_cast<T>(sum[j] / static_cast<double>(length));
    sum[j] = 0;
    squares[j] = 0;
  }
  for (long i = 0; i < length; ++i) {
    for (long j = 0; j < width; ++j) {
      const double d = static_cast<double>(x[i * stride + j]) - static_cast<double>(mean[j]);
      sum[j] += d;
      squares[j] += d * d;
    }
  }
  for (long j = 0; j < width; ++j) {
    variance[j] = static_cast<T>(variance_of({sum[j], squares[j]}, length, correction));
  }
}

}  // namespace

extern const MomentsTable kMomentsTable;
const MomentsTable kMomentsTable = {{columns<float>, group<float>}, {columns<double>, group<double>}};

}  // namespace sluice::detail::SLUICE_ISA
