#include "tests/simulated/virtual_driver.hpp"

#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace virtual_gpu {
namespace {

std::atomic<pid_t> owner{0};
std::atomic<bool> has_shut_down{false};
std::atomic<bool> is_exit_strict{false};

bool is_copy(int call) {
  switch (call) {
    case VIRTUAL_GPU_WRITE:
    case VIRTUAL_GPU_READ:
    case VIRTUAL_GPU_WRITE_ASYNC:
    case VIRTUAL_GPU_READ_ASYNC:
    case VIRTUAL_GPU_COPY:
    case VIRTUAL_GPU_PEER_COPY: return true;
    default: return false;
  }
}

}  // namespace

Driver& Driver::get() {
  static auto* const driver = new Driver;
  return *driver;
}

const FaultPlan& Driver::plan() {
  if (!faults.plan) set_plan(parse_faults(find_setting("FAULTS").value_or("")));
  return *faults.plan;
}

void Driver::set_plan(std::optional<FaultPlan> plan) {
  faults = {};
  faults.plan = plan;
  is_exit_strict = plan && plan->strict_exit != 0;
  for (const auto& device : devices) device->is_lost = false;
}

Ticket Driver::enqueue(Device& device, std::uint64_t held_bytes, Work work, Device* partner) {
  if (++faults.queued == plan().late) {
    work = [] { return std::string("queued work failed on the device (planned)"); };
  }
  const Ticket ticket = ++last_ticket;
  if (partner != nullptr) partner->enqueue(ticket, 0, work, &device);
  device.enqueue(ticket, held_bytes, std::move(work), partner);
  return ticket;
}

Result Driver::report(Device& device) {
  std::string problem = device.take_problem();
  if (problem.empty()) return {};
  return {Code::failed, std::move(problem)};
}

Result Driver::trap(std::string text) {
  ++counters.traps;
  return {Code::failed, "trap: " + std::move(text)};
}

Result Driver::find_block(int device, Address address, std::uint64_t offset, std::uint64_t bytes, Block& block) {
  const std::string which = "device " + std::to_string(device);
  const Block* const found = devices[static_cast<std::size_t>(device)]->find(address);
  if (found != nullptr) {
    if (offset > found->bytes || bytes > found->bytes - offset) {
      return trap(std::to_string(bytes) + " bytes from " + std::to_string(offset) + " leave a block of " +
                  std::to_string(found->bytes));
    }
    block = *found;
    return {};
  }
  for (std::size_t k = 0; k < devices.size(); ++k) {
    if (devices[k]->find(address) != nullptr) return trap(which + " has no access to a block of " + std::to_string(k));
  }
  return trap(which + " has no such block; it was freed, or never was one");
}

Result Driver::check_pinned(const void* memory, std::uint64_t bytes) {
  const auto* const first = static_cast<const std::byte*>(memory);
  auto place = pinned.upper_bound(first);
  if (place != pinned.begin()) {
    --place;
    const auto offset = static_cast<std::uint64_t>(first - place->first);
    const std::uint64_t size = place->second.size();
    if (offset <= size && bytes <= size - offset) return {};
  }
  return trap("the host memory is not pinned");
}

int& current_device() {
  static thread_local int number = 0;
  return number;
}

Result check_process() {
  const pid_t process = owner;
  if (process != 0 && process != getpid()) {
    return {Code::lost, "device lost: this process was forked after the driver was initialised"};
  }
  if (has_shut_down) return {Code::failed, "the driver has shut down"};
  return {};
}

void claim_process() {
  pid_t nobody = 0;
  owner.compare_exchange_strong(nobody, getpid());
  static const int kRegistered = std::atexit([] { has_shut_down = true; });
  static_cast<void>(kRegistered);
}

void disclaim_process() { owner = 0; }

void count_call(int call) {
  if (has_shut_down && is_exit_strict) std::_Exit(VIRTUAL_GPU_EXIT_CODE);
  ++Driver::get().counters.calls[static_cast<std::size_t>(call)];
}

Result planned_failure(Driver& driver, int call) {
  const FaultPlan& plan = driver.plan();
  const auto kind = static_cast<std::size_t>(call);
  const std::uint64_t number = ++driver.faults.calls[kind];
  const bool is_planned = is_copy(call) && ++driver.faults.copies == plan.copy;
  if (!is_planned && number != plan.fails[kind]) return {};
  if (call == VIRTUAL_GPU_ALLOC) return {Code::out_of_memory, "out of memory (planned)"};
  if (call == VIRTUAL_GPU_COMPILE) return {Code::bad_source, "virtual compiler: line 1: error: (planned)"};
  return {Code::failed, "call number " + std::to_string(number) + " of its kind failed (planned)"};
}

Result planned_loss(Driver& driver, Device& device) {
  const FaultPlan& plan = driver.plan();
  const std::uint64_t number = ++driver.faults.on_devices;
  if (number == plan.lost) device.lose();
  if (device.is_lost) return {Code::lost, "the device fell off the bus (planned)"};
  if (number == plan.throws) throw std::runtime_error("the virtual driver threw (planned)");
  return {};
}

}  // namespace virtual_gpu
