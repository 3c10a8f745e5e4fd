// One OpenCL device with a context and an in-order queue of its own, its memory and its copies.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "backends/opencl/cl_driver.hpp"
#include "backends/opencl/cl_handle.hpp"
#include "backends/opencl/cl_info.hpp"
#include "backends/opencl/cl_tickets.hpp"
#include "sluice/backend.h"

namespace sluice::opencl {

/// `bytes` bytes from `offset` on in a block of device memory.
struct Range {
  sluice_memory memory;
  std::uint64_t offset, bytes;
};

/// Everything throws Failure. Calls come one at a time, except read and wait; what makes kernels uses only what never
/// changes, and comes at any time.
class Device {
 public:
  explicit Device(const FoundDevice& found);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  cl_device_id id() const noexcept { return id_; }
  cl_context context() const noexcept { return context_.get(); }
  cl_command_queue queue() const noexcept { return queue_; }
  const DeviceLimits& limits() const noexcept { return limits_; }
  /// Throws Failure where the driver could not make kernels, if it would end the process over that.
  void check_compiler() const;

  /// OpenCL promises memory that it does not have and says so at the first use, or never: a processor's driver does not
  /// count at all. So the limits are kept here.
  sluice_memory alloc(std::uint64_t bytes);
  void free(sluice_memory memory);
  std::uint64_t free_bytes();
  void* alloc_host(std::uint64_t bytes);
  void free_host(void* memory);

  void write(const Range& to, const void* from);
  void read(const Range& from, void* to);
  sluice_ticket write_async(const Range& to, const void* from);
  sluice_ticket read_async(const Range& from, void* to);
  void wait(sluice_ticket ticket) { tickets_.wait(ticket); }
  void copy(const Range& to, const Range& from);
  /// Through memory that the host sees. SLUICE_UNSUPPORTED unless this is the memory of `source` itself: then the
  /// host's own way, which overlaps reading with writing, is quicker.
  void copy_from(Device& source, const Range& to, const Range& from);
  void sync();

  /// Sends off what is queued, so that it runs while the host goes on.
  void flush();
  /// The buffer of a block that is there, or a Failure.
  cl_mem buffer_of(sluice_memory memory);

 private:
  void check_room(std::uint64_t bytes);
  void make_real(cl_mem buffer);
  cl_mem buffer_of(const Range& range);

  cl_device_id id_;
  DeviceLimits limits_;
  bool needs_linker_;
  Context context_;
  cl_command_queue queue_ = nullptr;
  Tickets tickets_;

  std::mutex lock_;  // of what is below
  std::unordered_map<sluice_memory, std::uint64_t> blocks_;
  std::uint64_t used_bytes_ = 0;
  std::unordered_map<void*, Buffer> host_blocks_;
};

}  // namespace sluice::opencl

/// What the interface shows of a device.
struct sluice_device final : sluice::opencl::Device {
  using sluice::opencl::Device::Device;
};
