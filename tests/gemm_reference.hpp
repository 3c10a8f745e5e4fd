// What the tests of matrix products share: every element type, a product with its double loop, and the settings of a
// test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>
#include <type_traits>
#include <vector>

#include "src/device/cpu_gemm.hpp"
#include "src/device/onednn.hpp"
#include "src/device/thread_pool.hpp"

namespace sluice::testing {

using namespace detail;  // NOLINT

// ---- element types: how a test writes, reads and sums them ----

struct F16 {
  using Storage = std::uint16_t;
  using Sum = double;
  static constexpr GemmType kType = GemmType::f16;
  static Storage from(double x) {  // to nearest even, by the definition of the format
    const Storage sign = std::signbit(x) ? 0x8000 : 0;
    x = std::fabs(x);
    if (std::isnan(x)) return 0x7e00;
    int exponent = -13;
    if (x != 0) std::frexp(x, &exponent);
    exponent = std::max(exponent, -13);
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(std::min(x, 1e6), 11 - exponent)));
    return static_cast<Storage>(sign | std::min(((exponent + 13) << 10) + steps, 0x7c00));
  }
  static double decode(Storage x) {
    const int exponent = (x >> 10) & 31;
    const int fraction = x & 1023;
    double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) value = fraction ? NAN : INFINITY;
    return x & 0x8000 ? -value : value;
  }
  static double to(Storage x) {  // through a table: a test asks millions of times
    static const std::vector<double> values = [] {
      std::vector<double> table(65536);
      for (std::size_t i = 0; i < table.size(); ++i) table[i] = decode(static_cast<Storage>(i));
      return table;
    }();
    return values[x];
  }
};

struct BF16 {
  using Storage = std::uint16_t;
  using Sum = double;
  static constexpr GemmType kType = GemmType::bf16;
  static Storage from(double x) {  // to nearest even: of the two neighbours, the nearer one, else the even one
    const auto below = static_cast<Storage>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16);
    if (to(below) == x || std::isnan(x)) return below;
    const auto above = static_cast<Storage>(below + 1);
    const double low = std::fabs(x - to(below));
    const double next = (above & 0x7fff) == 0x7f80 ? 0x1p128 : std::fabs(to(above));  // past the largest is infinity
    const double high = next - std::fabs(x);
    return low < high || (low == high && below % 2 == 0) ? below : above;
  }
  static double to(Storage x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }
};

template <class T, GemmType Type>
struct Plain {
  using Storage = T;
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
  static constexpr GemmType kType = Type;
  static T from(double x) { return static_cast<T>(std::is_unsigned_v<T> ? std::fabs(x) : x); }
  static Sum to(T x) { return static_cast<Sum>(x); }
};

using F64 = Plain<double, GemmType::f64>;
using F32 = Plain<float, GemmType::f32>;
using I64 = Plain<std::int64_t, GemmType::i64>;
using I32 = Plain<std::int32_t, GemmType::i32>;
using I16 = Plain<std::int16_t, GemmType::i16>;
using I8 = Plain<std::int8_t, GemmType::i8>;
using U8 = Plain<std::uint8_t, GemmType::u8>;

template <class Type>
typename Type::Storage rounded(typename Type::Sum sum) {
  if constexpr (std::is_same_v<typename Type::Sum, std::uint64_t>) {
    return static_cast<typename Type::Storage>(sum);  // wraps
  } else {
    return Type::from(sum);
  }
}

struct Case {
  std::int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  std::int64_t batch = 1;
  std::int64_t padding = 0;  // added to every leading dimension
  bool share_a = false, share_b = false;
  auto operator<=>(const Case&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.m << "x" << c.k << (c.transpose_a ? "T" : "") << " times " << c.k << "x" << c.n
             << (c.transpose_b ? "T" : "") << ", batch " << c.batch << ", padding " << c.padding;
}

template <class Type>
class Problem {
 public:
  using T = typename Type::Storage;

  // Values from `value(index)`; C starts with a mark that no product gives.
  template <class Value>
  Problem(const Case& c, Value value) : case_(c) {
    a_rows_ = c.transpose_a ? c.k : c.m;
    b_rows_ = c.transpose_b ? c.n : c.k;
    const std::int64_t a_size = (a_rows_ + c.padding) * (c.transpose_a ? c.m : c.k);
    const std::int64_t b_size = (b_rows_ + c.padding) * (c.transpose_b ? c.k : c.n);
    const std::int64_t c_size = (c.m + c.padding) * c.n;
    call_ = {Type::kType,
             c.transpose_a,
             c.transpose_b,
             c.m,
             c.n,
             c.k,
             nullptr,
             a_rows_ + c.padding,
             nullptr,
             b_rows_ + c.padding,
             nullptr,
             c.m + c.padding,
             c.batch,
             c.share_a ? 0 : a_size,
             c.share_b ? 0 : b_size,
             c_size};
    a_.resize(static_cast<std::size_t>(a_size * (c.share_a ? 1 : c.batch)));
    b_.resize(static_cast<std::size_t>(b_size * (c.share_b ? 1 : c.batch)));
    c_.assign(static_cast<std::size_t>(c_size * c.batch), mark());
    std::int64_t index = 0;
    for (T& x : a_) x = Type::from(value(index++));
    for (T& x : b_) x = Type::from(value(index++));
    call_.a = a_.data();
    call_.b = b_.data();
    call_.c = c_.data();
  }

  static T mark() { return static_cast<T>(77); }

  const std::vector<T>& run() {
    gemm(call_);
    return c_;
  }

  std::vector<T>& a() { return a_; }
  const std::vector<T>& c() const { return c_; }

  typename Type::Sum sum(std::int64_t batch, std::int64_t i, std::int64_t j) const {
    typename Type::Sum sum = 0;
    for (std::int64_t p = 0; p < case_.k; ++p) {
      const auto a = batch * call_.stride_a + (case_.transpose_a ? p + i * call_.lda : i + p * call_.lda);
      const auto b = batch * call_.stride_b + (case_.transpose_b ? j + p * call_.ldb : p + j * call_.ldb);
      sum += Type::to(a_[static_cast<std::size_t>(a)]) * Type::to(b_[static_cast<std::size_t>(b)]);
    }
    return sum;
  }

  // Calls check(got, sum) for every element and holds the padding against the mark.
  template <class Check>
  void each(Check check) const {
    for (std::int64_t t = 0; t < case_.batch; ++t) {
      for (std::int64_t j = 0; j < case_.n; ++j) {
        for (std::int64_t i = 0; i < call_.ldc; ++i) {
          const T got = c_[static_cast<std::size_t>(t * call_.stride_c + j * call_.ldc + i)];
          i < case_.m ? check(got, sum(t, i, j)) : check_mark(got);
        }
      }
    }
  }

 private:
  void check_mark(T got) const { ASSERT_EQ(got, mark()) << "the padding of C was written: " << case_; }

  Case case_;
  std::int64_t a_rows_, b_rows_;
  GemmCall call_;
  std::vector<T> a_, b_, c_;
};

// Small whole numbers: sums are exact in every type but the last rounding, so equality is asked for.
inline double small_whole(std::int64_t index) { return static_cast<double>((index * 7 + index / 5) % 7 - 3); }

template <class Type>
void expect_exact(const Case& c) {
  Problem<Type> problem(c, small_whole);
  problem.run();
  int wrong = 0;
  problem.each([&](auto got, auto sum) { wrong += got != rounded<Type>(sum); });
  EXPECT_EQ(wrong, 0) << c;
}

template <class Type>
void expect_exact_for_all_transposes(Case c) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      c.transpose_a = transpose_a;
      c.transpose_b = transpose_b;
      expect_exact<Type>(c);
    }
  }
}

// Leaves the limit, the instruction set and oneDNN as it found them.
class Settings {
 public:
  explicit Settings(int threads) : threads_(num_threads()) {
    set_num_threads(threads);
    while (worker_count() > threads - 1) std::this_thread::yield();
  }
  ~Settings() {
    set_num_threads(threads_);
    use_gemm_isa(host_isa());
    hide_onednn(false);
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

 private:
  int threads_;
};

inline double random_value(std::int64_t index) {  // in [-1, 1)
  auto bits = (static_cast<std::uint64_t>(index) + 1) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((bits ^ (bits >> 31)) >> 11) * 0x1p-52 - 1;
}

template <class Type>
std::vector<typename Type::Storage> result_of(const Case& c) {
  return Problem<Type>(c, random_value).run();
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

}  // namespace sluice::testing
