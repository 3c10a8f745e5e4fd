#include "sluice/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>
#include <numeric>
#include <set>
#include <thread>

#include "sluice/tensor.hpp"
#include "src/device/host_isa.hpp"
#include "src/device/random_kernels.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace sluice {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(philox({0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  EXPECT_EQ(philox({kOnes, kOnes}, kOnes), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x299f31d0a4093822, 0x0370734413198a2e}, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rand, FollowsPhiloxAtEveryIndex) {
  const RandomKey key{0x123456789abcdef, 42};
  for (const std::int64_t count : {1, 3, 4, 255, 256, 257, 100003}) {
    const Tensor x = rand({count}, f32, key);
    const std::span<const float> values = x.span<float>();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t word = philox(key, static_cast<std::uint64_t>(i / 4))[static_cast<std::size_t>(i % 4)];
      ASSERT_EQ(values[static_cast<std::size_t>(i)], std::ldexp(static_cast<float>(word >> 8), -24)) << i;
    }
  }
}

TEST(Rand, IsTheSameForAnyNumberOfThreads) {
  const auto numbers = [](int threads) {
    set_num_threads(threads);
    return std::pair(rand({300001}, f32, {1, 2}).to_vector<float>(), randn({300001}, f32, {1, 2}).to_vector<float>());
  };
  EXPECT_EQ(numbers(1), numbers(4));
}

TEST(Rand, WiderAndNarrowerTypesHoldTheSameNumbers) {
  const RandomKey key{5, 6};
  const std::vector<float> narrow = rand({1000}, f32, key).to_vector<float>();
  const std::vector<double> wide = rand({1000}, f64, key).to_vector<double>();
  EXPECT_EQ(std::vector<double>(narrow.begin(), narrow.end()), wide);
  const std::vector<Float16> half = rand({1000}, f16, key).to_vector<Float16>();
  const std::vector<BFloat16> brain = rand({1000}, bf16, key).to_vector<BFloat16>();
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(static_cast<float>(half[i]), std::floor(narrow[i] * 2048) / 2048);
    EXPECT_EQ(static_cast<float>(brain[i]), std::floor(narrow[i] * 256) / 256);
  }
  EXPECT_THROW(rand({2}, i32), TypeError);
  EXPECT_THROW(randn({2}, boolean), TypeError);
}

TEST(Rand, NarrowTypesStayBelowOne) {
  const Tensor x = rand({200000}, bf16, {7, 0});
  EXPECT_TRUE(std::ranges::all_of(x.span<BFloat16>(), [](BFloat16 v) { return static_cast<float>(v) < 1.0f; }));
}

TEST(Rand, IsUniform) {
  const std::vector<float> values = rand({1 << 20}, f32, {11, 0}).to_vector<float>();
  const auto n = static_cast<double>(values.size());
  std::vector<int> bins(64);
  double sum = 0;
  for (const float v : values) {
    sum += static_cast<double>(v);
    ++bins.at(static_cast<std::size_t>(v * 64));
  }
  EXPECT_NEAR(sum / n, 0.5, 5 / std::sqrt(12 * n));
  double chi_square = 0;
  for (const int bin : bins) chi_square += (bin - n / 64) * (bin - n / 64) / (n / 64);
  EXPECT_NEAR(chi_square, 63, 6 * std::sqrt(2 * 63.0));
}

TEST(Randn, IsBoxMullerOfTheUniforms) {
  const RandomKey key{3, 9};
  for (const std::int64_t count : {7, 5000}) {
    const std::vector<double> u = rand({count + 1}, f64, key).to_vector<double>();
    const std::vector<double> z = randn({count}, f64, key).to_vector<double>();
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double radius = std::sqrt(-2 * std::log(1 - u[i - i % 2]));
      const double angle = 2 * std::numbers::pi * u[i - i % 2 + 1];
      ASSERT_NEAR(z[i], radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)), 4e-6) << i;
    }
  }
}

TEST(Randn, HasTheMomentsOfANormal) {
  const std::vector<float> values = randn({1 << 20}, f32, {1, 1}).to_vector<float>();
  const auto n = static_cast<double>(values.size());
  double moments[5] = {};
  for (const float v : values) {
    for (int k = 1; k < 5; ++k) moments[k] += std::pow(static_cast<double>(v), k) / n;
  }
  EXPECT_NEAR(moments[1], 0, 5 / std::sqrt(n));
  EXPECT_NEAR(moments[2], 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(moments[3], 0, 5 * std::sqrt(15 / n));
  EXPECT_NEAR(moments[4], 3, 5 * std::sqrt(96 / n));
}

// The loops of the baseline against those of this machine, across the carry of the counter as well.
TEST(Randn, IsTheSameForEveryInstructionSet) {
#if defined(__x86_64__)
  const detail::HostIsa isa = detail::host_isa();
  if (isa == detail::HostIsa::baseline) GTEST_SKIP() << "this machine has the baseline only";
  const detail::RandomLoops& loops =
      isa == detail::HostIsa::avx512 ? detail::avx512::kRandomLoops : detail::avx2::kRandomLoops;
  using Tile = std::array<float, detail::RandomLoops::kTile>;
  for (std::uint64_t index = (1u << 26) - 50; index < (1u << 26) + 50; ++index) {
    Tile expected, got;
    detail::baseline::kRandomLoops.normal(expected.data(), 4, 5, index);
    loops.normal(got.data(), 4, 5, index);
    ASSERT_EQ(got, expected);
    detail::baseline::kRandomLoops.uniform(expected.data(), 4, 5, index);
    loops.uniform(got.data(), 4, 5, index);
    ASSERT_EQ(got, expected);
  }
#endif
}

TEST(Randperm, IsAPermutationThatDependsOnTheKeyAlone) {
  const std::vector<std::int64_t> order = randperm(1000, {1, 2}).to_vector<std::int64_t>();
  std::vector<std::int64_t> sorted = order;
  std::ranges::sort(sorted);
  std::vector<std::int64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
  EXPECT_NE(order, all);
  EXPECT_EQ(order, randperm(1000, {1, 2}).to_vector<std::int64_t>());
  EXPECT_NE(order, randperm(1000, {1, 3}).to_vector<std::int64_t>());
  EXPECT_EQ(randperm(0).numel(), 0);
  EXPECT_EQ(randperm(1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0}));
}

TEST(Randperm, GivesEveryOrderAsOften) {
  std::map<std::vector<std::int64_t>, int> counts;
  constexpr int kDraws = 24000;
  for (std::uint64_t call = 0; call < kDraws; ++call) ++counts[randperm(4, {1, call}).to_vector<std::int64_t>()];
  ASSERT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 6 * std::sqrt(1000.0));
}

TEST(Generator, IsAValue) {
  Generator a(7);
  EXPECT_EQ(a.next(), (RandomKey{7, 0}));
  Generator b = a;
  EXPECT_EQ(a.next(), b.next());
  EXPECT_EQ(a.peek(), (RandomKey{7, 2}));
  EXPECT_EQ(rand({5}, a).to_vector<float>(), rand({5}, b).to_vector<float>());
  EXPECT_EQ(a, b);
}

TEST(Seed, RestartsTheGeneratorOfTheProcess) {
  seed(3);
  const std::vector<float> first = randn({10}).to_vector<float>();
  EXPECT_NE(randn({10}).to_vector<float>(), first);
  seed(3);
  EXPECT_EQ(randn({10}).to_vector<float>(), first);
}

TEST(SeedDeathTest, IsZeroInAFreshProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // runs the case anew
  EXPECT_EXIT(std::_Exit(next_random_key() == RandomKey{0, 0} ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(Seed, KeysAreUniqueAcrossThreads) {
  seed(1);
  std::vector<std::vector<std::uint64_t>> calls(4);
  std::vector<std::thread> threads;
  for (auto& mine : calls) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 1000; ++i) mine.push_back(next_random_key().call);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  for (const auto& mine : calls) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 4000u);
  EXPECT_EQ(*all.rbegin(), 3999u);
}

#if (defined(__unix__) || defined(__APPLE__)) && !defined(__SANITIZE_THREAD__)
TEST(Seed, AForkedChildDrawsNumbers) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) next_random_key();
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      next_random_key();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  busy.join();
}
#endif

}  // namespace
}  // namespace sluice
