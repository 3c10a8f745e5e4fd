// Memory of devices: how much is in use, and bounds on it. Every device keeps freed blocks and gives them out again;
// nobody has to release anything by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "sluice/device.hpp"

namespace sluice::inline v0 {

/// In bytes. On the CPU the blocks of 64 KiB and more are counted.
struct MemoryStats {
  std::size_t in_use = 0;            ///< held by tensors
  std::size_t cached = 0;            ///< freed by tensors and kept
  std::size_t peak = 0;              ///< the greatest in_use so far
  std::optional<std::size_t> limit;  ///< of in_use and cached together
  std::uint64_t hits = 0;            ///< blocks that came from the cache
  std::uint64_t misses = 0;          ///< blocks that came from the driver
};

SLUICE_API MemoryStats memory_stats(const Device& device = Device());
/// Bounds what is in use and cached on a device together; nothing removes the bound. An allocation that would pass it
/// throws OutOfMemory with what was asked, what is free and the limit; the next smaller one works.
SLUICE_API void set_memory_limit(const Device& device, std::optional<std::size_t> bytes);
/// Gives the kept blocks back to the driver.
SLUICE_API void empty_cache(const Device& device = Device());
/// A line for every device that was used: bytes in use, kept, at most so far, and the limit. See also
/// memory_report(model).
SLUICE_API std::string memory_report();

}  // namespace sluice::inline v0
