#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "src/device/cpu_gemm.hpp"
#include "src/device/onednn.hpp"
#include "src/device/thread_pool.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define SLUICE_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLUICE_TEST_TSAN 1
#endif
#endif

using namespace sluice::detail;

namespace {

#ifdef SLUICE_TEST_TSAN
constexpr bool kThreadSanitizer = true;  // it runs a thread of its own and lets no forked child start one
#else
constexpr bool kThreadSanitizer = false;
#endif

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

std::ostream& operator<<(std::ostream& out, const Case& c) {
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
double small_whole(std::int64_t index) { return static_cast<double>((index * 7 + index / 5) % 7 - 3); }

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

double random_value(std::int64_t index) {  // in [-1, 1)
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

// ---- values ----

TEST(Gemm, SmallProductsNeverOpenOneDnn) {  // first: the products below may open it
  if (std::string(onednn_status()).find("not opened") == std::string::npos) GTEST_SKIP() << "already opened";
  for (const std::int64_t size : {1, 16, 64, 200}) result_of<F32>({.m = size, .n = size, .k = size});
  result_of<F32>({.m = 64, .n = 64, .k = 64, .batch = 100});
  EXPECT_NE(std::string(onednn_status()).find("not opened"), std::string::npos) << onednn_status();
}

template <class Type>
class GemmOfType : public ::testing::Test {};
using AllTypes = ::testing::Types<F64, F32, F16, BF16, I64, I32, I16, I8, U8>;
TYPED_TEST_SUITE(GemmOfType, AllTypes);

TYPED_TEST(GemmOfType, AgreesWithADoubleLoop) {
  constexpr bool kMain = std::is_same_v<TypeParam, F32>;
  const std::vector<std::int64_t> sizes =
      kMain ? std::vector<std::int64_t>{0, 1, 2, 3, 7, 17, 64, 65, 130} : std::vector<std::int64_t>{0, 1, 3, 7, 17, 65};
  const Settings settings(2);
  for (const HostIsa isa : {HostIsa::baseline, HostIsa::avx2, HostIsa::avx512}) {
    if (!use_gemm_isa(isa)) continue;
    for (const auto m : sizes) {
      for (const auto n : sizes) {
        for (const auto k : sizes) expect_exact_for_all_transposes<TypeParam>({.m = m, .n = n, .k = k});
      }
    }
  }
}

TYPED_TEST(GemmOfType, LeadingDimensionsMayBeLarger) {
  const Settings settings(2);
  for (const std::int64_t padding : {1, 5}) {
    for (const auto& [m, n, k] :
         {std::array{5, 4, 3}, {33, 18, 20}, {1, 40, 33}, {40, 1, 33}, {2, 90, 40}, {90, 3, 40}}) {
      expect_exact_for_all_transposes<TypeParam>({.m = m, .n = n, .k = k, .padding = padding});
    }
  }
  expect_exact_for_all_transposes<TypeParam>({.m = 610, .n = 10, .k = 180, .padding = 3});   // slabs of A
  expect_exact_for_all_transposes<TypeParam>({.m = 610, .n = 21, .k = 180, .padding = 3});   // copied slabs of A
  expect_exact_for_all_transposes<TypeParam>({.m = 21, .n = 610, .k = 180, .padding = 3});   // blocks of B
  expect_exact_for_all_transposes<TypeParam>({.m = 170, .n = 161, .k = 180, .padding = 3});  // packed
  expect_exact_for_all_transposes<TypeParam>({.m = 5, .n = 6, .k = 4100, .padding = 3});     // cut along k
}

TYPED_TEST(GemmOfType, BatchesMayShareAnOperand) {
  const Settings settings(2);
  for (const bool share_a : {false, true}) {
    for (const bool share_b : {false, true}) {
      Case c{.m = 9, .n = 7, .k = 6, .batch = 5, .padding = 1, .share_a = share_a, .share_b = share_b};
      expect_exact_for_all_transposes<TypeParam>(c);
      c.batch = 0;
      expect_exact<TypeParam>(c);
    }
  }
  expect_exact<TypeParam>({.m = 32, .n = 32, .k = 32, .batch = 40});
}

TEST(Gemm, AnEmptySumWritesZeros) {
  expect_exact<F32>({.m = 3, .n = 4, .k = 0, .batch = 2, .padding = 1});
  GemmCall call;
  std::vector<float> c(6, 1.0f);
  call.m = 2;
  call.n = 3;
  call.ldc = 2;
  call.c = c.data();
  gemm(call);  // A and B are null
  EXPECT_EQ(c, std::vector<float>(6, 0.0f));
}

template <class Type>
void expect_close(const Case& c, double epsilon) {
  Problem<Type> problem(c, random_value);
  problem.run();
  double worst = 0;
  problem.each([&](auto got, double sum) { worst = std::max(worst, std::fabs(static_cast<double>(got) - sum)); });
  EXPECT_LE(worst, epsilon * static_cast<double>(c.k)) << c;
}

TEST(Gemm, RealValuesAreAccurateOnEveryPath) {
  const Settings settings(2);
  for (const HostIsa isa : {HostIsa::baseline, HostIsa::avx2, HostIsa::avx512}) {
    if (!use_gemm_isa(isa)) continue;
    for (const auto& [m, n, k] : {std::array{33, 70, 100},
                                  {190, 170, 160},
                                  {1, 300, 200},
                                  {300, 1, 200},
                                  {3, 120, 90},
                                  {200, 2, 300},
                                  {20, 30, 5000},
                                  {16, 2, 2},
                                  {513, 9, 300},
                                  {1031, 29, 300}}) {
      for (const bool transpose : {false, true}) {
        expect_close<F32>({.m = m, .n = n, .k = k, .transpose_a = transpose, .transpose_b = !transpose}, 1.2e-7);
        expect_close<F64>({.m = m, .n = n, .k = k, .transpose_a = transpose, .transpose_b = !transpose}, 2.3e-16);
      }
    }
  }
}

TEST(Gemm, IntegersWrap) {
  const auto large = [](std::int64_t index) { return static_cast<double>((index * 37) % 256 - 128); };
  Problem<I8> bytes({.m = 5, .n = 5, .k = 40}, large);
  bytes.run();
  bytes.each([](std::int8_t got, std::uint64_t sum) { EXPECT_EQ(got, static_cast<std::int8_t>(sum)); });
  Problem<I64> wide({.m = 9, .n = 7, .k = 3},
                    [](std::int64_t index) { return static_cast<double>(index + 1) * 0x1p40; });
  wide.run();
  wide.each([](std::int64_t got, std::uint64_t sum) { EXPECT_EQ(got, static_cast<std::int64_t>(sum)); });
  Problem<I32> words({.m = 9, .n = 7, .k = 3},
                     [](std::int64_t index) { return static_cast<double>(index + 1) * 0x1p20; });
  words.run();
  words.each([](std::int32_t got, std::uint64_t sum) { EXPECT_EQ(got, static_cast<std::int32_t>(sum)); });
}

template <class Type>
void expect_stored_values_round_to_nearest_even() {
  for (const double factor : {1.0, 1.0009765625, 0.3330078125, 1.5, 0x1p-10, 1.5 * 0x1p-12, 300.0}) {
    Problem<Type> problem({.m = 65536, .n = 1, .k = 1},
                          [&](std::int64_t index) { return index == 65536 ? factor : 0; });
    for (std::size_t bits = 0; bits < 65536; ++bits) problem.a()[bits] = static_cast<std::uint16_t>(bits);
    problem.run();
    for (std::size_t bits = 0; bits < 65536; ++bits) {
      const double exact = Type::to(static_cast<std::uint16_t>(bits)) * Type::to(Type::from(factor));
      const double got = Type::to(problem.c()[bits]);
      // What f32 cannot hold has been rounded before; bf16 shares f32's range.
      if (static_cast<double>(static_cast<float>(exact)) != exact && std::isfinite(exact)) continue;
      ASSERT_TRUE(std::isnan(exact) ? std::isnan(got) : got == Type::to(Type::from(exact)))
          << bits << " times " << factor << " gave " << got << ", exact " << exact;
    }
  }
}

TEST(Gemm, EveryHalfRoundsToNearestEven) {
  const Settings settings(1);
  for (const HostIsa isa : {HostIsa::baseline, HostIsa::avx2, HostIsa::avx512}) {
    if (!use_gemm_isa(isa)) continue;
    expect_stored_values_round_to_nearest_even<F16>();
    expect_stored_values_round_to_nearest_even<BF16>();
  }
}

TEST(Gemm, NanAndInfinityStayInTheirRow) {
  for (const std::int64_t size : {3, 20, 170}) {
    Problem<F32> problem({.m = size, .n = size, .k = size}, [](std::int64_t) { return 1.0; });
    problem.a()[1] = std::numeric_limits<float>::quiet_NaN();
    problem.a()[2] = std::numeric_limits<float>::infinity();
    const auto& c = problem.run();
    for (std::int64_t j = 0; j < size; ++j) {
      const auto column = static_cast<std::size_t>(j * size);
      EXPECT_EQ(c[column], static_cast<float>(size));
      EXPECT_TRUE(std::isnan(c[column + 1]));
      EXPECT_TRUE(std::isinf(c[column + 2]));
    }
  }
}

// ---- determinism ----

// One shape for every way a product can be computed, and a batch of each kind.
const Case kPaths[] = {{.m = 16, .n = 32, .k = 2},
                       {.m = 120, .n = 130, .k = 140, .transpose_a = true},
                       {.m = 700, .n = 20, .k = 60},
                       {.m = 1, .n = 3000, .k = 700},
                       {.m = 3000, .n = 2, .k = 700, .transpose_a = true},
                       {.m = 40, .n = 50, .k = 20000, .transpose_b = true},
                       {.m = 300, .n = 310, .k = 600},
                       {.m = 480, .n = 600, .k = 520, .transpose_b = true},
                       {.m = 64, .n = 64, .k = 64, .batch = 50},
                       {.m = 300, .n = 280, .k = 260, .batch = 3, .share_b = true}};

template <class Type>
void expect_same_bits_for_any_threads() {
  for (const Case& c : kPaths) {
    std::vector<typename Type::Storage> alone;
    {
      const Settings settings(1);
      alone = result_of<Type>(c);
    }
    for (const int threads : {2, 3, 8}) {
      const Settings settings(threads);
      EXPECT_TRUE(same_bits(alone, result_of<Type>(c))) << threads << " threads, " << c;
    }
  }
}

TEST(Gemm, TheNumberOfThreadsDoesNotChangeABit) {
  expect_same_bits_for_any_threads<F32>();
  expect_same_bits_for_any_threads<F64>();
  expect_same_bits_for_any_threads<BF16>();
}

TEST(Gemm, OtherCallersDoNotChangeABit) {
  const Settings settings(3);
  std::vector<std::vector<float>> alone;
  for (const Case& c : kPaths) alone.push_back(result_of<F32>(c));
  std::vector<std::thread> callers;
  std::atomic<int> different{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (std::size_t i = 0; i < alone.size(); ++i) different += !same_bits(alone[i], result_of<F32>(kPaths[i]));
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(different.load(), 0);
}

// ---- oneDNN ----

const Case kLarge{.m = 450, .n = 530, .k = 600, .padding = 2};

TEST(GemmOneDnn, LargeProductsUseItAndAgreeWithOurs) {
  const Settings settings(2);
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      Case c = kLarge;
      c.transpose_a = transpose_a;
      c.transpose_b = transpose_b;
      hide_onednn(false);
      Problem<F32> theirs(c, small_whole);
      theirs.run();
      hide_onednn(true);
      EXPECT_NE(std::string(onednn_status()).find("hidden"), std::string::npos);
      Problem<F32> ours(c, small_whole);
      ours.run();
      EXPECT_EQ(theirs.c(), ours.c()) << c;
    }
  }
  hide_onednn(false);
  EXPECT_EQ(std::string(onednn_status()).find("not opened"), std::string::npos) << onednn_status();
  if (!onednn_usable()) GTEST_SKIP() << onednn_status();
  EXPECT_NE(std::string(onednn_status()).find("oneDNN "), std::string::npos) << onednn_status();
}

TEST(GemmOneDnn, HiddenItIsReplacedByOurs) {
  const Settings settings(2);
  hide_onednn(true);
  EXPECT_FALSE(onednn_usable());
  Problem<F32> problem(kLarge, small_whole);
  problem.run();
  for (const auto& [i, j] : {std::pair{0, 0}, {449, 529}, {17, 300}}) {
    EXPECT_EQ(problem.c()[static_cast<std::size_t>(i + j * 452)], static_cast<float>(problem.sum(0, i, j)));
  }
}

TEST(GemmOneDnn, TheEnvironmentTurnsItOff) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("SLUICE_ONEDNN", "0", 1);
        Problem<F32> problem(kLarge, small_whole);
        const float got = problem.run()[0];
        const bool off = std::string(onednn_status()).find("SLUICE_ONEDNN=0") != std::string::npos;
        std::exit(got == static_cast<float>(problem.sum(0, 0, 0)) && off && !onednn_usable() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// ---- threads and processes ----

#if defined(__linux__)
int threads_of_process() {
  int count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST(GemmThreads, EightCallersMakeNoMoreThanOneWorker) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer adds a thread";
  const Settings settings(2);
  std::atomic<int> most{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 2; ++round) {
        Problem<F32>(kLarge, small_whole).run();
        Problem<F64>({.m = 200, .n = 200, .k = 200}, small_whole).run();
        int seen = most.load();
        const int now = threads_of_process();
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_LE(most.load(), 1 + 8 + 1);  // the main thread, the callers, one worker
}
#endif

#if defined(__unix__) || defined(__APPLE__)
int exit_code_of_child_that_computes(const std::vector<float>& expected) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    if (kThreadSanitizer) set_num_threads(1);
    Problem<F32> problem(kLarge, small_whole);
    _exit(same_bits(problem.run(), expected) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(GemmThreads, AForkedChildComputes) {
  const Settings settings(2);
  for (const bool hidden : {true, false}) {
    hide_onednn(hidden);
    Problem<F32> problem(kLarge, small_whole);
    const auto expected = problem.run();
    EXPECT_EQ(exit_code_of_child_that_computes(expected), 0);
    EXPECT_TRUE(same_bits(problem.run(), expected));
  }
}

TEST(GemmThreads, AForkWhileOthersComputeDoesNotHang) {
  const Settings settings(2);
  const auto expected = Problem<F32>(kLarge, small_whole).run();
  std::atomic<bool> stop{false};
  std::thread caller([&] {
    Problem<F32> problem(kLarge, small_whole);
    while (!stop) problem.run();
  });
  for (int round = 0; round < 5; ++round) EXPECT_EQ(exit_code_of_child_that_computes(expected), 0);
  stop = true;
  caller.join();
}
#endif

}  // namespace
