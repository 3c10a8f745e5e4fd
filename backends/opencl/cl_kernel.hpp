// Kernels of one device: compiled from text or taken from a binary, and launched.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "backends/opencl/cl_device.hpp"
#include "backends/opencl/cl_handle.hpp"
#include "sluice/backend.h"

namespace sluice::opencl {

/// What is known of a kernel's parameter.
struct Parameter {
  enum class Place : std::uint8_t { unknown, memory, value } place = Place::unknown;
  std::size_t bytes = 0;  ///< of a value, 0 if unknown
  std::string type;
};

/// A kernel that fits its device. Everything throws Failure.
class LoadedKernel {
 public:
  LoadedKernel(Device& device, Program program, const char* entry);

  /// The compiled program in a form that load_binary() knows again.
  std::string binary() const;
  /// Queues the kernel on `device`, which must be the one it was made for.
  void launch(Device& device, const sluice_launch& launch);

 private:
  void check_limits();
  void check_group(const sluice_launch& launch) const;
  void set_argument(cl_uint index, const sluice_argument& argument);

  Device& device_;
  Program program_;
  Kernel kernel_;
  std::string name_;
  std::size_t group_size_ = 0;
  std::vector<Parameter> parameters_;
  std::mutex lock_;  // of the arguments, which are a state of the kernel
};

/// Compiles text. SLUICE_BAD_SOURCE with the compiler's log where the text is at fault.
Program compile(Device& device, const sluice_source& source);
/// Takes up what binary() gave, on the same kind of device with the same driver.
Program load_binary(Device& device, const void* binary, std::uint64_t bytes);

}  // namespace sluice::opencl

/// What the interface shows of a kernel.
struct sluice_kernel final : sluice::opencl::LoadedKernel {
  using sluice::opencl::LoadedKernel::LoadedKernel;
};
