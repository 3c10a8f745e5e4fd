// Kernels of one device: compiled from text or taken from a binary, and launched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/streams/device.hpp"

namespace sluice::streams {

/// Needs the device's context to be current; throws Failure. Lives as long as the process.
class LoadedKernel {
 public:
  /// `image` is what compile_text() gave.
  LoadedKernel(Device& device, std::string image, const char* entry);

  Device& device() const noexcept { return device_; }
  /// The image in a form that unpack_binary() knows again.
  std::string binary() const;
  /// Queues the kernel on `device`, which must be the one it was made for.
  void launch(Device& device, const sluice_launch& launch);

 private:
  void check_shape(const sluice_launch& launch) const;
  void check_argument(std::uint32_t index, const sluice_argument& argument) const;

  Device& device_;
  std::string image_;
  std::string name_;
  KernelHandle kernel_ = nullptr;
  std::uint64_t group_size_ = 0;
  std::optional<std::vector<std::size_t>> parameters_;  // bytes of each, if known
};

/// The image in a binary that a kernel of such a device gave.
std::string unpack_binary(DeviceNumber device, const void* binary, std::uint64_t bytes);

}  // namespace sluice::streams

/// What the interface shows of a kernel.
struct sluice_kernel final : sluice::streams::LoadedKernel {
  using sluice::streams::LoadedKernel::LoadedKernel;
};
