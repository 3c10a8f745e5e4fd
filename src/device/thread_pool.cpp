#include "src/device/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define SLUICE_HAS_FORK 1
#endif

namespace sluice::detail {
namespace {

// The state word tells sleeping workers everything: 12 bits that change with every job, 10 bits of places still open in
// it, 10 bits of workers inside it. A worker enters by one compare-and-swap, and only while a place is open; so a late
// worker can never touch a job that its caller has closed.
constexpr std::uint32_t kActiveOne = 1;
constexpr std::uint32_t kActiveMask = 0x3ff;
constexpr std::uint32_t kPlaceOne = kActiveMask + 1;
constexpr std::uint32_t kPlaceMask = kActiveMask * kPlaceOne;
constexpr std::uint32_t kJobOne = (kPlaceMask | kActiveMask) + 1;
constexpr std::uint32_t kJobMask = ~(kPlaceMask | kActiveMask);
static_assert(kMaxThreads <= static_cast<int>(kActiveMask));

constexpr std::int64_t kChunksPerThread = 4;
constexpr auto kSpinTime = std::chrono::microseconds(10);

std::atomic<int> thread_limit{0};  // 0: not decided yet
std::atomic<unsigned> forks{0};

inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins for kSpinTime in all; says when it is time to sleep instead.
class Spinner {
 public:
  bool spin() noexcept {
    if (asleep_) return false;
    for (int i = 0; i < 16; ++i) cpu_relax();
    const auto now = std::chrono::steady_clock::now();
    if (!end_) end_ = now + kSpinTime;
    asleep_ = now >= *end_;
    return !asleep_;
  }

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
  bool asleep_ = false;
};

int default_threads() noexcept {
  if (const char* text = std::getenv("SLUICE_NUM_THREADS")) {
    int value = 0;
    const char* end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, value);
    if (error == std::errc() && stop == end && value >= 1 && value <= kMaxThreads) return value;
  }
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
}

// Keeps the program's signal handlers off the workers; faults and profiling stay with the thread that causes them.
class SignalsBlocked {
 public:
#ifdef SLUICE_HAS_FORK
  SignalsBlocked() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF}) sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
#endif
};

class Pool {
 public:
  // Whoever gets true is the only one to use the pool until run() returns.
  bool try_own() noexcept { return !owned_.load(std::memory_order_relaxed) && !owned_.exchange(true); }

  // Runs [begin, end) with up to `helpers` workers, gives the pool back, and rethrows the first exception.
  void run(std::int64_t begin, std::int64_t end, std::int64_t chunk, RangeBody body, int helpers);

  // Makes the workers look at the limit again.
  void wake_all() noexcept {
    state_.fetch_add(kJobOne, std::memory_order_acq_rel);
    state_.notify_all();
  }

  int workers() const noexcept { return workers_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    RangeBody body;
    std::int64_t end;
    std::int64_t chunk;
  };

  void start_workers(int wanted) noexcept;
  void worker() noexcept;
  bool retire() noexcept;
  void take_chunks() noexcept;
  void leave() noexcept;
  void wait_for_helpers(unsigned forks_before);

  std::atomic<bool> owned_{false};
  std::atomic<int> workers_{0};
  alignas(64) std::atomic<std::uint32_t> state_{0};
  std::atomic<std::uint32_t> finished_{0};  // counts jobs left by their last worker; the caller sleeps on it
  alignas(64) std::atomic<std::int64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::optional<Job> job_;  // written by the owner while nobody is inside
  std::exception_ptr error_;
};

std::atomic<Pool*> current_pool{nullptr};

void Pool::run(std::int64_t begin, std::int64_t end, std::int64_t chunk, RangeBody body, int helpers) {
  const unsigned forks_before = forks.load(std::memory_order_relaxed);
  start_workers(helpers);
  job_.emplace(Job{body, end, chunk});
  next_.store(begin, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  state_.fetch_add(kJobOne + static_cast<std::uint32_t>(helpers) * kPlaceOne, std::memory_order_acq_rel);
  if (helpers >= workers()) {
    state_.notify_all();
  } else {
    for (int i = 0; i < helpers; ++i) state_.notify_one();
  }
  take_chunks();
  state_.fetch_and(~kPlaceMask, std::memory_order_acq_rel);
  wait_for_helpers(forks_before);
  const std::exception_ptr error = std::exchange(error_, nullptr);
  owned_.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

void Pool::wait_for_helpers(unsigned forks_before) {
  Spinner spinner;
  for (;;) {
    // The helpers of a body that forked exist in the parent only.
    if (forks.load(std::memory_order_relaxed) != forks_before) {
      throw std::runtime_error("parallel_for: the body forked and its child came back; end the child inside the body");
    }
    const std::uint32_t finished = finished_.load(std::memory_order_acquire);
    if ((state_.load(std::memory_order_acquire) & kActiveMask) == 0) return;
    if (!spinner.spin()) finished_.wait(finished, std::memory_order_acquire);
  }
}

void Pool::take_chunks() noexcept {
  const Job& job = *job_;
  for (;;) {
    const std::int64_t begin = next_.fetch_add(job.chunk, std::memory_order_relaxed);
    if (begin >= job.end) return;
    try {
      job.body(begin, std::min(begin + job.chunk, job.end));
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
      next_.store(job.end, std::memory_order_relaxed);
    }
  }
}

void Pool::leave() noexcept {
  const std::uint32_t before = state_.fetch_sub(kActiveOne, std::memory_order_acq_rel);
  if ((before & (kActiveMask | kPlaceMask)) != kActiveOne) return;
  finished_.fetch_add(1, std::memory_order_release);
  finished_.notify_all();
}

void Pool::start_workers(int wanted) noexcept {
  while (workers_.load(std::memory_order_relaxed) < wanted) {
    workers_.fetch_add(1, std::memory_order_relaxed);
    try {
      const SignalsBlocked blocked;
      std::thread([this] { worker(); }).detach();
    } catch (...) {
      workers_.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
  }
}

bool Pool::retire() noexcept {
  int alive = workers_.load(std::memory_order_relaxed);
  while (alive > num_threads() - 1) {
    if (workers_.compare_exchange_weak(alive, alive - 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void Pool::worker() noexcept {
  const unsigned forks_at_start = forks.load(std::memory_order_relaxed);
  std::uint32_t last_job = 1;  // no job has this number: numbers are multiples of kJobOne
  for (;;) {
    Spinner spinner;
    std::uint32_t state = state_.load(std::memory_order_acquire);
    while ((state & kPlaceMask) == 0 || (state & kJobMask) == last_job) {
      if (retire()) return;
      if (!spinner.spin()) state_.wait(state, std::memory_order_acquire);
      state = state_.load(std::memory_order_acquire);
    }
    if (!state_.compare_exchange_strong(state, state - kPlaceOne + kActiveOne, std::memory_order_acq_rel)) continue;
    last_job = state & kJobMask;
    take_chunks();
    // A body forked here and its child came back, in a process that has this thread alone and no caller to tell.
    if (forks.load(std::memory_order_relaxed) != forks_at_start) std::_Exit(EXIT_FAILURE);
    leave();
  }
}

#ifdef SLUICE_HAS_FORK
// The child has none of the workers, and the old pool may have been in use: it is abandoned, not repaired.
void after_fork_in_child() noexcept {
  forks.fetch_add(1, std::memory_order_relaxed);
  current_pool.store(nullptr, std::memory_order_release);
}
#endif

// No lock and no function-local static: a fork at any moment must leave the child able to come through here.
Pool& pool() {
  Pool* existing = current_pool.load(std::memory_order_acquire);
  if (existing) return *existing;
#ifdef SLUICE_HAS_FORK
  static std::atomic<bool> watching{false};
  if (!watching.exchange(true)) pthread_atfork(nullptr, nullptr, after_fork_in_child);
#endif
  Pool* fresh = new Pool;  // leaked: workers may outlive every static object
  if (current_pool.compare_exchange_strong(existing, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;
  return *existing;
}

}  // namespace

void parallel_for(std::int64_t n, std::int64_t grain, RangeBody body) {
  if (n <= 0) return;
  const std::int64_t threads = num_threads();
  if (n <= grain || threads == 1) return body(0, n);
  const std::int64_t chunk = std::max({grain, std::int64_t{1}, n / (kChunksPerThread * threads)});
  Pool& shared = pool();
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t chunks = (n - done + chunk - 1) / chunk;
    if (chunks > 1 && shared.try_own()) {
      return shared.run(done, n, chunk, body, static_cast<int>(std::min(threads, chunks) - 1));
    }
    const std::int64_t end = std::min(done + chunk, n);
    body(done, end);
    done = end;
  }
}

int num_threads() noexcept {
  int limit = thread_limit.load(std::memory_order_relaxed);
  if (limit > 0) return limit;
  const int chosen = default_threads();
  return thread_limit.compare_exchange_strong(limit, chosen, std::memory_order_relaxed) ? chosen : limit;
}

void set_num_threads(int n) noexcept {
  thread_limit.store(n < 1 ? default_threads() : std::min(n, kMaxThreads), std::memory_order_relaxed);
  if (Pool* existing = current_pool.load(std::memory_order_acquire)) existing->wake_all();
}

int worker_count() noexcept {
  const Pool* existing = current_pool.load(std::memory_order_acquire);
  return existing ? existing->workers() : 0;
}

}  // namespace sluice::detail
