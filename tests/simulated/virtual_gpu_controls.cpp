#include "tests/simulated/virtual_gpu_controls.h"

#include <stdexcept>

#include "tests/simulated/virtual_backend.hpp"
#include "tests/simulated/virtual_driver.hpp"

using virtual_gpu::Driver;

void virtual_gpu_read_counters(virtual_gpu_counters* counters) {
  const virtual_gpu::Counters& now = Driver::get().counters;
  *counters = {};
  for (std::size_t k = 0; k < now.calls.size(); ++k) counters->all += counters->calls[k] = now.calls[k];
  counters->traps = now.traps;
  counters->overlaps = now.overlaps;
  counters->host_reads = now.host_reads;
  counters->host_read_bytes = now.host_read_bytes;
}

void virtual_gpu_reset_counters(void) {
  virtual_gpu::Counters& now = Driver::get().counters;
  for (auto& count : now.calls) count = 0;
  now.traps = 0;
  now.overlaps = 0;
  now.host_reads = 0;
  now.host_read_bytes = 0;
}

uint64_t virtual_gpu_traps(void) { return Driver::get().counters.traps; }

int32_t virtual_gpu_set_faults(const char* plan) {
  try {
    std::optional<virtual_gpu::FaultPlan> parsed;
    if (plan != nullptr) parsed = virtual_gpu::parse_faults(plan);
    Driver& driver = Driver::get();
    const std::lock_guard lock(driver.mutex);
    driver.set_plan(parsed);
    return 0;
  } catch (const std::invalid_argument&) {
    return 1;
  }
}

int32_t virtual_gpu_get_current(void) { return virtual_gpu::current_device(); }

void virtual_gpu_set_current(int32_t number) { virtual_gpu::current_device() = number; }

void virtual_gpu_live(uint32_t number, uint64_t* blocks, uint64_t* bytes) {
  Driver& driver = Driver::get();
  const std::lock_guard lock(driver.mutex);
  *blocks = number < driver.devices.size() ? driver.devices[number]->live_blocks() : 0;
  *bytes = number < driver.devices.size() ? driver.devices[number]->live_bytes() : 0;
}

uint64_t virtual_gpu_pending(uint32_t number) {
  Driver& driver = Driver::get();
  const std::lock_guard lock(driver.mutex);
  return number < driver.devices.size() ? driver.devices[number]->pending() : 0;
}

uint32_t virtual_gpu_enabled(void) { return virtual_gpu::enabled_libraries(); }
