// Argmax and argmin: the place of the greatest or least element of each column. NaN wins; among equals the first.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "src/core/typed_program.hpp"
#include "src/core/visit_dtype.hpp"
#include "src/device/cpu_reduce.hpp"
#include "src/device/reduce_kernels.hpp"
#include "src/device/thread_pool.hpp"

namespace sluice::detail {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements that are worth waking a thread
constexpr std::int64_t kWidth = 256;      // columns side by side that are worked on together
constexpr std::int64_t kLong = 64;        // from this length on, two vector passes beat one scalar one

/// What elements are compared as.
template <class T>
auto comparable(T value) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) return static_cast<float>(value);
  else return value;
}

/// Whether `next`, which comes later, beats `best`. Negated, because a comparison with NaN is false.
template <bool greatest, class V>
bool beats(V next, V best) {
  if constexpr (std::is_floating_point_v<V>) {
    if (best != best) return false;
    return greatest ? !(next <= best) : !(next >= best);
  } else {
    return greatest ? next > best : next < best;
  }
}

/// Places of the winners of `width` columns that lie side by side, the next element `stride` further. Counted in Place,
/// which is as wide as a value where the length allows it: the loop vectorises then.
template <bool greatest, class Place, class T>
void scan(const T* x, std::int64_t width, std::int64_t stride, std::int64_t length, std::int64_t* places) {
  using Value = decltype(comparable(T{}));
  Value best[kWidth];
  Place place[kWidth] = {};
  for (std::int64_t j = 0; j < width; ++j) {
    best[j] = comparable(x[j]);
  }
  for (std::int64_t i = 1; i < length; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      const Value next = comparable(x[i * stride + j]);
      const bool wins = beats<greatest>(next, best[j]);
      best[j] = wins ? next : best[j];
      place[j] = wins ? static_cast<Place>(i) : place[j];
    }
  }
  std::copy_n(place, width, places);
}

/// One contiguous column of f32 or f64: its extreme value by the reduction's loop, then the first place of it.
template <bool greatest, class T>
std::int64_t find(const T* x, std::int64_t length) {
  const Register type = std::is_same_v<T, float> ? Register::f32 : Register::f64;
  const CombineOp combine = greatest ? CombineOp::max : CombineOp::min;
  double extreme = static_cast<double>(x[0]);
  reduce_loops().runs[static_cast<int>(type)][static_cast<int>(combine)](x, length, 1, &extreme);
  const T value = static_cast<T>(extreme);
  std::int64_t i = 0;
  if (value != value) {
    while (x[i] == x[i]) ++i;
  } else {
    while (x[i] != value) ++i;
  }
  return i;
}

template <bool greatest, class T>
void argreduce(const AxisCall& call) {
  const T* x = reinterpret_cast<const T*>(call.input.host());
  auto* places = reinterpret_cast<std::int64_t*>(call.output.host());
  const std::int64_t width = std::min(call.inner, kWidth);
  const std::int64_t groups = (call.inner + width - 1) / width;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (width * call.length));
  parallel_for(groups * call.outer, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t skipped = i % groups * width;
      const T* column = x + i / groups * call.inner * call.length + skipped;
      std::int64_t* to = places + i / groups * call.inner + skipped;
      if constexpr (std::is_floating_point_v<T>) {
        if (call.inner == 1 && call.length >= kLong) {
          *to = find<greatest>(column, call.length);
          continue;
        }
      }
      const std::int64_t size = std::min(width, call.inner - skipped);
      const bool is_short = call.length <= std::numeric_limits<std::int32_t>::max();
      if (is_short && sizeof(comparable(T{})) <= 4) {
        scan<greatest, std::int32_t>(column, size, call.inner, call.length, to);
      } else {
        scan<greatest, std::int64_t>(column, size, call.inner, call.length, to);
      }
    }
  });
}

}  // namespace

void cpu_argreduce(const AxisCall& call, bool greatest) {
  visit_dtype(call.input.dtype, [&]<class T>() {
    if (greatest) argreduce<true, T>(call);
    else argreduce<false, T>(call);
  });
}

}  // namespace sluice::detail
