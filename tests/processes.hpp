// Helpers of tests that count threads or fork.
#pragma once

#include <filesystem>

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

namespace sluice::testing {

#ifdef SLUICE_TEST_TSAN
inline constexpr bool kThreadSanitizer = true;  // it runs a thread of its own and lets no forked child start one
#else
inline constexpr bool kThreadSanitizer = false;
#endif

#if defined(__linux__)
inline int threads_of_process() {
  int count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}
#endif

#if defined(__unix__) || defined(__APPLE__)
/// The exit code of a forked child, which is what `body` returns there; -1 if it was killed or hung for a minute.
template <class Body>
int child_code(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    if (kThreadSanitizer) detail::set_num_threads(1);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The same: 0 if `body` returns true there.
template <class Body>
int exit_code_of_child(Body body) {
  return child_code([&] { return body() ? 0 : 1; });
}
#endif

}  // namespace sluice::testing
