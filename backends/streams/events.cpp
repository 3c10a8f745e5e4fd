#include "backends/streams/events.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::streams {

SharedEvent record(Stream stream) {
  Event made = nullptr;
  api().create_event(&made, kEventWithoutTime);
  SharedEvent event(made, [](Event each) { api().destroy_event.raw(each); });
  api().record_event(made, stream);
  return event;
}

bool has_passed(const SharedEvent& event) { return api().query_event.raw(event.get()) == kSuccess; }

void wait_on_stream(Stream stream, const SharedEvent& event) { api().wait_for_event(stream, event.get(), 0); }

// Sweeping at twice what is left keeps the cost small.
sluice_ticket Tickets::add(SharedEvent event) {
  const std::lock_guard guard(lock_);
  if (open_.size() >= sweep_at_) {
    std::erase_if(open_, [](const auto& entry) { return has_passed(entry.second); });
    sweep_at_ = std::max<std::size_t>(64, 2 * open_.size());
  }
  open_.emplace(++last_, std::move(event));
  return last_;
}

void Tickets::wait(sluice_ticket ticket) {
  SharedEvent event;
  {
    const std::lock_guard guard(lock_);
    if (ticket == 0 || ticket > last_) {
      throw plugin::Failure(SLUICE_ERROR, "no ticket " + std::to_string(ticket) + " was given out by this device");
    }
    const auto found = open_.find(ticket);
    if (found == open_.end()) return;
    event = found->second;
  }
  api().synchronize_event(event.get());
  const std::lock_guard guard(lock_);
  open_.erase(ticket);
}

}  // namespace sluice::streams
