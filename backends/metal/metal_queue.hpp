// Commands on their way to a device. They are recorded into a command buffer, which is handed over when it has grown,
// when the device has nothing else to do, or when somebody waits.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "backends/metal/metal_api.hpp"
#include "sluice/backend.h"

namespace sluice::metal {

/// Not safe for threads, Device has the lock. Needs a pool. Everything that records throws Failure once a command
/// buffer has failed: what later ones computed from it would be wrong. A ticket is the number of a command buffer.
class CommandQueue {
 public:
  explicit CommandQueue(id device);

  /// An encoder of the open command buffer, to record one command with; then comes recorded().
  id compute_encoder() { return encoder(Kind::compute); }
  id blit_encoder() { return encoder(Kind::blit); }
  /// The open command buffer itself, for a library that brings its own encoders.
  id command_buffer();
  /// The ticket of what is recorded now.
  sluice_ticket ticket() const noexcept { return open_number_; }
  /// Says what the last command was; the name lives as long as the process.
  void recorded(const char* operation);
  void commit();

  /// Whether the device is done with a ticket.
  bool has_passed(sluice_ticket ticket);
  /// The command buffer of a ticket, handed over, to wait for without the lock; none if it has passed.
  Reference committed(sluice_ticket ticket);
  /// Waits, with the lock held.
  void finish(sluice_ticket ticket);
  /// Throws Failure if a command buffer has failed.
  void check();

 private:
  enum class Kind : unsigned char { none, compute, blit };
  struct InFlight {
    sluice_ticket number;
    Reference buffer;
    std::vector<const char*> operations;
  };

  id encoder(Kind kind);
  void end_encoding();
  void collect();
  void note_failure(const InFlight& failed);

  std::string device_name_;
  Reference queue_;
  Reference open_, encoder_;
  Kind kind_ = Kind::none;
  sluice_ticket open_number_ = 1;
  std::vector<const char*> operations_;  // in the open command buffer
  std::deque<InFlight> in_flight_;
  std::string failure_;
};

}  // namespace sluice::metal
