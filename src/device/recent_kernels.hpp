// The last kernels that a device was given, for the message about its loss: a driver reports a fault long after the
// launch that made it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sluice/backend.h"

namespace sluice::detail {

class RecentKernels {
 public:
  /// Must come before the first launch of a kernel.
  void note_name(const sluice_kernel* kernel, std::string_view name);
  /// `operation` must be text that lives for ever.
  void note_launch(const sluice_kernel* kernel, std::string_view operation);

  /// "sluice_map (map), sluice_reduce (sum)", the last of at most 8 last; empty if there was none.
  std::string text() const;

 private:
  struct Launch {
    const sluice_kernel* kernel = nullptr;
    std::string_view operation;
  };

  mutable std::mutex mutex_;
  std::unordered_map<const sluice_kernel*, std::string> names_;
  std::array<Launch, 8> launches_;
  std::uint64_t count_ = 0;
};

}  // namespace sluice::detail
