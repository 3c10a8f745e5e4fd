// The compiled kernels of one device, by what decides their text. A key is made for every call, a text only for a
// kernel that is not there yet.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>

#include "sluice/backend.h"

namespace sluice::detail {

class KernelCache {
 public:
  /// The kernel of this key, made by `compile` at the first call. Two threads may make the same one at once; the first
  /// is kept.
  sluice_kernel* get(const std::string& key, const std::function<sluice_kernel*()>& compile) {
    if (sluice_kernel* const known = find(key)) return known;
    sluice_kernel* const made = compile();
    ++made_;
    const std::lock_guard lock(mutex_);
    return kernels_.emplace(key, made).first->second;
  }

  /// How many times a kernel was made.
  std::size_t made() const { return made_; }

 private:
  sluice_kernel* find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(key);
    return found == kernels_.end() ? nullptr : found->second;
  }

  std::atomic<std::size_t> made_{0};
  std::mutex mutex_;
  std::unordered_map<std::string, sluice_kernel*> kernels_;
};

}  // namespace sluice::detail
