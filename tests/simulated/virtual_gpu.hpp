// A stand-in for a vendor's driver and its devices, so that tests see what needs a GPU: memory that is not the host's,
// a current device per thread, work that is done late, contexts that do not survive fork, and failures on demand.
//
// As with the drivers it stands for, calls that name no device work on the calling thread's current device, and some
// leave another device current than they found. Memory and kernels of other devices are refused, and counted as traps.
// Any thread may call; one lock guards everything.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tests/simulated/virtual_gpu_controls.h"
#include "tests/simulated/virtual_settings.hpp"

namespace virtual_gpu {

enum class Code : std::uint8_t { ok, failed, out_of_memory, lost, no_driver, bad_source };

struct [[nodiscard]] Result {
  Code code = Code::ok;
  std::string text;
};

using Address = std::uint64_t;
using Ticket = std::uint64_t;
using KernelNumber = std::uint64_t;

struct Properties {
  int physical;  // number of the device among those plugged in
  Kind kind;
  std::uint64_t memory_bytes;
  std::uint32_t max_group_size, local_bytes;
  bool has_f64;
  std::uint32_t dialect;
  std::string name, architecture, driver, card;
};

struct LaunchArgument {
  Address memory;  // 0: the value
  std::uint64_t offset;
  const void* value;
  std::uint32_t bytes;
};

// ---- Driver and devices.

/// Must come first; may be repeated. Makes device 0 current.
Result initialise();
Result count_devices(int& count);
Result get_current(int& number);
Result set_current(int number);
/// Makes the device usable, and current.
Result open_device(int number);
Result get_properties(Properties& properties);
Result get_native_handle(std::uint64_t& handle);
Result get_free_bytes(std::uint64_t& bytes);

// ---- Memory. Blocks are named by their first address; parts of them by an offset.

Result alloc(std::uint64_t bytes, Address& address);
/// Work that is queued may still use the block.
Result release(Address address);
/// Waits for nothing.
Result alloc_host(std::uint64_t bytes, void*& memory);
/// Waits for all queued work of the current device.
Result release_host(void* memory);
Result wrap(Address address, std::uint64_t bytes, Address& wrapped);
/// Where a block begins, which is what names it.
Result get_address(Address memory, Address& address);

// ---- Queued work. It runs when somebody waits for it.

/// Keeps a copy of the bytes.
Result write(Address to, std::uint64_t offset, const void* from, std::uint64_t bytes);
Result read(Address from, std::uint64_t offset, void* to, std::uint64_t bytes);
/// The host memory must be of alloc_host; it is looked at when the work runs.
Result write_async(Address to, std::uint64_t offset, const void* from, std::uint64_t bytes, Ticket& ticket);
Result read_async(Address from, std::uint64_t offset, void* to, std::uint64_t bytes, Ticket& ticket);
Result wait(Ticket ticket);
Result copy(Address to, std::uint64_t to_offset, Address from, std::uint64_t from_offset, std::uint64_t bytes);
/// From a block of another device to one of the current device.
Result peer_copy(Address to, std::uint64_t to_offset, int from_device, Address from, std::uint64_t from_offset,
                 std::uint64_t bytes);
Result synchronise();

// ---- Kernels of the current device. They live as long as the process.

Result compile(const std::string& text, const std::string& entry, KernelNumber& kernel);
Result get_binary(KernelNumber kernel, std::string& binary);
Result load_binary(const std::string& binary, const std::string& entry, KernelNumber& kernel);
/// The kernel runs as soon as somebody waits for it. It is a trap if its items do not all reach its barriers, or if it
/// writes beside a block that it was given.
Result launch(KernelNumber kernel, std::uint64_t groups, std::uint64_t group_size,
              std::span<const LaunchArgument> arguments);

/// The first call into a vendor's library.
Result call_library();

// ---- For tests; see virtual_gpu_controls.h.

void note_overlap();

}  // namespace virtual_gpu
