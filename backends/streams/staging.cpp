#include "backends/streams/staging.hpp"

#include <algorithm>

namespace sluice::streams {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{4} << 20;
constexpr std::size_t kMostChunks = 8;
constexpr std::size_t kAlignment = 64;

}  // namespace

// Chunks are used in turn, so the next one is that which was given up longest ago.
void Staging::next_chunk() {
  used_bytes_ = 0;
  if (!chunks_.empty()) {
    chunks_[current_].last_use = record(stream_);
    const std::size_t next = (current_ + 1) % chunks_.size();
    const bool may_grow = chunks_.size() < kMostChunks;
    if (!may_grow) api().synchronize_event(chunks_[next].last_use.get());
    if (!may_grow || (chunks_[next].last_use != nullptr && has_passed(chunks_[next].last_use))) {
      chunks_[next].last_use.reset();
      current_ = next;
      return;
    }
  }
  void* memory = nullptr;
  api().alloc_host(&memory, kChunkBytes, kHostPortable);
  const std::size_t place = chunks_.empty() ? 0 : current_ + 1;
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(place), Chunk{static_cast<std::byte*>(memory), nullptr});
  current_ = place;
}

Staging::Part Staging::take(std::uint64_t bytes) {
  if (chunks_.empty() || used_bytes_ == kChunkBytes) next_chunk();
  std::byte* const memory = chunks_[current_].memory + used_bytes_;
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kChunkBytes - used_bytes_));
  used_bytes_ = std::min(kChunkBytes, (used_bytes_ + taken + kAlignment - 1) / kAlignment * kAlignment);
  return {memory, taken};
}

}  // namespace sluice::streams
