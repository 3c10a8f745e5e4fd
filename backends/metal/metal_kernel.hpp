// Kernels of one device. Metal keeps what it compiled on disk itself, so there are no binaries here.
#pragma once

#include <string>
#include <vector>

#include "backends/metal/metal_device.hpp"
#include "backends/metal/metal_library.hpp"
#include "sluice/backend.h"

namespace sluice::metal {

/// Everything needs a pool and throws Failure. Lives as long as the process.
class LoadedKernel {
 public:
  LoadedKernel(Device& device, const sluice_source& source);

  /// Queues the kernel on `device`, which must be the one it was made for.
  void launch(Device& device, const sluice_launch& launch);

 private:
  void check_shape(const sluice_launch& launch) const;
  void check_arguments(const sluice_launch& launch) const;
  [[noreturn]] void refuse(sluice_status status, std::uint32_t index, const std::string& text) const;

  Device& device_;
  std::string name_;
  std::vector<Parameter> parameters_;
  Reference pipeline_;
  std::uint64_t group_size_;
};

}  // namespace sluice::metal

/// What the interface shows of a kernel.
struct sluice_kernel final : sluice::metal::LoadedKernel {
  using sluice::metal::LoadedKernel::LoadedKernel;
};
