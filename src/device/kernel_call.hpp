// One launch of a kernel: its blocks of memory in order, then its struct of numbers.
#pragma once

#include <array>
#include <string>

#include "src/device/kernel_text.hpp"
#include "src/device/kernel_values.hpp"
#include "src/device/plugin_device.hpp"
#include "src/device/program_split.hpp"

namespace sluice::detail {

/// How kernels are written for a device.
KernelTarget kernel_target(const PluginDevice& device);

/// Whether a walk over `space` needs 64-bit indices, offsets aside.
bool needs_wide_index(const Shape& space, std::span<const Operand> operands);

inline constexpr std::size_t kMostBlocks = 30;

/// What a kernel takes whose tensors are walked along `rank` dimensions: Metal binds at most 31 buffers, one of them
/// the numbers; OpenCL promises 1024 bytes of arguments, CUDA 4096.
KernelRoom kernel_room(int rank, bool is_wide);

/// Groups for so many items of a kernel that goes on in steps of all its items.
std::uint32_t groups_for(std::int64_t items);

/// Makes a key of bytes: put(key, rank) and so on.
template <class T>
void put(std::string& key, const T& value) {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): of a pointer the address is what tells keys apart
  key.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

class KernelCall {
 public:
  explicit KernelCall(PluginDevice& device) : device_(device) {}
  void add(const Storage& block);
  void add(const Operand& operand) { add(*operand.storage); }
  /// A group has `group_size` items, 0: as many as kernels have on this device.
  void launch(sluice_kernel* kernel, std::uint32_t groups, KernelValues& values, std::uint32_t group_size = 0);

 private:
  PluginDevice& device_;
  std::size_t count_ = 0;
  std::array<sluice_argument, kMostBlocks + 1> arguments_{};
};

/// A block of a device's memory that goes with the scope. Work that is queued may still use it: memory is used again
/// in the order of the queue.
class DeviceScratch {
 public:
  DeviceScratch(DeviceImpl& device, std::size_t bytes) : device_(device), storage_(device.allocate(bytes)) {}
  ~DeviceScratch() { device_.free(storage_); }
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;
  Storage& operator*() const { return *storage_; }
  /// The block as a dense tensor.
  Operand dense(DType dtype, const Shape& space) const;

 private:
  DeviceImpl& device_;
  Storage* storage_;
};

}  // namespace sluice::detail
