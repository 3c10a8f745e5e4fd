// Helpers for tests of readers that are given files meant to harm them.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <chrono>
#include <functional>
#include <string>

#include "processes.hpp"
#include "sluice/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define SLUICE_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLUICE_TEST_ASAN 1
#endif
#endif

namespace sluice::tests {

/// The message of the FileError that `body` throws; "" if it throws none. Any other exception is a failed test.
template <class Body>
std::string verdict_on(Body body) {
  try {
    body();
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

/// The most memory that this process has had, in KiB.
inline long peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Runs `body` on a thread with a stack of 256 KiB (a sanitizer's frames are larger: 1 MiB) and expects it to take less
/// than a second (ten under a sanitizer) and, unless there is a sanitizer, to raise the peak of memory by less than 64
/// MiB.
inline void expect_frugal(const std::function<void()>& body) {
#ifdef SLUICE_TEST_ASAN
  constexpr bool kSanitized = true;
#else
  constexpr bool kSanitized = testing::kThreadSanitizer;
#endif
  const long memory = peak_memory();
  const auto start = std::chrono::steady_clock::now();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (kSanitized ? 1024 : 256) << 10);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  std::function<void()> copy = body;
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &copy), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), kSanitized ? 10 : 1);
  EXPECT_TRUE(kSanitized || peak_memory() - memory < 64 << 10) << peak_memory() - memory << " KiB";
}

}  // namespace sluice::tests
