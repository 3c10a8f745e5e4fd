// One device of a virtual GPU: its memory and its queue. Not safe for threads; the driver holds a lock around it.
//
// Queued work runs as late as it may: when somebody waits for it, never earlier. So a host that reuses a source before
// the queue has passed the ticket, or that reads before it waits, sees wrong bytes at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulated/virtual_gpu.hpp"
#include "tests/simulated/virtual_settings.hpp"

namespace virtual_gpu {

/// A part of device memory. Work that uses it keeps it alive.
struct Block {
  std::shared_ptr<std::vector<std::byte>> storage;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  bool is_wrapped = false;

  std::byte* at(std::uint64_t offset) const { return storage->data() + begin + offset; }
  /// Whether anything has written around the allocation; makes the guards whole again.
  bool mend_guards() const;
};

/// Returns what went wrong, empty if nothing did.
using Work = std::function<std::string()>;

class Device {
 public:
  /// The number as the process sees it, and as it is plugged in.
  Device(int number, int physical, const Settings& settings);

  int physical() const { return physical_; }
  bool is_open = false;
  bool is_lost = false;

  // ---- Memory. Addresses look like pointers and point nowhere.

  Result alloc(std::uint64_t bytes, Address& address);
  /// A second name for a part of a block; the address may lie inside it.
  Result wrap(Address address, std::uint64_t bytes, Address& wrapped);
  /// Forgets a block at once and fills it when the queue has passed; false if there is none.
  bool release(Address address, Ticket ticket);
  /// Null if no block begins there.
  const Block* find(Address address) const;

  std::uint64_t live_blocks() const { return live_blocks_; }
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t free_bytes() const { return memory_bytes_ - live_bytes_; }

  // ---- The queue. Tickets grow over all devices.

  /// Work with a partner runs after what both queues hold before it; it must be queued on both.
  void enqueue(Ticket ticket, std::uint64_t held_bytes, Work work, Device* partner = nullptr);
  /// Runs all work up to a ticket.
  void run_until(Ticket last);
  void run_all() { run_until(~Ticket{0}); }
  std::uint64_t pending() const { return queue_.size(); }
  /// The first problem of queued work since the last question, empty if there was none.
  std::string take_problem();
  void lose();

 private:
  struct Item {
    Ticket ticket;
    std::uint64_t held_bytes;
    Work work;
    Device* partner;
  };

  Address next_address(std::uint64_t bytes);
  void pop();

  const int physical_;
  const std::uint64_t memory_bytes_;
  const bool has_poison_;
  Address end_;  // of the addresses given out
  std::map<Address, Block> blocks_;
  std::uint64_t live_blocks_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::deque<Item> queue_;
  std::uint64_t held_bytes_ = 0;  // by the queue
  std::string problem_;
};

}  // namespace virtual_gpu
