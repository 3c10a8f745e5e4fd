// The state of a virtual GPU's driver, and what every call has in common: it is counted, fails after a fork or at exit,
// takes the lock, and gets the fault that the plan has for it.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/simulated/virtual_device.hpp"
#include "tests/simulated/virtual_gpu.hpp"
#include "tests/simulated/virtual_kernels.hpp"

namespace virtual_gpu {

struct Counters {
  std::array<std::atomic<std::uint64_t>, VIRTUAL_GPU_CALLS> calls{};
  std::atomic<std::uint64_t> traps{0};
  std::atomic<std::uint64_t> overlaps{0};
  std::atomic<std::uint64_t> host_reads{0};
  std::atomic<std::uint64_t> host_read_bytes{0};
};

struct Faults {
  std::optional<FaultPlan> plan;  // nothing: not asked for yet
  // Calls since the plan was set.
  std::array<std::uint64_t, VIRTUAL_GPU_CALLS> calls{};
  std::uint64_t copies = 0;
  std::uint64_t queued = 0;
  std::uint64_t on_devices = 0;
};

struct Kernel {
  std::string text;
  std::string entry;
  KernelFunction function;
  int device;
};

struct Driver {
  Counters counters;  // the only part that needs no lock
  std::mutex mutex;
  bool is_initialised = false;
  Settings settings;
  Faults faults;
  std::vector<std::unique_ptr<Device>> devices;
  std::map<const std::byte*, std::vector<std::byte>> pinned;
  std::vector<Kernel> kernels;
  Ticket last_ticket = 0;

  /// Lives for ever: threads may call at exit.
  static Driver& get();

  /// The plan, read from the environment if nobody set one. Throws std::invalid_argument if that has an error.
  const FaultPlan& plan();
  void set_plan(std::optional<FaultPlan> plan);

  /// Queues work on a device; its ticket.
  Ticket enqueue(Device& device, std::uint64_t held_bytes, Work work, Device* partner = nullptr);
  /// What went wrong in work that was waited for.
  Result report(Device& device);
  Result trap(std::string text);
  /// A part of a block of a device, or a trap.
  Result find_block(int device, Address address, std::uint64_t offset, std::uint64_t bytes, Block& block);
  /// A trap unless all bytes are of one piece of pinned memory.
  Result check_pinned(const void* memory, std::uint64_t bytes);
};

/// The calling thread's current device.
int& current_device();
/// The failure of every call in a process that was forked after the driver was initialised, and at exit.
Result check_process();
/// Notes that this process uses the driver, and undoes that.
void claim_process();
void disclaim_process();

/// Counts a call that comes from outside.
void count_call(int call);
/// The fault that the plan has for this call, of the kind that is not about devices.
Result planned_failure(Driver& driver, int call);
/// The same for a call that a device is to carry out.
Result planned_loss(Driver& driver, Device& device);

/// A call that needs no device.
template <class Body>
Result run_call(int call, Body body) {
  count_call(call);
  if (Result failure = check_process(); failure.code != Code::ok) return failure;
  Driver& driver = Driver::get();
  const std::lock_guard lock(driver.mutex);
  if (!driver.is_initialised) return {Code::failed, "the driver is not initialised"};
  if (Result failure = planned_failure(driver, call); failure.code != Code::ok) return failure;
  return body(driver);
}

/// A call for the current device.
template <class Body>
Result run_on_current(int call, Body body) {
  count_call(call);
  if (Result failure = check_process(); failure.code != Code::ok) return failure;
  Driver& driver = Driver::get();
  const std::lock_guard lock(driver.mutex);
  const int number = current_device();
  if (number < 0 || static_cast<std::size_t>(number) >= driver.devices.size()) {
    return {Code::failed, "the current device, " + std::to_string(number) + ", does not exist"};
  }
  Device& device = *driver.devices[static_cast<std::size_t>(number)];
  if (call != VIRTUAL_GPU_OPEN && !device.is_open) return {Code::failed, "the current device is not open"};
  if (Result failure = planned_loss(driver, device); failure.code != Code::ok) return failure;
  if (Result failure = planned_failure(driver, call); failure.code != Code::ok) return failure;
  return body(driver, device);
}

}  // namespace virtual_gpu
