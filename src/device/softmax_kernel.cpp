// Softmax and logsoftmax of f32 columns. A column of its own: the maximum, the exponentials and their sum, the scaling,
// all in the cache. Columns side by side are read twice: for maxima and sums together, then for the result.
//
// A maximum of +inf makes its places 1 and all others 0; of -inf or NaN, the column NaN.
#include "src/device/softmax_kernels.hpp"

#include "kernels/cpu_prelude.h"
#include "kernels/math.h"

namespace sluice::detail::SLUICE_ISA {
namespace {

constexpr long kLanes = 32;
constexpr long kBlock = 512;

// May pass over a NaN, which makes the sum of exponentials NaN anyway.
KFN float greater(float a, float b) { return b > a ? b : a; }

// What is subtracted from a column with this maximum: nothing sensible is left of one that has only -inf.
KFN float shift_of(float maximum) { return maximum == -K_INF ? K_NAN : maximum; }

// x - shift; the places of the maximum, infinite or not, are 0.
KFN float shifted(float x, float shift) { return x == shift ? 0.0f : x - shift; }

// e^x for x <= 0 or NaN; 0 where the exponent of the result would run out.
KFN float exp_of(float x) {
  x = x < -104.0f ? -104.0f : x;
  const float t = x * K_LOG2_E + K_ROUND;
  const float p = k_expm1_core(k_exp_reduce(x, t));
  const int exponent = k_rounded(t) + 127;
  return (1.0f + p) * k_float((exponent > 0 ? exponent : 0) << 23);
}

float maximum_of(const float* x, long n) {
  float lane[kLanes];
  long i = 0;
  float result = -K_INF;
  if (n >= kLanes) {
    for (long j = 0; j < kLanes; ++j) lane[j] = x[j];
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      for (long j = 0; j < kLanes; ++j) lane[j] = greater(lane[j], x[i + j]);
    }
    for (long half = kLanes / 2; half > 0; half /= 2) {
      for (long j = 0; j < half; ++j) lane[j] = greater(lane[j], lane[j + half]);
    }
    result = lane[0];
  }
  for (; i < n; ++i) result = greater(result, x[i]);
  return result;
}

// In lanes, then pairwise; at most kBlock elements, so that the error stays at a few ulp.
float sum_of(const float* x, long n) {
  float lane[kLanes];
  for (long j = 0; j < kLanes; ++j) lane[j] = j < n ? x[j] : 0.0f;
  long i = kLanes;
  for (; i + kLanes <= n; i += kLanes) {
    for (long j = 0; j < kLanes; ++j) lane[j] += x[i + j];
  }
  for (long j = 0; i + j < n; ++j) lane[j] += x[i + j];
  for (long half = kLanes / 2; half > 0; half /= 2) {
    for (long j = 0; j < half; ++j) lane[j] += lane[j + half];
  }
  return lane[0];
}

// x and y do not overlap. With an infinite shift only its own places count.
void exp_apart(const float* __restrict x, float* __restrict y, float shift, long n) {
  if (shift == K_INF) {
    for (long i = 0; i < n; ++i) y[i] = x[i] == shift ? 1.0f : (x[i] != x[i] ? x[i] : 0.0f);
  } else {
    for (long i = 0; i < n; ++i) y[i] = exp_of(x[i] - shift);
  }
}

void softmax_column(const float* x, float* y, long n) {
  const float shift = shift_of(maximum_of(x, n));
  float exponentials[kBlock];
  double sum = 0;
  for (long i = 0; i < n; i += kBlock) {
    const long length = n - i < kBlock ? n - i : kBlock;
    float* to = x == y ? exponentials : y + i;
    exp_apart(x + i, to, shift, length);
    sum += static_cast<double>(sum_of(to, length));
    if (x == y) __builtin_memcpy(y + i, to, sizeof(float) * static_cast<unsigned long>(length));
  }
  const float factor = static_cast<float>(1.0 / sum);
  for (long i = 0; i < n; ++i) y[i] *= factor;
}

void logsoftmax_column(const float* x, float* y, long n) {
  const float shift = shift_of(maximum_of(x, n));
  float exponentials[kBlock];
  double sum = 0;
  for (long i = 0; i < n; i += kBlock) {
    const long length = n - i < kBlock ? n - i : kBlock;
    exp_apart(x + i, exponentials, shift, length);
    sum += static_cast<double>(sum_of(exponentials, length));
  }
  const float log_sum = k_log(static_cast<float>(sum));
  for (long i = 0; i < n; ++i) y[i] = shifted(x[i], shift) - log_sum;
}

// Short columns: the shifts of several first, so that the exponentials are one long loop.
constexpr long kShort = 64;

template <bool is_log>
void short_columns(const float* x, float* y, long length, long count) {
  float differences[kBlock];
  float exponentials[kBlock];
  for (long j = 0; j < count; ++j) {
    float maximum = x[j * length];
    for (long i = 1; i < length; ++i) maximum = greater(maximum, x[j * length + i]);
    const float shift = shift_of(maximum);
    for (long i = 0; i < length; ++i) differences[j * length + i] = shifted(x[j * length + i], shift);
  }
  for (long i = 0; i < length * count; ++i) exponentials[i] = exp_of(differences[i]);
  float last[kBlock];  // what each column loses, or is multiplied by, in the end
  for (long j = 0; j < count; ++j) {
    float sum = 0.0f;
    for (long i = 0; i < length; ++i) sum += exponentials[j * length + i];
    last[j] = sum;
  }
  for (long j = 0; j < count; ++j) last[j] = is_log ? k_log(last[j]) : 1.0f / last[j];
  for (long j = 0; j < count; ++j) {
    for (long i = j * length; i < (j + 1) * length; ++i) {
      y[i] = is_log ? differences[i] - last[j] : exponentials[i] * last[j];
    }
  }
}

template <bool is_log>
void columns(const float* x, float* y, long length, long count) {
  const long together = length <= kShort ? kBlock / length : 1;
  for (long j = 0; j < count; j += together) {
    const float* from = x + j * length;
    float* to = y + j * length;
    if (length <= kShort) {
      short_columns<is_log>(from, to, length, count - j < together ? count - j : together);
    } else if constexpr (is_log) {
      logsoftmax_column(from, to, length);
    } else {
      softmax_column(from, to, length);
    }
  }
}

// Maxima and sums of columns side by side, as far as rows have been seen.
struct Seen {
  float maximum[SoftmaxLoops::kWidth];
  double sum[SoftmaxLoops::kWidth];  // of exponentials of the differences from the maximum
};

// Takes in more rows, few enough to stay in the first cache between their two visits here. A sum is rescaled when its
// maximum grows.
constexpr long kRows = 8;

void see(Seen* seen, const float* x, long width, long stride, long rows) {
  float maximum[SoftmaxLoops::kWidth];
  float part[SoftmaxLoops::kWidth];
  for (long j = 0; j < width; ++j) {
    maximum[j] = seen->maximum[j];
    part[j] = 0.0f;
  }
  for (long i = 0; i < rows; ++i) {
    for (long j = 0; j < width; ++j) maximum[j] = greater(maximum[j], x[i * stride + j]);
  }
  for (long i = 0; i < rows; ++i) {
    for (long j = 0; j < width; ++j) part[j] += exp_of(shifted(x[i * stride + j], maximum[j]));
  }
  for (long j = 0; j < width; ++j) {
    const float scale = exp_of(shifted(seen->maximum[j], maximum[j]));
    seen->sum[j] = seen->sum[j] * static_cast<double>(scale) + static_cast<double>(part[j]);
    seen->maximum[j] = maximum[j];
  }
}

template <bool is_log>
void group(const float* x, float* y, long width, long stride, long length) {
  Seen seen;
  for (long j = 0; j < width; ++j) {
    seen.maximum[j] = -K_INF;
    seen.sum[j] = 0;
  }
  for (long i = 0; i < length; i += kRows) {
    see(&seen, x + i * stride, width, stride, length - i < kRows ? length - i : kRows);
  }
  float shift[SoftmaxLoops::kWidth];
  float last[SoftmaxLoops::kWidth];  // what the last pass takes off, or multiplies by
  for (long j = 0; j < width; ++j) {
    shift[j] = shift_of(seen.maximum[j]);
    last[j] = is_log ? k_log(static_cast<float>(seen.sum[j])) : static_cast<float>(1.0 / seen.sum[j]);
  }
  for (long i = 0; i < length; ++i) {
    const float* from = x + i * stride;
    float* to = y + i * stride;
    for (long j = 0; j < width; ++j) {
      const float difference = shifted(from[j], shift[j]);
      to[j] = is_log ? difference - last[j] : exp_of(difference) * last[j];
    }
  }
}

}  // namespace

extern const SoftmaxLoops kSoftmaxLoops;
const SoftmaxLoops kSoftmaxLoops = {columns<false>, columns<true>, group<false>, group<true>};

}  // namespace sluice::detail::SLUICE_ISA
