// What devices are, memory and copies.
#include <cstdio>
#include <memory>

#include "tests/simulated/streams/functions.hpp"

namespace simulated {

int device_name(const char* function, char* name, int bytes, int device) {
  return call_on_device(function, device, [&](Context&) {
    std::snprintf(name, static_cast<std::size_t>(bytes), "Simulated GPU %d", device);
    return 0;
  });
}

int device_memory(const char* function, std::size_t* bytes, int device) {
  return call_on_device(function, device, [&](Context&) {
    *bytes = Driver::get().settings.memory_bytes;
    return 0;
  });
}

int device_card(const char* function, char* text, int bytes, int device) {
  return call_on_device(function, device, [&](Context&) {
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02X:00.0", 0xC1 + device);
    return 0;
  });
}

// ---- Memory.

int memory_info(const char* function, std::size_t* free, std::size_t* total) {
  return call_in_context(function, [&](Driver& driver, Context& context) {
    *free = context.memory.free_bytes();
    *total = driver.settings.memory_bytes;
    return 0;
  });
}

int alloc(const char* function, std::uint64_t* address, std::size_t bytes) {
  return call_in_context(function, [&](Driver&, Context& context) -> int {
    if (bytes == 0) return kInvalidValue;
    virtual_gpu::Address made = 0;
    if (context.memory.alloc(bytes, made).code != virtual_gpu::Code::ok) return kOutOfMemory;
    context.blocks.emplace(made, bytes);
    *address = made;
    return 0;
  });
}

// Waits for the device, as the real one does.
int free(const char* function, std::uint64_t address) {
  return call_in_context(function, [&](Driver&, Context& context) -> int {
    if (!context.blocks.contains(address)) return kInvalidValue;
    context.run_all();
    context.blocks.erase(address);
    context.memory.release(address, 0);
    return context.broken;
  });
}

int address_range(const char* function, std::uint64_t* begin, std::size_t* bytes, std::uint64_t address) {
  return call_in_context(function, [&](Driver&, Context& context) -> int {
    std::uint64_t rest = 0;
    if (context.at(address, &rest) == nullptr) return kNotFound;
    const auto& [first, size] = *--context.blocks.upper_bound(address);
    *begin = first;
    *bytes = size;
    return 0;
  });
}

int alloc_host(const char* function, void** memory, std::size_t bytes) {
  return call_in_context(function, [&](Driver& driver, Context&) -> int {
    if (bytes == 0) return kInvalidValue;
    std::vector<std::byte> block(bytes, std::byte{VIRTUAL_GPU_FRESH_BYTE});
    std::byte* const data = block.data();
    driver.pinned.emplace(data, std::move(block));
    *memory = data;
    return 0;
  });
}

int free_host(const char* function, void* memory) {
  return call_in_context(function, [&](Driver& driver, Context&) {
    for (const auto& context : driver.contexts) context->run_all();
    return driver.pinned.erase(static_cast<std::byte*>(memory)) == 1 ? 0 : kInvalidValue;
  });
}

// ---- Copies. What is pinned is looked at when the copy runs, other memory of the host before the call returns.

int copy_to_device(const char* function, std::uint64_t to, const void* from, std::size_t bytes, Stream* stream) {
  return call_on_stream(function, stream, [&](Driver& driver, Stream& its) -> int {
    if (!has(*its.context, to, bytes)) return kInvalidValue;
    if (driver.is_pinned(from, bytes)) {
      enqueue_copy(its, place_in(*its.context, to), place_at(const_cast<void*>(from)), bytes);
      return 0;
    }
    const auto* const first = static_cast<const std::byte*>(from);
    auto copy = std::make_shared<std::vector<std::byte>>(first, first + bytes);
    enqueue_copy(
        its, place_in(*its.context, to), [copy] { return copy->data(); }, bytes);
    return 0;
  });
}

int copy_to_host(const char* function, void* to, std::uint64_t from, std::size_t bytes, Stream* stream) {
  return call_on_stream(function, stream, [&](Driver& driver, Stream& its) -> int {
    if (!has(*its.context, from, bytes)) return kInvalidValue;
    enqueue_copy(its, place_at(to), place_in(*its.context, from), bytes);
    if (!driver.is_pinned(to, bytes)) its.run_all();
    return its.context->broken;
  });
}

int copy_within(const char* function, std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream* stream) {
  return call_on_stream(function, stream, [&](Driver&, Stream& its) -> int {
    if (!has(*its.context, to, bytes) || !has(*its.context, from, bytes)) return kInvalidValue;
    enqueue_copy(its, place_in(*its.context, to), place_in(*its.context, from), bytes);
    return 0;
  });
}

int copy_peer(const char* function, std::uint64_t to, Context* to_context, std::uint64_t from, Context* from_context,
              std::size_t bytes, Stream* stream) {
  return call_on_stream(function, stream, [&](Driver&, Stream& its) -> int {
    if (!has(*to_context, to, bytes) || !has(*from_context, from, bytes)) return kInvalidValue;
    enqueue_copy(its, place_in(*to_context, to), place_in(*from_context, from), bytes);
    return 0;
  });
}

}  // namespace simulated
