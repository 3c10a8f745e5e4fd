#include "src/device/recent_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::detail {

void RecentKernels::note_name(const sluice_kernel* kernel, std::string_view name) {
  const std::lock_guard lock(mutex_);
  names_.emplace(kernel, name);
}

void RecentKernels::note_launch(const sluice_kernel* kernel, std::string_view operation) {
  const std::lock_guard lock(mutex_);
  launches_[count_++ % launches_.size()] = {kernel, operation};
}

std::string RecentKernels::text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (std::uint64_t i = count_ - std::min<std::uint64_t>(count_, launches_.size()); i < count_; ++i) {
    const Launch& launch = launches_[i % launches_.size()];
    const auto name = names_.find(launch.kernel);
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name == names_.end() ? "a kernel" : name->second,
                        launch.operation);
  }
  return text;
}

}  // namespace sluice::detail
