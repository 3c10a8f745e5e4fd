#include "src/device/allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "sluice/error.hpp"
#include "src/device/readable.hpp"

namespace sluice::detail {
namespace {

constexpr std::size_t kSmallest = 512;
constexpr std::size_t kLargest = std::size_t{1} << 48;  // more than any machine has; keeps rounding from wrapping
constexpr std::size_t kFreeSlack = std::size_t{64} << 20;

struct SizeClass {
  std::size_t index;
  std::size_t size;
};

// Sizes are multiples of an eighth of the power of two below them: 9/8, 10/8 ... 16/8 of it.
SizeClass size_class_of(std::size_t bytes) {
  bytes = std::max(bytes, kSmallest);
  const auto log2 = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;
  const std::size_t eighths = ((bytes - 1) >> (log2 - 3)) + 1;
  return {8 * log2 + eighths - 9, eighths << (log2 - 3)};
}

}  // namespace

CachingAllocator::CachingAllocator(std::string device, Source source)
    : device_(std::move(device)), source_(std::move(source)) {}

CachingAllocator::~CachingAllocator() { empty_cache(); }

CachingAllocator::Block* CachingAllocator::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > kLargest) throw_out_of_memory(bytes);
  const SizeClass wanted = kCachesMemory ? size_class_of(bytes) : SizeClass{0, std::max<std::size_t>(bytes, 1)};
  Block* block = take_cached(bytes, wanted.index);
  if (block == nullptr) block = allocate_fresh(wanted.size);
  if (block == nullptr) throw_out_of_memory(bytes);
  stats_.in_use += block->size;
  stats_.peak = std::max(stats_.peak, stats_.in_use);
  return block;
}

CachingAllocator::Block* CachingAllocator::take_cached(std::size_t bytes, std::size_t size_class) {
  for (std::size_t i = size_class; i < size_class + 2; ++i) {
    Block* const block = cache_[i];
    if (block == nullptr || block->size - bytes > std::max(bytes / 8, kSmallest)) continue;
    cache_[i] = block->next;
    stats_.cached -= block->size;
    ++stats_.hits;
    return block;
  }
  return nullptr;
}

CachingAllocator::Block* CachingAllocator::allocate_fresh(std::size_t size) {
  const std::size_t peak = std::max(stats_.peak, stats_.in_use + size);
  const std::size_t most = std::min(stats_.limit, peak + peak / 2 + kFreeSlack);
  if (size > most) return nullptr;
  shrink_to(most - size);
  if (stats_.in_use > stats_.limit || size > stats_.limit - stats_.in_use) return nullptr;
  auto* const block = new Block{nullptr, size, nullptr};
  block->handle = source_.allocate(size);
  if (block->handle == nullptr && stats_.cached > 0) {
    shrink_to(0);
    block->handle = source_.allocate(size);
  }
  if (block->handle == nullptr) {
    delete block;
    return nullptr;
  }
  ++stats_.misses;
  return block;
}

void CachingAllocator::free(Block* block) noexcept {
  const std::lock_guard lock(mutex_);
  stats_.in_use -= block->size;
  if (!kCachesMemory || stats_.in_use + stats_.cached + block->size > stats_.limit) {
    source_.free(block->handle, block->size);
    delete block;
    return;
  }
  Block*& first = cache_[size_class_of(block->size).index];
  block->next = first;
  first = block;
  stats_.cached += block->size;
}

// Frees kept blocks, the largest first, until at most `held` bytes are in use and cached together, or none is left.
void CachingAllocator::shrink_to(std::size_t held) noexcept {
  for (std::size_t i = kClasses; i > 0 && stats_.cached > 0 && stats_.in_use + stats_.cached > held; --i) {
    while (cache_[i - 1] != nullptr && stats_.in_use + stats_.cached > held) {
      Block* const block = cache_[i - 1];
      cache_[i - 1] = block->next;
      stats_.cached -= block->size;
      source_.free(block->handle, block->size);
      delete block;
    }
  }
}

void CachingAllocator::empty_cache() noexcept {
  const std::lock_guard lock(mutex_);
  shrink_to(0);
}

void CachingAllocator::set_limit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  stats_.limit = bytes;
  shrink_to(bytes);
}

CachingAllocator::Stats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::throw_out_of_memory(std::size_t bytes) const {
  std::string left;
  if (source_.free_bytes) left = fmt::format(", {} free on the device", readable(source_.free_bytes()));
  const std::string limit = stats_.limit == kNoLimit ? "no limit set" : "a limit of " + readable(stats_.limit);
  throw OutOfMemory(
      fmt::format("{}: out of memory: asked for {} with {} in use{} and {}; use smaller batches or release tensors",
                  device_, readable(bytes), readable(stats_.in_use), left, limit));
}

}  // namespace sluice::detail
