#include "sluice/memory.hpp"

#include <fmt/format.h>

#include "sluice/error.hpp"
#include "src/device/allocator.hpp"
#include "src/device/readable.hpp"
#include "src/device/registry.hpp"

namespace sluice::inline v0 {
namespace {

using detail::CachingAllocator;

CachingAllocator& allocator_of(const Device& device, std::string_view operation) {
  CachingAllocator* const allocator = device.impl()->allocator();
  if (allocator != nullptr) return *allocator;
  throw DeviceError(fmt::format("{}: the memory of {} cannot be reached from here", operation, to_string(device)));
}

std::string line(const Device& device) {
  const MemoryStats stats = memory_stats(device);
  return fmt::format("{}: {} in use, {} kept, {} at most so far, {}\n", detail::short_name(*device.impl()),
                     detail::readable(stats.in_use), detail::readable(stats.cached), detail::readable(stats.peak),
                     stats.limit ? "limit " + detail::readable(*stats.limit) : "no limit");
}

}  // namespace

MemoryStats memory_stats(const Device& device) {
  const CachingAllocator::Stats stats = allocator_of(device, "memory_stats").stats();
  MemoryStats result{stats.in_use, stats.cached, stats.peak, {}, stats.hits, stats.misses};
  if (stats.limit != CachingAllocator::kNoLimit) result.limit = stats.limit;
  return result;
}

void set_memory_limit(const Device& device, std::optional<std::size_t> bytes) {
  allocator_of(device, "set_memory_limit").set_limit(bytes.value_or(CachingAllocator::kNoLimit));
}

void empty_cache(const Device& device) { allocator_of(device, "empty_cache").empty_cache(); }

std::string memory_report() {
  std::string text = line(cpu_device());
  for (detail::PluginDevice* const device : detail::opened_devices()) text += line(Device(device));
  return text;
}

}  // namespace sluice::inline v0
