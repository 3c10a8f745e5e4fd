// Memory of a device: a cache of freed blocks over the device's own (slow) allocation calls. One class for all devices,
// the CPU included. Fresh memory is what costs most, page faults on a CPU and a driver call elsewhere, so freed blocks
// are kept and given out again at once.
//
// A block is at most 12.5 % larger than what was asked. The cache gives blocks back to the device when it would hold
// more than one and a half times the greatest use so far, when the limit is reached, and when the device has no more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "src/device/device_impl.hpp"

namespace sluice::detail {

/// False under AddressSanitizer, which sees an overrun only if every block comes from malloc and ends where it should.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kCachesMemory = false;
#elif defined(__has_feature)
inline constexpr bool kCachesMemory = !__has_feature(address_sanitizer);
#else
inline constexpr bool kCachesMemory = true;
#endif

/// Hands out blocks; any thread may call anything. Caches nothing unless kCachesMemory.
class CachingAllocator {
 public:
  static constexpr std::size_t kNoLimit = SIZE_MAX;

  /// The device's own calls. They are made under the allocator's lock and must not throw.
  struct Source {
    std::function<void*(std::size_t bytes)> allocate;  ///< null when there is no more
    std::function<void(void* handle, std::size_t bytes)> free;
    std::function<std::size_t()> free_bytes = {};  ///< what the device has left, for messages; may be empty
  };

  /// A piece of memory; `size` is what it really has.
  struct Block {
    void* handle;
    std::size_t size;
    Block* next;
  };

  struct Stats {
    std::size_t in_use = 0;  ///< bytes of the blocks given out
    std::size_t cached = 0;  ///< bytes of the blocks kept
    std::size_t peak = 0;    ///< greatest in_use so far
    std::size_t limit = kNoLimit;
    std::uint64_t hits = 0;    ///< blocks that came from the cache
    std::uint64_t misses = 0;  ///< blocks that came from the device
  };

  /// `device` is how messages call it.
  CachingAllocator(std::string device, Source source);
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;
  ~CachingAllocator();

  /// A block of at least `bytes`. Throws OutOfMemory with what was asked, what is in use and the limit, after the cache
  /// has been emptied in vain.
  Block* allocate(std::size_t bytes);
  void free(Block* block) noexcept;
  /// For a block of a device that is gone: frees what describes it, takes no lock and makes no call.
  static void forget(Block* block) noexcept { delete block; }
  /// Gives all kept blocks back to the device.
  void empty_cache() noexcept;
  /// Bounds what is in use and cached together. Blocks in use stay, even if they are more.
  void set_limit(std::size_t bytes);
  Stats stats() const;

  /// Held while the process forks by allocators that live for ever (hold_during_fork).
  std::mutex& mutex() { return mutex_; }

 private:
  static constexpr std::size_t kClasses = 512;  // eight for every power of two

  Block* take_cached(std::size_t bytes, std::size_t size_class);
  Block* allocate_fresh(std::size_t size);
  void shrink_to(std::size_t held) noexcept;
  [[noreturn]] void throw_out_of_memory(std::size_t bytes) const;

  const std::string device_;
  const Source source_;
  mutable std::mutex mutex_;
  Stats stats_;
  std::array<Block*, kClasses> cache_{};
};

/// A block of host memory, aligned to 64 bytes, with one reference. Throws OutOfMemory.
Storage* allocate_host(DeviceImpl* device, std::size_t bytes);
/// Host memory that somebody else owns; free_host calls `release` and leaves it alone.
Storage* wrap_host(DeviceImpl* device, void* memory, std::size_t bytes, std::function<void()> release);
void free_host(Storage* storage) noexcept;
/// Keeps the large blocks of host memory; the small ones are malloc's affair.
CachingAllocator& host_allocator();

}  // namespace sluice::detail
