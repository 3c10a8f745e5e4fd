#include "backends/opencl/cl_tickets.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "backends/opencl/cl_error.hpp"

namespace sluice::opencl {
namespace {

/// Negative: the error it ended with.
cl_int state_of(cl_event event) {
  cl_int state = kComplete;
  check(api().clGetEventInfo(event, kEventCommandExecutionStatus, sizeof state, &state, nullptr), "clGetEventInfo");
  return state;
}

}  // namespace

sluice_ticket Tickets::add(Event event) {
  const std::lock_guard guard(lock_);
  if (open_.size() >= sweep_at_) forget_passed();
  open_.emplace(++last_, std::move(event));
  return last_;
}

// One that failed stays, so that who waits for it hears of it. Sweeping at twice what is left keeps the cost small.
void Tickets::forget_passed() {
  std::erase_if(open_, [](const auto& entry) { return state_of(entry.second.get()) == kComplete; });
  sweep_at_ = std::max<std::size_t>(64, 2 * open_.size());
}

void Tickets::wait(sluice_ticket ticket) {
  Event event;
  {
    const std::lock_guard guard(lock_);
    if (ticket == 0 || ticket > last_) {
      throw plugin::Failure(SLUICE_ERROR, "no ticket " + std::to_string(ticket) + " was given out by this device");
    }
    const auto found = open_.find(ticket);
    if (found == open_.end()) return;
    check(api().clRetainEvent(found->second.get()), "clRetainEvent");
    event.reset(found->second.get());
  }
  cl_event waited = event.get();
  const cl_int code = api().clWaitForEvents(1, &waited);
  const cl_int state = code == kExecStatusErrorForEventsInWaitList ? state_of(waited) : kComplete;
  {
    const std::lock_guard guard(lock_);
    open_.erase(ticket);
  }
  if (state < 0) check(state, "a queued copy");
  check(code, "clWaitForEvents");
}

}  // namespace sluice::opencl
