#include "src/device/allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "sluice/tensor.hpp"
#include "src/core/tensor_rep.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace sluice {
namespace {

using detail::CachingAllocator;
using Block = CachingAllocator::Block;
constexpr std::size_t kMiB = std::size_t{1} << 20;

// A device with `capacity` bytes that only counts.
struct Memory {
  explicit Memory(std::size_t capacity_) : capacity(capacity_) {}
  CachingAllocator::Source source() {
    return {[this](std::size_t bytes) -> void* {
              if (used + bytes > capacity) return nullptr;
              used += bytes;
              return reinterpret_cast<void*>(++handles);
            },
            [this](void*, std::size_t bytes) { used -= bytes; }};
  }
  std::size_t capacity;
  std::size_t used = 0;
  std::uintptr_t handles = 0;
};

#define SKIP_WITHOUT_CACHE() \
  if (!detail::kCachesMemory) GTEST_SKIP() << "AddressSanitizer: nothing is cached"

TEST(CachingAllocator, GivesFreedBlocksOutAgain) {
  SKIP_WITHOUT_CACHE();
  Memory memory(100 * kMiB);
  CachingAllocator allocator("test", memory.source());
  Block* const a = allocator.allocate(kMiB);
  void* const handle = a->handle;
  allocator.free(a);
  EXPECT_EQ(allocator.stats().cached, kMiB);
  Block* const b = allocator.allocate(kMiB - 100);
  EXPECT_EQ(b->handle, handle);
  EXPECT_EQ(allocator.stats().hits, 1u);
  EXPECT_EQ(allocator.stats().misses, 1u);
  allocator.free(b);
}

TEST(CachingAllocator, WastesAnEighthAtMost) {
  SKIP_WITHOUT_CACHE();
  Memory memory(std::size_t{1} << 50);
  CachingAllocator allocator("test", memory.source());
  std::mt19937_64 numbers(1);
  for (int i = 0; i < 20000; ++i) {
    const std::size_t bytes = 4096 + numbers() % (std::size_t{1} << (13 + numbers() % 20));
    Block* const block = allocator.allocate(bytes);
    ASSERT_GE(block->size, bytes);
    ASSERT_LE(block->size - bytes, bytes / 8) << bytes;
    allocator.free(block);
  }
  EXPECT_GT(allocator.stats().hits, 15000u);
}

TEST(CachingAllocator, PowersOfTwoAreExact) {
  SKIP_WITHOUT_CACHE();
  Memory memory(std::size_t{1} << 50);
  CachingAllocator allocator("test", memory.source());
  for (int log2 = 9; log2 < 40; ++log2) {
    Block* const block = allocator.allocate(std::size_t{1} << log2);
    EXPECT_EQ(block->size, std::size_t{1} << log2);
    allocator.free(block);
  }
}

TEST(CachingAllocator, CountsUsePeakAndCache) {
  SKIP_WITHOUT_CACHE();
  Memory memory(100 * kMiB);
  CachingAllocator allocator("test", memory.source());
  Block* const a = allocator.allocate(8 * kMiB);
  Block* const b = allocator.allocate(4 * kMiB);
  allocator.free(a);
  EXPECT_EQ(allocator.stats().in_use, 4 * kMiB);
  EXPECT_EQ(allocator.stats().cached, 8 * kMiB);
  EXPECT_EQ(allocator.stats().peak, 12 * kMiB);
  EXPECT_EQ(memory.used, 12 * kMiB);
  allocator.empty_cache();
  EXPECT_EQ(allocator.stats().cached, 0u);
  EXPECT_EQ(memory.used, 4 * kMiB);
  allocator.free(b);
  allocator.empty_cache();
  EXPECT_EQ(memory.used, 0u);
}

TEST(CachingAllocator, EmptiesItsCacheBeforeItGivesUp) {
  Memory memory(10 * kMiB);
  CachingAllocator allocator("test", memory.source());
  allocator.free(allocator.allocate(6 * kMiB));
  Block* const block = allocator.allocate(8 * kMiB);  // fits only without the six
  EXPECT_EQ(memory.used, 8 * kMiB);
  EXPECT_THROW(allocator.allocate(4 * kMiB), OutOfMemory);
  Block* const smaller = allocator.allocate(2 * kMiB);  // the next smaller step works
  allocator.free(smaller);
  allocator.free(block);
}

TEST(CachingAllocator, LimitsWhatItHolds) {
  Memory memory(100 * kMiB);
  CachingAllocator allocator("GPU 7", memory.source());
  allocator.set_limit(10 * kMiB);
  Block* const block = allocator.allocate(6 * kMiB);
  try {
    allocator.allocate(5 * kMiB);
    FAIL() << "beyond the limit";
  } catch (const OutOfMemory& error) {
    const std::string message = error.what();
    for (const char* part : {"GPU 7", "5.0 MiB", "6.0 MiB in use", "10.0 MiB"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
  allocator.free(block);
  Block* const other = allocator.allocate(8 * kMiB);  // the six make room
  EXPECT_LE(memory.used, 10 * kMiB);
  allocator.set_limit(4 * kMiB);  // below what is in use: that stays
  allocator.free(other);
  EXPECT_LE(memory.used, 4 * kMiB);
}

TEST(CachingAllocator, DoesNotHoardUnderChangingSizes) {
  Memory memory(std::size_t{1} << 50);
  CachingAllocator allocator("test", memory.source());
  std::size_t peak = 0;
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::size_t bytes = kMiB * (1 + i * 37 % 200);
    peak = std::max(peak, bytes);
    allocator.free(allocator.allocate(bytes));
    ASSERT_LE(memory.used, 2 * peak + 65 * kMiB);
  }
}

TEST(CachingAllocator, RefusesAbsurdSizes) {
  Memory memory(100 * kMiB);
  CachingAllocator allocator("test", memory.source());
  EXPECT_THROW(allocator.allocate(SIZE_MAX), OutOfMemory);
  EXPECT_THROW(allocator.allocate(std::size_t{1} << 60), OutOfMemory);
  allocator.free(allocator.allocate(0));
}

TEST(CachingAllocator, NeverGivesABlockToTwoThreads) {
  CachingAllocator allocator("test", {[](std::size_t bytes) { return std::malloc(bytes); },
                                      [](void* handle, std::size_t) { std::free(handle); }});
  std::atomic<int> clashes{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 numbers(t);
      std::vector<Block*> held;
      for (unsigned i = 0; i < 3000; ++i) {
        if (held.size() < 8) {
          held.push_back(allocator.allocate(512 + numbers() % 4096));
          std::memcpy(held.back()->handle, &t, sizeof t);
        } else {
          const std::size_t pick = numbers() % held.size();
          if (std::memcmp(held[pick]->handle, &t, sizeof t) != 0) ++clashes;
          allocator.free(held[pick]);
          held.erase(held.begin() + static_cast<std::ptrdiff_t>(pick));
        }
      }
      for (Block* block : held) allocator.free(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0);
  EXPECT_EQ(allocator.stats().in_use, 0u);
}

TEST(HostMemory, IsAlignedAndWhole) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{65535}, std::size_t{65536}, 3 * kMiB, 9 * kMiB}) {
    detail::Storage* const storage = detail::allocate_host(detail::cpu_device_impl(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(storage->data) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(storage) % 64, 0u);
    EXPECT_EQ(storage->bytes, bytes);
    EXPECT_EQ(storage->refs, 1u);
    std::memset(storage->data, 0xa5, bytes);
    detail::free_host(storage);
  }
}

TEST(HostMemory, LargeTensorsComeFromTheCache) {
  SKIP_WITHOUT_CACHE();
  const auto before = detail::host_allocator().stats();
  const void* data = zeros({1 << 20}).span<float>().data();
  EXPECT_EQ(zeros({1 << 20}).span<float>().data(), data);
  EXPECT_EQ(detail::host_allocator().stats().in_use, before.in_use);
}

#if (defined(__unix__) || defined(__APPLE__)) && !defined(__SANITIZE_THREAD__)
TEST(HostMemory, AForkedChildAllocates) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) detail::free_host(detail::allocate_host(nullptr, kMiB));
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      detail::free_host(detail::allocate_host(nullptr, kMiB));
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  busy.join();
}
#endif

}  // namespace
}  // namespace sluice
