#include "backends/metal/metal_queue.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "backends/common/failure.hpp"

namespace sluice::metal {
namespace {

using plugin::Failure;

// Handing over a command buffer costs as much as recording many commands.
constexpr std::size_t kBatch = 32;

/// "scale, sluice_copy": each name once, in the order of first use.
std::string list(const std::vector<const char*>& operations) {
  std::vector<std::string_view> names;
  std::string text;
  for (const std::string_view name : operations) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    text += (names.empty() ? "" : ", ") + std::string(name);
    names.push_back(name);
  }
  return text;
}

}  // namespace

CommandQueue::CommandQueue(id device) : device_name_(text_of(send().name(device))), queue_(send().new_queue(device)) {
  if (!queue_) throw Failure(SLUICE_ERROR, device_name_ + " gives no command queue");
}

// ---- Recording.

id CommandQueue::command_buffer() {
  check();
  end_encoding();
  if (!open_) open_ = Reference::to(send().command_buffer(queue_.get()));
  if (!open_) throw Failure(SLUICE_ERROR, device_name_ + " gives no command buffer");
  return open_.get();
}

// The commands of a compute encoder run one after the other, and so do encoders that use the same memory.
id CommandQueue::encoder(Kind kind) {
  check();
  if (kind_ == kind) return encoder_.get();
  const id buffer = command_buffer();
  encoder_ = Reference::to(kind == Kind::compute ? send().compute_encoder(buffer) : send().blit_encoder(buffer));
  if (!encoder_) throw Failure(SLUICE_ERROR, device_name_ + " gives no encoder");
  kind_ = kind;
  return encoder_.get();
}

void CommandQueue::end_encoding() {
  if (encoder_) send().end_encoding(encoder_.get());
  encoder_.reset();
  kind_ = Kind::none;
}

void CommandQueue::recorded(const char* operation) {
  operations_.push_back(operation);
  collect();
  if (in_flight_.empty() || operations_.size() >= kBatch) commit();
}

void CommandQueue::commit() {
  if (!open_) return;
  end_encoding();
  send().commit(open_.get());
  in_flight_.push_back({open_number_++, std::move(open_), std::exchange(operations_, {})});
}

// ---- Waiting.

bool CommandQueue::has_passed(sluice_ticket ticket) {
  collect();
  return ticket < (in_flight_.empty() ? open_number_ : in_flight_.front().number) || (in_flight_.empty() && !open_);
}

Reference CommandQueue::committed(sluice_ticket ticket) {
  if (ticket > open_number_) {
    throw Failure(SLUICE_ERROR, "no ticket " + std::to_string(ticket) + " was given out by this device");
  }
  if (ticket == open_number_) commit();
  for (const InFlight& each : in_flight_) {
    if (each.number == ticket) return Reference::to(each.buffer.get());
  }
  return {};
}

void CommandQueue::finish(sluice_ticket ticket) {
  const Reference buffer = committed(ticket);
  if (buffer) send().wait_until_completed(buffer.get());
  check();
}

void CommandQueue::check() {
  collect();
  if (!failure_.empty()) throw Failure(SLUICE_DEVICE_LOST, failure_);
}

// They end in the order in which they were handed over.
void CommandQueue::collect() {
  while (!in_flight_.empty()) {
    const NSUInteger status = send().status(in_flight_.front().buffer.get());
    if (status < kStatusCompleted) return;
    if (status == kStatusError) note_failure(in_flight_.front());
    in_flight_.pop_front();
  }
}

void CommandQueue::note_failure(const InFlight& failed) {
  if (!failure_.empty()) return;
  failure_ = "a command buffer on " + device_name_ + " failed: " + describe_error(send().error(failed.buffer.get())) +
             "; it held " + list(failed.operations);
}

}  // namespace sluice::metal
