// One Metal device: its memory, its copies, and the lock around its queue.
//
// Where host and device share memory, blocks are shared and the host copies into and out of them itself, unless
// commands on their way use the block; else they are private to the device and copies go through shared memory. A block
// that is freed while a command buffer uses it lives until that is done, because the command buffer counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

#include "backends/metal/metal_queue.hpp"
#include "sluice/backend.h"

namespace sluice::metal {

/// `bytes` bytes from `offset` on in a block of device memory.
struct Range {
  sluice_memory memory;
  std::uint64_t offset, bytes;
};

/// Everything needs a pool and throws Failure. Any thread.
class Device {
 public:
  explicit Device(id device);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  id handle() const noexcept { return device_; }

  sluice_memory alloc(std::uint64_t bytes);
  void free(sluice_memory memory);
  std::uint64_t free_bytes() const;
  void* alloc_host(std::uint64_t bytes);
  void free_host(void* memory);

  void write(const Range& to, const void* from);
  void read(const Range& from, void* to);
  sluice_ticket write_async(const Range& to, const void* from);
  sluice_ticket read_async(const Range& from, void* to);
  void wait(sluice_ticket ticket);
  void copy(const Range& to, const Range& from);
  void sync();

  /// For those who record commands themselves: holds the lock as long as it lives.
  class Recording {
   public:
    explicit Recording(Device& device) : device_(device), guard_(device.lock_) {}
    CommandQueue& queue() const noexcept { return device_.queue_; }
    /// The buffer of a block that the command being recorded uses. Throws unless the range is inside of it.
    id use(const Range& range) const { return device_.use(range); }

   private:
    Device& device_;
    std::unique_lock<std::mutex> guard_;
  };

 private:
  struct Block {
    Reference buffer;
    std::uint64_t bytes;
    sluice_ticket last_use = 0;
  };
  /// A place in a buffer.
  struct Place {
    id buffer;
    std::uint64_t offset;
  };

  Reference make_buffer(std::uint64_t bytes, NSUInteger storage);
  void check_room(std::uint64_t bytes) const;
  Block& find(const Range& range);
  id use(const Range& range);
  Place host_place(const void* memory, std::uint64_t bytes);
  id copy_pipeline();
  void record_copy(Place to, Place from, std::uint64_t bytes);
  void record_byte_copy(Place to, Place from, std::uint64_t bytes);
  void write_through(const Range& to, const std::byte* from);
  void read_part(const Range& from, std::byte* to);
  void finish(std::unique_lock<std::mutex>& guard, sluice_ticket ticket);

  id device_;
  const bool is_unified_;
  std::mutex lock_;  // of what is below
  CommandQueue queue_;
  std::unordered_map<sluice_memory, Block> blocks_;
  std::map<const std::byte*, Block> host_blocks_;
  Reference copy_pipeline_;
};

}  // namespace sluice::metal

/// What the interface shows of a device.
struct sluice_device final : sluice::metal::Device {
  using sluice::metal::Device::Device;
};
