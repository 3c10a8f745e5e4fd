#include "backends/metal/metal_device.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "backends/common/failure.hpp"
#include "backends/common/text.hpp"
#include "backends/metal/copy_kernel.hpp"
#include "backends/metal/metal_info.hpp"
#include "backends/metal/metal_library.hpp"

namespace sluice::metal {
namespace {

using plugin::Failure;
using plugin::in_units;

// Copies between buffers are of whole words, so blocks end with one.
constexpr std::uint64_t kWord = 4, kBlockUnit = 16;
constexpr std::uint64_t kPieceBytes = std::uint64_t{16} << 20;
constexpr sluice_ticket kPiecesInFlight = 4;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

std::byte* contents_of(id buffer) { return static_cast<std::byte*>(send().contents(buffer)); }

void require_bytes(std::uint64_t bytes) {
  if (bytes == 0) throw Failure(SLUICE_ERROR, "a block of 0 bytes");
}

}  // namespace

Device::Device(id device) : device_(device), is_unified_(is_unified(device)), queue_(device) {}

// ---- Memory.

std::uint64_t Device::free_bytes() const {
  const std::uint64_t all = send().working_set_bytes(device_), used = send().allocated_bytes(device_);
  return all > used ? all - used : 0;
}

// Metal promises more than there is and then swaps, or fails when the memory is used. So the limits are kept here.
void Device::check_room(std::uint64_t bytes) const {
  const std::uint64_t most = send().most_buffer_bytes(device_);
  if (bytes > most) {
    throw Failure(SLUICE_OUT_OF_MEMORY, "a block of " + in_units(bytes) + " was asked for, and the largest that " +
                                            "Metal gives on this device has " + in_units(most));
  }
  if (bytes <= free_bytes()) return;
  throw Failure(SLUICE_OUT_OF_MEMORY, in_units(bytes) + " were asked for, and " + in_units(free_bytes()) + " of the " +
                                          in_units(send().working_set_bytes(device_)) + " of this device are free");
}

Reference Device::make_buffer(std::uint64_t bytes, NSUInteger storage) {
  // What was freed is given back once the command buffers that use it are done.
  if (bytes > free_bytes()) queue_.finish(queue_.ticket());
  check_room(bytes);
  Reference buffer(send().new_buffer(device_, bytes, storage));
  if (!buffer) throw Failure(SLUICE_OUT_OF_MEMORY, "Metal gives no buffer of " + in_units(bytes));
  return buffer;
}

sluice_memory Device::alloc(std::uint64_t bytes) {
  require_bytes(bytes);
  const std::lock_guard guard(lock_);
  queue_.check();
  Reference buffer = make_buffer(round_up(bytes, kBlockUnit), is_unified_ ? kStorageShared : kStoragePrivate);
  const auto memory = reinterpret_cast<sluice_memory>(buffer.get());
  blocks_.emplace(memory, Block{std::move(buffer), bytes});
  return memory;
}

void Device::free(sluice_memory memory) {
  const std::lock_guard guard(lock_);
  find({memory, 0, 0});
  blocks_.erase(memory);
}

void* Device::alloc_host(std::uint64_t bytes) {
  require_bytes(bytes);
  const std::lock_guard guard(lock_);
  Reference buffer = make_buffer(round_up(bytes, kBlockUnit), kStorageShared);
  std::byte* const memory = contents_of(buffer.get());
  host_blocks_.emplace(memory, Block{std::move(buffer), bytes});
  return memory;
}

void Device::free_host(void* memory) {
  const std::lock_guard guard(lock_);
  const auto found = host_blocks_.find(static_cast<const std::byte*>(memory));
  if (found == host_blocks_.end()) throw Failure(SLUICE_ERROR, "free_host: not host memory of this device");
  const sluice_ticket last_use = found->second.last_use;
  const Block block = std::move(found->second);
  host_blocks_.erase(found);
  queue_.finish(last_use);
}

Device::Block& Device::find(const Range& range) {
  const auto found = blocks_.find(range.memory);
  if (found == blocks_.end()) throw Failure(SLUICE_ERROR, "not a block of this device, or one that was freed");
  const std::uint64_t bytes = found->second.bytes;
  if (range.offset > bytes || range.bytes > bytes - range.offset) {
    throw Failure(SLUICE_ERROR, std::to_string(range.bytes) + " bytes at " + std::to_string(range.offset) +
                                    " are outside of a block of " + std::to_string(bytes));
  }
  return found->second;
}

id Device::use(const Range& range) {
  Block& block = find(range);
  block.last_use = queue_.ticket();
  return block.buffer.get();
}

Device::Place Device::host_place(const void* memory, std::uint64_t bytes) {
  const auto* const first = static_cast<const std::byte*>(memory);
  auto found = host_blocks_.upper_bound(first);
  if (found != host_blocks_.begin()) {
    Block& block = (--found)->second;
    const auto offset = static_cast<std::uint64_t>(first - found->first);
    if (offset <= block.bytes && bytes <= block.bytes - offset) {
      block.last_use = queue_.ticket();
      return {block.buffer.get(), offset};
    }
  }
  throw Failure(SLUICE_ERROR, "these " + std::to_string(bytes) + " bytes are not host memory of this device");
}

// ---- Copies that the device makes.

void Device::record_copy(Place to, Place from, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (to.offset % kWord != 0 || from.offset % kWord != 0 || bytes % kWord != 0) {
    return record_byte_copy(to, from, bytes);
  }
  send().copy(queue_.blit_encoder(), from.buffer, from.offset, to.buffer, to.offset, bytes);
  queue_.recorded("a copy");
}

id Device::copy_pipeline() {
  if (!copy_pipeline_) copy_pipeline_ = make_pipeline(device_, kCopyText, kCopyEntry, nullptr);
  return copy_pipeline_.get();
}

void Device::record_byte_copy(Place to, Place from, std::uint64_t bytes) {
  const CopyValues values{to.offset, from.offset, bytes};
  const id pipeline = copy_pipeline();
  const id encoder = queue_.compute_encoder();
  send().set_pipeline(encoder, pipeline);
  send().set_buffer(encoder, to.buffer, 0, 0);
  send().set_buffer(encoder, from.buffer, 0, 1);
  send().set_bytes(encoder, &values, sizeof values, 2);
  const std::uint64_t groups = std::clamp<std::uint64_t>(bytes / kCopyGroup, 1, kCopyMostGroups);
  send().dispatch(encoder, {groups, 1, 1}, {kCopyGroup, 1, 1});
  queue_.recorded(kCopyEntry);
}

void Device::copy(const Range& to, const Range& from) {
  const std::lock_guard guard(lock_);
  find(to);
  const id source = use(from);
  record_copy({use(to), to.offset}, {source, from.offset}, to.bytes);
}

sluice_ticket Device::write_async(const Range& to, const void* from) {
  const std::lock_guard guard(lock_);
  find(to);
  const Place source = host_place(from, to.bytes);
  const sluice_ticket ticket = queue_.ticket();
  record_copy({use(to), to.offset}, source, to.bytes);
  queue_.commit();
  return ticket;
}

sluice_ticket Device::read_async(const Range& from, void* to) {
  const std::lock_guard guard(lock_);
  find(from);
  const Place target = host_place(to, from.bytes);
  const sluice_ticket ticket = queue_.ticket();
  record_copy(target, {use(from), from.offset}, from.bytes);
  queue_.commit();
  return ticket;
}

// ---- Copies that the host makes, or sees the end of.

void Device::write(const Range& to, const void* from) {
  const std::lock_guard guard(lock_);
  queue_.check();
  const Block& block = find(to);
  if (to.bytes == 0) return;
  if (is_unified_ && queue_.has_passed(block.last_use)) {
    std::memcpy(contents_of(block.buffer.get()) + to.offset, from, to.bytes);
    return;
  }
  write_through(to, static_cast<const std::byte*>(from));
}

// In pieces, of which only so many are on their way that the host's memory does not fill with them.
void Device::write_through(const Range& to, const std::byte* from) {
  for (std::uint64_t done = 0; done < to.bytes; done += kPieceBytes) {
    const std::uint64_t bytes = std::min(kPieceBytes, to.bytes - done);
    const Reference piece(send().new_buffer_with_bytes(device_, from + done, bytes, kStorageShared));
    if (!piece) throw Failure(SLUICE_OUT_OF_MEMORY, "Metal gives no buffer of " + in_units(bytes));
    record_copy({use(to), to.offset + done}, {piece.get(), 0}, bytes);
    if (bytes < kPieceBytes) return;
    queue_.commit();
    if (queue_.ticket() > kPiecesInFlight) queue_.finish(queue_.ticket() - kPiecesInFlight);
  }
}

// Work that is queued while this waits is not after it, so it may run at the same time.
void Device::read(const Range& from, void* to) {
  auto* const target = static_cast<std::byte*>(to);
  if (!is_unified_) {
    for (std::uint64_t done = 0; done == 0 || done < from.bytes; done += kPieceBytes) {
      const std::uint64_t bytes = std::min(kPieceBytes, from.bytes - std::min(done, from.bytes));
      read_part({from.memory, from.offset + done, bytes}, target + done);
    }
    return;
  }
  std::unique_lock guard(lock_);
  queue_.check();
  const Block& block = find(from);
  if (from.bytes == 0) return;
  const Reference buffer = Reference::to(block.buffer.get());
  finish(guard, block.last_use);
  guard.unlock();
  std::memcpy(target, contents_of(buffer.get()) + from.offset, from.bytes);
}

// Whole words around the bytes, which may begin and end anywhere.
void Device::read_part(const Range& from, std::byte* to) {
  std::unique_lock guard(lock_);
  find(from);
  if (from.bytes == 0) return;
  const std::uint64_t first = from.offset / kWord * kWord;
  const std::uint64_t bytes = round_up(from.offset + from.bytes, kWord) - first;
  const Reference piece = make_buffer(bytes, kStorageShared);
  const sluice_ticket ticket = queue_.ticket();
  record_copy({piece.get(), 0}, {use(from), first}, bytes);
  finish(guard, ticket);
  std::memcpy(to, contents_of(piece.get()) + (from.offset - first), from.bytes);
}

void Device::finish(std::unique_lock<std::mutex>& guard, sluice_ticket ticket) {
  const Reference buffer = queue_.committed(ticket);
  if (buffer) {
    guard.unlock();
    send().wait_until_completed(buffer.get());
    guard.lock();
  }
  queue_.check();
}

void Device::wait(sluice_ticket ticket) {
  std::unique_lock guard(lock_);
  if (ticket == 0) throw Failure(SLUICE_ERROR, "no ticket 0 was given out by this device");
  finish(guard, ticket);
}

void Device::sync() {
  const std::lock_guard guard(lock_);
  queue_.commit();
  queue_.finish(queue_.ticket() - 1);
}

}  // namespace sluice::metal
