#include "backends/streams/device.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backends/common/text.hpp"

namespace sluice::streams {
namespace {

using plugin::Failure;
using plugin::in_units;

// Names of wrapped blocks; no address of a device is as large.
constexpr sluice_memory kFirstWrapped = sluice_memory{1} << 63U;

Stream make_stream() {
  Stream stream = nullptr;
  api().create_stream(&stream, kStreamNonBlocking);
  return stream;
}

}  // namespace

Device::Device(DeviceNumber number) : number_(number), context_(context_of(number)) {
  const Current current(context_);
  compute_ = make_stream();
  copy_ = make_stream();
  staging_ = std::make_unique<Staging>(compute_);
}

// ---- Memory.

sluice_memory Device::alloc(std::uint64_t bytes) {
  if (bytes == 0) throw Failure(SLUICE_ERROR, "a block of 0 bytes");
  release_buried_if_idle();
  DevicePointer address = 0;
  int code = api().alloc.raw(&address, bytes);
  if (status_of(code) == SLUICE_OUT_OF_MEMORY && !buried_.empty()) {
    sync();
    code = api().alloc.raw(&address, bytes);
  }
  if (status_of(code) == SLUICE_OUT_OF_MEMORY) {
    throw Failure(SLUICE_OUT_OF_MEMORY, std::string(api().alloc.name) + ": " + describe_code(code) + "; " +
                                            in_units(bytes) + " were asked for, and " + in_units(free_bytes()) +
                                            " are free");
  }
  check(code, api().alloc.name);
  const std::lock_guard guard(lock_);
  blocks_.emplace(address, Block{address, bytes, true});
  return address;
}

void Device::free(sluice_memory memory) {
  const Block block = find(memory);
  {
    const std::lock_guard guard(lock_);
    blocks_.erase(memory);
  }
  if (!block.is_owned) return;
  buried_.push_back(block.address);
  buried_bytes_ += block.bytes;
  release_buried_if_idle();
}

// A device that is lost gives nothing back, and says so at calls that can be told.
void Device::release_buried() {
  for (const DevicePointer address : std::exchange(buried_, {})) api().free.raw(address);
  buried_bytes_ = 0;
}

void Device::release_buried_if_idle() {
  if (buried_.empty()) return;
  const bool is_idle = api().query_stream.raw(compute_) == kSuccess && api().query_stream.raw(copy_) == kSuccess;
  if (is_idle) release_buried();
}

std::uint64_t Device::free_bytes() {
  std::size_t free = 0, total = 0;
  api().memory_info(&free, &total);
  return free + buried_bytes_;
}

void* Device::alloc_host(std::uint64_t bytes) {
  if (bytes == 0) throw Failure(SLUICE_ERROR, "a block of 0 bytes");
  void* memory = nullptr;
  api().alloc_host(&memory, bytes, kHostPortable);
  host_blocks_.insert(memory);
  return memory;
}

void Device::free_host(void* memory) {
  if (host_blocks_.erase(memory) == 0) throw Failure(SLUICE_ERROR, "free_host: not host memory of this device");
  sync();
  api().free_host(memory);
}

sluice_memory Device::wrap(DevicePointer address, std::uint64_t bytes) {
  DevicePointer begin = 0;
  std::size_t size = 0;
  const int code = api().address_range.raw(&begin, &size, address);
  if (status_of(code) == SLUICE_DEVICE_LOST) check(code, api().address_range.name);
  if (bytes == 0 || code != kSuccess || address < begin || bytes > size - (address - begin)) {
    throw Failure(SLUICE_ERROR, "wrap: these " + std::to_string(bytes) + " bytes are not device memory of this device");
  }
  const std::lock_guard guard(lock_);
  const sluice_memory name = kFirstWrapped + last_wrapped_++;
  blocks_.emplace(name, Block{address, bytes, false});
  return name;
}

Device::Block Device::find(sluice_memory memory) {
  const std::lock_guard guard(lock_);
  const auto found = blocks_.find(memory);
  if (found == blocks_.end()) throw Failure(SLUICE_ERROR, "not a block of this device, or one that was freed");
  return found->second;
}

DevicePointer Device::locate(const Range& range) {
  const Block block = find(range.memory);
  if (range.offset > block.bytes || range.bytes > block.bytes - range.offset) {
    throw Failure(SLUICE_ERROR, std::to_string(range.bytes) + " bytes at " + std::to_string(range.offset) +
                                    " are outside of a block of " + std::to_string(block.bytes));
  }
  return block.address + range.offset;
}

// ---- Order between the two streams.

DevicePointer Device::use(const Range& range) {
  const DevicePointer address = locate(range);
  wait_for_reads(address, address + range.bytes);
  return address;
}

DevicePointer Device::use_rest(sluice_memory memory, std::uint64_t offset) {
  const Block block = find(memory);
  const DevicePointer address = locate({memory, offset, 0});
  wait_for_reads(block.address, block.address + block.bytes);
  return address;
}

void Device::wait_for_reads(DevicePointer begin, DevicePointer end) {
  std::erase_if(reads_, [&](const PendingRead& read) {
    if (read.end <= begin || read.begin >= end) return false;
    wait_on_stream(compute_, read.event);
    return true;
  });
}

void Device::start_read(DevicePointer from, void* to, std::uint64_t bytes) {
  wait_on_stream(copy_, record(compute_));
  api().copy_to_host(to, from, bytes, copy_);
}

// ---- Copies.

void Device::write(const Range& to, const void* from) {
  DevicePointer target = use(to);
  const auto* source = static_cast<const std::byte*>(from);
  for (std::uint64_t left = to.bytes; left > 0;) {
    const Staging::Part part = staging_->take(left);
    std::memcpy(part.memory, source, part.bytes);
    api().copy_to_device(target, part.memory, part.bytes, compute_);
    target += part.bytes;
    source += part.bytes;
    left -= part.bytes;
  }
}

// Work that is queued while this waits is not after it, so it may run at the same time.
void Device::read(const Range& from, void* to) {
  const DevicePointer source = locate(from);
  if (from.bytes == 0) return;
  start_read(source, to, from.bytes);
  api().synchronize_event(record(copy_).get());
}

sluice_ticket Device::write_async(const Range& to, const void* from) {
  const DevicePointer target = use(to);
  if (to.bytes > 0) api().copy_to_device(target, from, to.bytes, compute_);
  return tickets_.add(record(compute_));
}

sluice_ticket Device::read_async(const Range& from, void* to) {
  constexpr std::size_t kManyReads = 32;
  const DevicePointer source = locate(from);
  if (reads_.size() >= kManyReads)
    std::erase_if(reads_, [](const PendingRead& read) { return has_passed(read.event); });
  if (from.bytes > 0) start_read(source, to, from.bytes);
  SharedEvent event = record(copy_);
  reads_.push_back({source, source + from.bytes, event});
  return tickets_.add(std::move(event));
}

void Device::copy(const Range& to, const Range& from) {
  const DevicePointer source = locate(from), target = use(to);
  if (to.bytes > 0) api().copy_within(target, source, to.bytes, compute_);
}

void Device::copy_from(Device& source, const Range& to, const Range& from) {
  if (&source == this) return copy(to, from);
  const DevicePointer from_address = source.locate(from), to_address = use(to);
  if (to.bytes == 0) return;
  {
    const Current there(source.context_);
    wait_on_stream(compute_, record(source.compute_));
  }
  const int code = api().copy_peer.raw(to_address, context_, from_address, source.context_, to.bytes, compute_);
  if (code == kSuccess) return wait_on_stream(source.compute_, record(compute_));
  if (status_of(code) != SLUICE_ERROR) check(code, api().copy_peer.name);
  copy_through_host(source, to, from);
}

// For devices that do not reach each other. CUDA sees to it itself, HIP not everywhere.
void Device::copy_through_host(Device& source, const Range& to, const Range& from) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 20;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(kMostBytes, to.bytes)));
  for (std::uint64_t done = 0; done < to.bytes; done += piece.size()) {
    const std::uint64_t bytes = std::min<std::uint64_t>(piece.size(), to.bytes - done);
    {
      const Current there(source.context_);
      source.read({from.memory, from.offset + done, bytes}, piece.data());
    }
    write({to.memory, to.offset + done, bytes}, piece.data());
  }
}

void Device::sync() {
  api().synchronize_stream(compute_);
  api().synchronize_stream(copy_);
  reads_.clear();
  release_buried();
}

}  // namespace sluice::streams
