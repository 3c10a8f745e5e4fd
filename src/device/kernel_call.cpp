#include "src/device/kernel_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "sluice/error.hpp"

namespace sluice::detail {
namespace {

constexpr std::int64_t kMaxGroups = 4096;

}  // namespace

KernelTarget kernel_target(const PluginDevice& device) {
  return {device.facts().dialect, device.has_f64(), group_size_for(device.facts().max_group_size)};
}

bool needs_wide_index(const Shape& space, std::span<const Operand> operands) {
  // A step over all items must not overflow either.
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 2 * kMaxGroups * kGroupSize;
  if (space.numel() > kMost) return true;
  return std::ranges::any_of(operands, [&](const Operand& operand) {
    std::int64_t reach = 0;
    for (int dim = 0; dim < space.rank(); ++dim) {
      reach += (space[dim] - 1) * std::abs(operand.strides[static_cast<std::size_t>(dim)]);
    }
    return reach > kMost;
  });
}

std::uint32_t groups_for(std::int64_t items) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>((items + kGroupSize - 1) / kGroupSize, 1, kMaxGroups));
}

// An input has an offset and strides, an output an offset, and both a pointer; sizes and a few numbers are common.
KernelRoom kernel_room(int rank, bool is_wide) {
  constexpr std::size_t kBytes = 1024, kCommonBytes = 112;
  const auto dims = static_cast<std::size_t>(rank);
  return {kMostBlocks, kBytes - kCommonBytes - 8 * dims, 16 + dims * (is_wide ? 8 : 4), 16};
}

void KernelCall::add(const Storage& block) {
  if (count_ == kMostBlocks) throw Error("a kernel was given more blocks than it can take");
  arguments_[count_++] = {reinterpret_cast<sluice_memory>(block.data), 0, nullptr, 0, 0};
}

void KernelCall::launch(sluice_kernel* kernel, std::uint32_t groups, KernelValues& values, std::uint32_t group_size) {
  const std::span<const std::byte> bytes = values.bytes();
  arguments_[count_] = {0, 0, bytes.data(), static_cast<std::uint32_t>(bytes.size()), 0};
  device_.launch(kernel, groups, group_size != 0 ? group_size : kernel_target(device_).group_size,
                 std::span(arguments_).first(count_ + 1));
}

Operand DeviceScratch::dense(DType dtype, const Shape& space) const {
  Operand operand{storage_, 0, dtype, {}};
  std::int64_t stride = 1;
  for (int dim = 0; dim < space.rank(); ++dim) {
    operand.strides[static_cast<std::size_t>(dim)] = stride;
    stride *= space[dim];
  }
  return operand;
}

}  // namespace sluice::detail
