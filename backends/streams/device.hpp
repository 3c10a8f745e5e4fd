// One device: its context, its two streams, its memory and its copies.
//
// What the host queues goes to the compute stream in order. Only copies to the host go to the copy stream, so that
// kernels run meanwhile; each starts after what was queued before it, and what is queued after it waits for it if it
// touches the same memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backends/streams/events.hpp"
#include "backends/streams/staging.hpp"
#include "backends/streams/vendor.hpp"

namespace sluice::streams {

/// `bytes` bytes from `offset` on in a block of device memory.
struct Range {
  sluice_memory memory;
  std::uint64_t offset, bytes;
};

/// Everything but the constructor needs the device's context to be current, and throws Failure. Calls come one at a
/// time, except read and wait.
class Device {
 public:
  explicit Device(DeviceNumber number);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  DeviceNumber number() const noexcept { return number_; }
  Context context() const noexcept { return context_; }
  Stream stream() const noexcept { return compute_; }

  sluice_memory alloc(std::uint64_t bytes);
  void free(sluice_memory memory);
  std::uint64_t free_bytes();
  void* alloc_host(std::uint64_t bytes);
  void free_host(void* memory);
  sluice_memory wrap(DevicePointer address, std::uint64_t bytes);
  DevicePointer address(sluice_memory memory) { return find(memory).address; }

  void write(const Range& to, const void* from);
  void read(const Range& from, void* to);
  sluice_ticket write_async(const Range& to, const void* from);
  sluice_ticket read_async(const Range& from, void* to);
  void wait(sluice_ticket ticket) { tickets_.wait(ticket); }
  void copy(const Range& to, const Range& from);
  void copy_from(Device& source, const Range& to, const Range& from);
  void sync();

  /// The address of what work on the compute stream is about to use, which waits for copies to the host of it.
  DevicePointer use(const Range& range);
  /// The same for a block from `offset` to its end.
  DevicePointer use_rest(sluice_memory memory, std::uint64_t offset);

 private:
  struct Block {
    DevicePointer address;
    std::uint64_t bytes;
    bool is_owned;
  };
  /// A copy to the host that may still run.
  struct PendingRead {
    DevicePointer begin, end;
    SharedEvent event;
  };

  Block find(sluice_memory memory);
  DevicePointer locate(const Range& range);
  void wait_for_reads(DevicePointer begin, DevicePointer end);
  void copy_through_host(Device& source, const Range& to, const Range& from);
  void start_read(DevicePointer from, void* to, std::uint64_t bytes);
  void release_buried();
  void release_buried_if_idle();

  DeviceNumber number_;
  Context context_;
  Stream compute_ = nullptr, copy_ = nullptr;
  std::unique_ptr<Staging> staging_;
  Tickets tickets_;
  std::vector<PendingRead> reads_;
  // Freed by the host. The driver's own free waits for the device, so it comes when there is nothing to wait for, or
  // when memory is short.
  std::vector<DevicePointer> buried_;
  std::uint64_t buried_bytes_ = 0;
  std::unordered_set<void*> host_blocks_;

  std::mutex lock_;  // of what is below
  std::unordered_map<sluice_memory, Block> blocks_;
  sluice_memory last_wrapped_ = 0;
};

}  // namespace sluice::streams

/// What the interface shows of a device.
struct sluice_device final : sluice::streams::Device {
  using sluice::streams::Device::Device;
};
