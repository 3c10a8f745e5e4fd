#include "src/device/process_state.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace sluice::detail {
namespace {

constinit std::atomic<int> generation{0};
constinit std::atomic<bool> exiting{false};
constinit thread_local bool exits_here = false;

void note_exit() {
  exits_here = true;
  exiting = true;
}

#if defined(__unix__) || defined(__APPLE__)
// At load, so that no fork goes unseen.
[[maybe_unused]] const int kWatched = pthread_atfork(nullptr, nullptr, [] { ++generation; });
#endif

}  // namespace

int fork_generation() noexcept { return generation; }

bool is_exiting() noexcept { return exiting; }

bool is_exiting_thread() noexcept { return exits_here; }

// One handler for each call: handlers run in reverse order, and the last driver opened registers its own last.
void watch_process() { std::atexit(note_exit); }

void wait_for_end() noexcept {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace sluice::detail
