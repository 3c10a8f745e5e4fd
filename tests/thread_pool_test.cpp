#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "src/device/thread_pool.hpp"
#include "tests/processes.hpp"

namespace sluice {
namespace {

using namespace detail;   // NOLINT
using namespace testing;  // NOLINT

// Sets the limit for one test and waits until the surplus workers of the test before it have ended.
class Threads {
 public:
  explicit Threads(int n) : before_(num_threads()) {
    set_num_threads(n);
    while (worker_count() > n - 1) std::this_thread::yield();
  }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

std::vector<int> visits(std::int64_t n, std::int64_t grain) {
  std::vector<std::atomic<int>> counts(static_cast<std::size_t>(n));
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) counts[static_cast<std::size_t>(i)].fetch_add(1);
  });
  return {counts.begin(), counts.end()};
}

void expect_each_once(std::int64_t n, std::int64_t grain) {
  const auto counts = visits(n, grain);
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 1), n) << "n = " << n << ", grain = " << grain;
}

void busy_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(ThreadPool, VisitsEveryIndexOnce) {
  for (const int limit : {1, 2, 3, 8}) {
    const Threads threads(limit);
    for (const std::int64_t n : {0, 1, 2, 3, 7, 64, 1000, 4097}) {
      for (const std::int64_t grain : {0, 1, 2, 5, 64, 5000}) expect_each_once(n, grain);
    }
  }
}

TEST(ThreadPool, RangesKeepTheGrain) {
  const Threads threads(4);
  std::mutex mutex;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  parallel_for(1000, 64, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    ranges.emplace_back(begin, end);
  });
  EXPECT_GT(ranges.size(), 1u);
  for (const auto& [begin, end] : ranges) EXPECT_TRUE(end - begin >= 64 || end == 1000) << begin << " to " << end;
}

TEST(ThreadPool, SmallWorkStaysOnTheCaller) {
  const Threads threads(4);
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  parallel_for(10, 10, [&](std::int64_t begin, std::int64_t end) {
    ++calls;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 10);
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
  EXPECT_EQ(calls, 1);
}

TEST(ThreadPool, SeveralThreadsTakePart) {
  const Threads threads(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int attempt = 0; attempt < 50 && seen.size() < 3; ++attempt) {
    parallel_for(100, 1, [&](std::int64_t, std::int64_t) {
      {
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen.count(std::this_thread::get_id()));
}

TEST(ThreadPool, NestedLoopsRunOnTheirOwnThread) {
  const Threads threads(4);
  std::atomic<int> elsewhere{0};
  std::atomic<int> total{0};
  parallel_for(16, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto here = std::this_thread::get_id();
      parallel_for(100, 1, [&](std::int64_t first, std::int64_t last) {
        if (std::this_thread::get_id() != here) elsewhere.fetch_add(1);
        total.fetch_add(static_cast<int>(last - first));
      });
    }
  });
  EXPECT_EQ(total.load(), 1600);
  EXPECT_EQ(elsewhere.load(), 0);
}

TEST(ThreadPool, ExceptionsReachTheCaller) {
  for (const int limit : {1, 4}) {
    const Threads threads(limit);
    for (int round = 0; round < 20; ++round) {
      try {
        parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
          if (begin <= 57 && 57 < end) throw std::out_of_range("index 57");
        });
        FAIL() << "nothing was thrown";
      } catch (const std::out_of_range& error) {
        EXPECT_STREQ(error.what(), "index 57");
      }
    }
    expect_each_once(1000, 1);
  }
}

TEST(ThreadPool, ManyCallersShareTheWorkers) {
  const Threads threads(2);
  std::atomic<bool> wrong{false};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<std::int64_t> sum{0};
        parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) sum.fetch_add(i);
        });
        if (sum.load() != 4950 || worker_count() > 1) wrong = true;
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_FALSE(wrong.load());
}

#if defined(__linux__)
TEST(ThreadPool, EightCallersMakeNoMoreThanOneWorker) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer adds a thread";
  const Threads threads(2);
  parallel_for(2, 1, [](std::int64_t, std::int64_t) {});
  for (int wait = 0; wait < 1000 && threads_of_process() > 2; ++wait) busy_for(std::chrono::milliseconds(1));
  std::atomic<int> most{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        parallel_for(64, 1, [&](std::int64_t, std::int64_t) { busy_for(std::chrono::microseconds(10)); });
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

TEST(ThreadPool, TheLimitCanChangeWhileLoopsRun) {
  const Threads threads(4);
  std::atomic<bool> stop{false};
  std::thread changer([&] {
    for (int n = 1; !stop; n = n % 5 + 1) {
      set_num_threads(n);
      busy_for(std::chrono::microseconds(50));
    }
  });
  for (int round = 0; round < 500; ++round) expect_each_once(256, 1);
  stop = true;
  changer.join();
  set_num_threads(1);
  for (int wait = 0; wait < 2000 && worker_count() > 0; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(worker_count(), 0);
}

TEST(ThreadPool, LimitsOutOfRangeAreClamped) {
  const Threads threads(4);
  set_num_threads(1 << 20);
  EXPECT_EQ(num_threads(), kMaxThreads);
  set_num_threads(0);
  EXPECT_GE(num_threads(), 1);
  set_num_threads(-5);
  EXPECT_GE(num_threads(), 1);
}

#if defined(__unix__) || defined(__APPLE__)
TEST(ThreadPool, TheEnvironmentSetsTheDefaultAndJunkIsIgnored) {
  const Threads threads(2);
  const auto limit_with = [](const char* text) {
    setenv("SLUICE_NUM_THREADS", text, 1);
    set_num_threads(0);
    unsetenv("SLUICE_NUM_THREADS");
    return num_threads();
  };
  unsetenv("SLUICE_NUM_THREADS");
  set_num_threads(0);
  const int cores = num_threads();
  EXPECT_EQ(limit_with("3"), 3);
  EXPECT_EQ(limit_with("1"), 1);
  for (const char* junk :
       {"", "0", "-1", "+3", " 3", "3 ", "3x", "many", "0x10", "1e3", "99999", "99999999999999999999"}) {
    EXPECT_EQ(limit_with(junk), cores) << "SLUICE_NUM_THREADS='" << junk << "'";
  }
}

TEST(ThreadPool, AForkedChildGetsItsOwnPool) {
  const Threads threads(3);
  expect_each_once(1000, 1);
  const int code = exit_code_of_child([] {
    const auto counts = visits(1000, 1);
    return std::count(counts.begin(), counts.end(), 1) == 1000;
  });
  EXPECT_EQ(code, 0);
  expect_each_once(1000, 1);
}

TEST(ThreadPool, AForkWhileOthersComputeDoesNotHang) {
  const Threads threads(3);
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      while (!stop) parallel_for(64, 1, [](std::int64_t, std::int64_t) { busy_for(std::chrono::microseconds(2)); });
    });
  }
  for (int round = 0; round < 20; ++round) {
    const int code = exit_code_of_child([] {
      std::atomic<std::int64_t> sum{0};
      parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t end) { sum.fetch_add(end - begin); });
      return sum.load() == 1000;
    });
    EXPECT_EQ(code, 0);
  }
  stop = true;
  for (auto& caller : callers) caller.join();
}

TEST(ThreadPool, ABodyMayForkAndItsChildMayCompute) {
  const Threads threads(2);
  std::atomic<int> code{-2};
  parallel_for(2, 1, [&](std::int64_t begin, std::int64_t) {
    if (begin != 0) return busy_for(std::chrono::milliseconds(5));
    code = exit_code_of_child([] {
      std::atomic<std::int64_t> sum{0};
      parallel_for(100, 1, [&](std::int64_t first, std::int64_t last) { sum.fetch_add(last - first); });
      return sum.load() == 100;
    });
  });
  EXPECT_EQ(code.load(), 0);
}

TEST(ThreadPool, AChildThatComesBackOutOfABodyDoesNotHang) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer does not survive this";
  const Threads threads(2);
  for (int round = 0; round < 5; ++round) {
    const pid_t parent = getpid();
    std::atomic<pid_t> child{0};
    try {
      parallel_for(2, 1, [&](std::int64_t begin, std::int64_t) {
        if (begin != 0) return busy_for(std::chrono::milliseconds(5));
        busy_for(std::chrono::milliseconds(1));  // by now the worker is inside as well
        child = fork();
        if (child == 0) alarm(20);
      });
      if (getpid() != parent) _exit(1);
    } catch (const std::runtime_error&) {
      _exit(getpid() != parent ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << "the child was killed by signal " << WTERMSIG(status);
  }
}
#endif

}  // namespace
}  // namespace sluice
