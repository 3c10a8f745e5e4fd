// What lives as long as the process, as devices and their kernels do: the interface of a backend has no way to close
// them.
#pragma once

#include <mutex>
#include <vector>

namespace sluice::tests {

/// Remembers p, so that a search for leaks finds it.
template <class T>
T* kept(T* p) {
  static auto& lock = *new std::mutex;
  static auto& all = *new std::vector<const void*>;
  const std::lock_guard hold(lock);
  all.push_back(p);
  return p;
}

}  // namespace sluice::tests
