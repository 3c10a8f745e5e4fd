#include "src/device/cpu_scratch.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace sluice::detail {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::size_t kSmallest = std::size_t{1} << 12;
constexpr std::size_t kLargestKept = std::size_t{32} << 20;

struct Block {
  void* data = nullptr;
  std::size_t bytes = 0;
};

void release(Block block) {
  if (block.data) ::operator delete(block.data, kAlignment);
}

// Plain data, not members of an object with a destructor: a static object's destructor may still compute after this
// thread's ThreadEnd has run.
thread_local std::array<Block, 4> kept;
thread_local bool thread_ended = false;

struct ThreadEnd {
  bool armed = false;
  ~ThreadEnd() {
    thread_ended = true;
    for (Block& block : kept) release(std::exchange(block, Block{}));
  }
};
thread_local ThreadEnd thread_end;

// The smallest kept block that is large enough, or an empty one.
Block take(std::size_t bytes) {
  Block* best = nullptr;
  for (Block& block : kept) {
    if (block.bytes >= bytes && (!best || block.bytes < best->bytes)) best = &block;
  }
  return best ? std::exchange(*best, Block{}) : Block{};
}

// Keeps the block in place of the smallest one, or frees it.
void keep(Block block) {
  if (!thread_ended && block.bytes <= kLargestKept) {
    thread_end.armed = true;
    const auto smaller = [](const Block& x, const Block& y) { return x.bytes < y.bytes; };
    Block& smallest = *std::min_element(kept.begin(), kept.end(), smaller);
    if (smallest.bytes < block.bytes) std::swap(smallest, block);
  }
  release(block);
}

}  // namespace

ScratchBlock::ScratchBlock(std::size_t bytes) {
  const Block kept = take(bytes);
  data_ = kept.data;
  bytes_ = kept.bytes;
  if (data_) return;
  bytes_ = std::max(bytes, kSmallest);
  data_ = ::operator new(bytes_, kAlignment);
}

ScratchBlock::~ScratchBlock() { keep({data_, bytes_}); }

}  // namespace sluice::detail
