#include "src/device/fork_safe.hpp"

#include <array>
#include <cassert>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define SLUICE_HAS_FORK 1
#endif

namespace sluice::detail {

#ifdef SLUICE_HAS_FORK
namespace {

// Constant-initialised and never destroyed: a fork may come at any moment.
constinit std::mutex registry_mutex;
constinit std::array<std::mutex*, 32> registry{};
constinit std::size_t registered = 0;

void before_fork() {
  registry_mutex.lock();
  for (std::size_t i = 0; i < registered; ++i) registry[i]->lock();
}

void after_fork() {
  for (std::size_t i = registered; i > 0; --i) registry[i - 1]->unlock();
  registry_mutex.unlock();
}

}  // namespace

void watch_forks() { [[maybe_unused]] static const int watched = pthread_atfork(before_fork, after_fork, after_fork); }

void hold_during_fork(std::mutex& mutex) {
  watch_forks();
  const std::lock_guard lock(registry_mutex);
  assert(registered < registry.size());
  registry[registered++] = &mutex;
}
#else
void watch_forks() {}
void hold_during_fork(std::mutex&) {}
#endif

}  // namespace sluice::detail
