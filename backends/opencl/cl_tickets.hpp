// The points of a queue that somebody may wait for: numbers in place of OpenCL's events. Events of tickets that nobody
// waits for are released while others are added, as soon as they have passed.
#pragma once

#include <map>
#include <mutex>

#include "backends/opencl/cl_handle.hpp"
#include "sluice/backend.h"

namespace sluice::opencl {

class Tickets {
 public:
  /// A ticket for the event, which is taken over.
  sluice_ticket add(Event event);
  /// Waits until the queue has passed the ticket, and throws Failure with what went wrong at it. Any thread.
  void wait(sluice_ticket ticket);

 private:
  void forget_passed();

  std::mutex lock_;
  std::map<sluice_ticket, Event> open_;
  sluice_ticket last_ = 0;
  std::size_t sweep_at_ = 64;
};

}  // namespace sluice::opencl
