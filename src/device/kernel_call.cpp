#include "src/device/kernel_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "sluice/error.hpp"

namespace sluice::detail {
namespace {

constexpr std::int64_t kMaxGroups = 4096;

// Metal binds at most 31 buffers, OpenCL promises 1024 bytes of arguments, CUDA 4096.
constexpr std::size_t kMaxArguments = 31;
constexpr std::size_t kMaxArgumentBytes = 1024;

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

void KernelCall::add(const Storage& block) {
  arguments_.push_back({reinterpret_cast<sluice_memory>(block.data), 0, nullptr, 0, 0});
}

void KernelCall::require_room(std::string_view operation, KernelValues& values) const {
  const std::size_t count = arguments_.size() + 1;
  const std::size_t bytes = values.bytes().size() + 8 * arguments_.size();
  if (count <= kMaxArguments && bytes <= kMaxArgumentBytes) return;
  throw Unsupported(
      fmt::format("{}: {} tensors and {} bytes of arguments are too many for a kernel, which takes {} and "
                  "{}; split the function",
                  operation, arguments_.size(), bytes, kMaxArguments - 1, kMaxArgumentBytes));
}

void KernelCall::launch(sluice_kernel* kernel, std::uint32_t groups, KernelValues& values, std::uint32_t group_size) {
  const std::span<const std::byte> bytes = values.bytes();
  std::vector<sluice_argument> arguments = arguments_;
  arguments.push_back({0, 0, bytes.data(), static_cast<std::uint32_t>(bytes.size()), 0});
  device_.launch(kernel, groups, group_size != 0 ? group_size : kernel_target(device_).group_size, arguments);
}

}  // namespace sluice::detail
