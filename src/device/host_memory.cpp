// Host memory of the CPU device. A small block is one piece of malloc: a header of 64 bytes that ends where the data
// begins. A large one has its data in the caching allocator and its header in a piece of its own, so that a power of
// two stays one.
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "src/device/allocator.hpp"
#include "src/device/fork_safe.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sluice::detail {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLarge = std::size_t{64} << 10;

struct HostBlock {
  Storage storage;
  void* raw;                       // what malloc gave; null in a WrappedBlock
  CachingAllocator::Block* block;  // the data of a large block, else null
};
static_assert(sizeof(HostBlock) <= kAlignment && alignof(HostBlock) <= kAlignment);

struct WrappedBlock {
  HostBlock header;
  std::function<void()> release;
};

std::size_t round_up(std::size_t value, std::size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// Huge pages make the first touch of a large block several times cheaper.
void* allocate_large(std::size_t bytes) {
  const bool is_huge = bytes >= kHugePage;
  void* memory = nullptr;
  if (posix_memalign(&memory, is_huge ? kHugePage : kPage, bytes) != 0) return nullptr;
#if defined(MADV_HUGEPAGE)
  if (is_huge) madvise(memory, round_up(bytes, kPage), MADV_HUGEPAGE);
#endif
  return memory;
}

// malloc and rounding by hand, because glibc's aligned functions go past its thread cache.
void* allocate_small(std::size_t bytes) {
  if (kCachesMemory) return std::malloc(bytes + kAlignment - alignof(std::max_align_t));
  void* memory = nullptr;
  return posix_memalign(&memory, kAlignment, bytes) == 0 ? memory : nullptr;
}

// The header alone when there is `data`, else the header and `bytes` behind it.
HostBlock* allocate_header(DeviceImpl* device, std::size_t bytes, void* data) {
  void* const raw = allocate_small(kAlignment + (data != nullptr ? 0 : bytes));
  if (raw == nullptr) throw OutOfMemory("CPU: out of memory: malloc has no more");
  const auto address = round_up(reinterpret_cast<std::uintptr_t>(raw), kAlignment);
  auto* const place = reinterpret_cast<std::byte*>(address);
  return new (place) HostBlock{Storage(device, data != nullptr ? data : place + kAlignment, bytes), raw, nullptr};
}

}  // namespace

CachingAllocator& host_allocator() {
  // Leaked: tensors of static lifetime are freed after everything else.
  static CachingAllocator* const allocator = [] {
    auto* const made =
        new CachingAllocator("CPU", {allocate_large, [](void* memory, std::size_t) { std::free(memory); }});
    hold_during_fork(made->mutex());
    return made;
  }();
  return *allocator;
}

namespace {
// Made while the library is loaded, so that no fork meets it half made.
[[maybe_unused]] const CachingAllocator& kMadeAtLoad = host_allocator();
}  // namespace

Storage* allocate_host(DeviceImpl* device, std::size_t bytes) {
  if (bytes < kLarge) return &allocate_header(device, bytes, nullptr)->storage;
  CachingAllocator::Block* const block = host_allocator().allocate(bytes);
  try {
    HostBlock* const header = allocate_header(device, bytes, block->handle);
    header->block = block;
    return &header->storage;
  } catch (...) {
    host_allocator().free(block);
    throw;
  }
}

Storage* wrap_host(DeviceImpl* device, void* memory, std::size_t bytes, std::function<void()> release) {
  auto* const block = new WrappedBlock{{Storage(device, memory, bytes), nullptr, nullptr}, std::move(release)};
  block->header.storage.lent = true;
  return &block->header.storage;
}

void free_host(Storage* storage) noexcept {
  auto* const header = reinterpret_cast<HostBlock*>(storage);
  if (header->raw == nullptr) {
    const std::unique_ptr<WrappedBlock> wrapped(reinterpret_cast<WrappedBlock*>(header));
    if (wrapped->release) call_release(wrapped->release);
    return;
  }
  if (header->block != nullptr) host_allocator().free(header->block);
  std::free(header->raw);
}

}  // namespace sluice::detail
