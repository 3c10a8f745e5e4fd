// Events as values that release themselves, and the points of a queue that somebody may wait for: numbers in their
// place.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <type_traits>

#include "backends/streams/vendor.hpp"

namespace sluice::streams {

using SharedEvent = std::shared_ptr<std::remove_pointer_t<Event>>;

/// An event of the current context, recorded on a stream of it: passed when all that is queued there now has run.
SharedEvent record(Stream stream);
bool has_passed(const SharedEvent& event);
/// What is queued on the stream from now on runs after the event.
void wait_on_stream(Stream stream, const SharedEvent& event);

/// Events of tickets that nobody waits for are released while others are added, as soon as they have passed.
class Tickets {
 public:
  sluice_ticket add(SharedEvent event);
  /// Waits until the queue has passed the ticket. Any thread.
  void wait(sluice_ticket ticket);

 private:
  std::mutex lock_;
  std::map<sluice_ticket, SharedEvent> open_;
  sluice_ticket last_ = 0;
  std::size_t sweep_at_ = 64;
};

}  // namespace sluice::streams
