#include "tests/simulated/virtual_device.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

namespace virtual_gpu {
namespace {

constexpr std::uint64_t kAlignment = 256;
constexpr std::uint64_t kGuardBytes = 1024;  // on each side of an allocation
// The queue keeps copies of what `write` was given, and freed blocks. Nobody may be made to wait by this; it only keeps
// the process small.
constexpr std::uint64_t kMostHeldBytes = std::uint64_t{64} << 20;
constexpr std::size_t kLongestQueue = 4096;

std::uint64_t round_up(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

bool Block::mend_guards() const {
  bool is_whole = true;
  const auto mend = [&](std::span<std::byte> guard) {
    const auto is_guard = [](std::byte byte) { return byte == std::byte{VIRTUAL_GPU_GUARD_BYTE}; };
    if (std::all_of(guard.begin(), guard.end(), is_guard)) return;
    is_whole = false;
    std::fill(guard.begin(), guard.end(), std::byte{VIRTUAL_GPU_GUARD_BYTE});
  };
  const std::span<std::byte> all(*storage);
  mend(all.first(kGuardBytes));
  mend(all.last(kGuardBytes));
  return !is_whole;
}

// No pointer of a 64-bit machine begins like this, so an address that is used as one is a crash.
Device::Device(int number, int physical, const Settings& settings)
    : physical_(physical),
      memory_bytes_(settings.memory_bytes),
      has_poison_(settings.has_poison),
      end_((Address{0xDE00} + static_cast<Address>(number)) << 48) {}

// A gap between blocks keeps an address that ran out of its block from being another's.
Address Device::next_address(std::uint64_t bytes) {
  end_ += kAlignment;
  return std::exchange(end_, end_ + round_up(bytes));
}

Result Device::alloc(std::uint64_t bytes, Address& address) {
  if (bytes == 0) return {Code::failed, "a block of 0 bytes was asked for"};
  const std::string sizes = std::to_string(bytes) + " bytes asked, " + std::to_string(free_bytes()) + " free";
  if (bytes > memory_bytes_ || round_up(bytes) > free_bytes()) return {Code::out_of_memory, sizes};
  Block block;
  try {
    block.storage =
        std::make_shared<std::vector<std::byte>>(bytes + 2 * kGuardBytes, std::byte{VIRTUAL_GPU_GUARD_BYTE});
  } catch (const std::bad_alloc&) {
    return {Code::out_of_memory, sizes + ", but not in this process"};
  }
  block.begin = kGuardBytes;
  block.bytes = bytes;
  std::fill_n(block.at(0), bytes, has_poison_ ? std::byte{VIRTUAL_GPU_FRESH_BYTE} : std::byte{0});
  address = next_address(bytes);
  blocks_.emplace(address, std::move(block));
  ++live_blocks_;
  live_bytes_ += round_up(bytes);
  return {};
}

Result Device::wrap(Address address, std::uint64_t bytes, Address& wrapped) {
  auto place = blocks_.upper_bound(address);
  if (bytes > 0 && place != blocks_.begin()) {
    const auto& [begin, block] = *--place;
    const std::uint64_t offset = address - begin;
    if (offset < block.bytes && bytes <= block.bytes - offset) {
      Block part{block.storage, block.begin + offset, bytes, true};
      wrapped = next_address(bytes);
      blocks_.emplace(wrapped, std::move(part));
      return {};
    }
  }
  return {Code::failed, "these are no " + std::to_string(bytes) + " bytes of this device's memory"};
}

bool Device::release(Address address, Ticket ticket) {
  const auto place = blocks_.find(address);
  if (place == blocks_.end()) return false;
  Block block = std::move(place->second);
  blocks_.erase(place);
  if (block.is_wrapped) return true;
  --live_blocks_;
  live_bytes_ -= round_up(block.bytes);
  const std::uint64_t bytes = block.bytes;
  enqueue(ticket, bytes, [block = std::move(block), this]() -> std::string {
    if (has_poison_) std::fill_n(block.at(0), block.bytes, std::byte{VIRTUAL_GPU_FREED_BYTE});
    return {};
  });
  if (queue_.size() == 1) run_all();
  return true;
}

const Block* Device::find(Address address) const {
  const auto place = blocks_.find(address);
  return place == blocks_.end() ? nullptr : &place->second;
}

void Device::enqueue(Ticket ticket, std::uint64_t held_bytes, Work work, Device* partner) {
  queue_.push_back({ticket, held_bytes, std::move(work), partner});
  held_bytes_ += held_bytes;
  if (partner == nullptr && (held_bytes_ > kMostHeldBytes || queue_.size() > kLongestQueue)) run_all();
}

void Device::pop() {
  held_bytes_ -= queue_.front().held_bytes;
  queue_.pop_front();
}

void Device::run_until(Ticket last) {
  while (!queue_.empty() && queue_.front().ticket <= last) {
    const Item item = std::move(queue_.front());
    pop();
    if (item.partner != nullptr) {
      item.partner->run_until(item.ticket - 1);
      std::deque<Item>& other = item.partner->queue_;
      if (!other.empty() && other.front().ticket == item.ticket) item.partner->pop();
    }
    if (std::string problem = item.work(); !problem.empty() && problem_.empty()) problem_ = std::move(problem);
  }
}

std::string Device::take_problem() { return std::exchange(problem_, {}); }

void Device::lose() {
  is_lost = true;
  queue_.clear();
  held_bytes_ = 0;
}

}  // namespace virtual_gpu
