#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/gemm_reference.hpp"
#include "tests/processes.hpp"

namespace sluice {
namespace {

using namespace testing;  // NOLINT

// Large enough for oneDNN, and cut into uneven panels.
const Case kLarge{.m = 1390, .n = 1530, .k = 260, .padding = 2};

TEST(GemmOneDnn, SmallProductsNeverOpenOneDnn) {  // first: the products below may open it
  if (std::string(onednn_status()).find("not opened") == std::string::npos) GTEST_SKIP() << "already opened";
  for (const std::int64_t size : {1, 16, 64, 200, 600}) result_of<F32>({.m = size, .n = size, .k = size});
  result_of<F32>({.m = 64, .n = 64, .k = 64, .batch = 100});
  EXPECT_NE(std::string(onednn_status()).find("not opened"), std::string::npos) << onednn_status();
}

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
  for (const auto& [i, j] : {std::pair{0, 0}, {1389, 1529}, {17, 300}}) {
    EXPECT_EQ(problem.c()[static_cast<std::size_t>(i + j * 1392)], static_cast<float>(problem.sum(0, i, j)));
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
  return exit_code_of_child([&] { return same_bits(Problem<F32>(kLarge, small_whole).run(), expected); });
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
}  // namespace sluice
