#include <array>
#include <atomic>
#include <limits>
#include <thread>

#include "tests/gemm_reference.hpp"

namespace sluice {
namespace {

using namespace testing;  // NOLINT

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

}  // namespace
}  // namespace sluice
