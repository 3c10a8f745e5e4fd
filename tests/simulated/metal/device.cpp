// MTLDevice and MTLBuffer.
#include "tests/simulated/metal/metal.hpp"

#include <algorithm>

#include "tests/simulated/metal/settings.hpp"

namespace simulated_metal {
namespace {

constexpr Integer kShared = 0, kPrivate = 2U << 4U;
constexpr std::uint64_t kGuard = 1024;  // on each side, as virtual_gpu::Block::mend_guards() has it

Object* make_buffer(Object* self, Integer bytes, Integer options, const void* from) {
  const std::lock_guard guard(simulator());
  Device& device = as<Device>(self);
  if (bytes == 0) die("a buffer of 0 bytes");
  if (options != kShared && options != kPrivate) die("a buffer with unknown options");
  if (from != nullptr && options == kPrivate) die("a private buffer is made with bytes of the host");
  if (planned_fault("newBuffer") != 0 || bytes > settings().memory_bytes - device.allocated) return nullptr;
  auto buffer = std::make_unique<Buffer>(device, bytes, options == kPrivate);
  if (from != nullptr) std::copy_n(static_cast<const std::byte*>(from), bytes, buffer->block.at(0));
  return make_object("MTLBuffer", std::move(buffer));
}

// As of an M1, or of a card in an Intel Mac.
Boolean supports_family(Object* self, Selector, long family) {
  const bool is_apple = family >= 1001 && family <= 1007, is_mac = family == 2001 || family == 2002;
  return is_mac || (is_apple && is_unified(as<Device>(self).number));
}

}  // namespace

std::recursive_mutex& simulator() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

Buffer::Buffer(Device& device_, std::uint64_t bytes, bool is_private_) : device(device_), is_private(is_private_) {
  block.storage = std::make_shared<std::vector<std::byte>>(bytes + 2 * kGuard, std::byte{VIRTUAL_GPU_GUARD_BYTE});
  block.begin = kGuard;
  block.bytes = bytes;
  std::fill_n(block.at(0), bytes, std::byte{VIRTUAL_GPU_FRESH_BYTE});
  device.allocated += bytes;
}

Buffer::~Buffer() {
  const std::lock_guard guard(simulator());
  if (block.mend_guards()) die("somebody wrote beside a buffer");
  device.allocated -= block.bytes;
}

std::byte* bytes_of(Object* buffer, std::uint64_t* length) {
  const Buffer& its = as<Buffer>(buffer);
  *length = its.block.bytes;
  return its.block.at(0);
}

bool is_device(Object* object) { return dynamic_cast<Device*>(&state_of(object)) != nullptr; }

void add_devices() {
  const char* const kDevice = "MTLDevice";
  on(kDevice, "name",
     [](Object* self, Selector) { return string_object("Simulated GPU " + std::to_string(as<Device>(self).number)); });
  on(kDevice, "hasUnifiedMemory",
     [](Object* self, Selector) -> Boolean { return is_unified(as<Device>(self).number); });
  on(kDevice, "supportsFamily:", supports_family);
  on(kDevice, "recommendedMaxWorkingSetSize", [](Object*, Selector) -> Integer { return settings().memory_bytes; });
  on(kDevice, "currentAllocatedSize", [](Object* self, Selector) -> Integer {
    const std::lock_guard guard(simulator());
    return as<Device>(self).allocated;
  });
  on(kDevice, "maxBufferLength", [](Object*, Selector) -> Integer { return settings().memory_bytes / 4 * 3; });
  on(kDevice, "maxThreadgroupMemoryLength", [](Object*, Selector) -> Integer { return 32768; });
  on(kDevice, "newBufferWithLength:options:", [](Object* self, Selector, Integer bytes, Integer options) {
    return make_buffer(self, bytes, options, nullptr);
  });
  on(kDevice, "newBufferWithBytes:length:options:",
     [](Object* self, Selector, const void* from, Integer bytes, Integer options) {
       return make_buffer(self, bytes, options, from);
     });
  on("MTLBuffer", "contents", [](Object* self, Selector) -> void* {
    const Buffer& buffer = as<Buffer>(self);
    return buffer.is_private ? nullptr : buffer.block.at(0);
  });
}

SIMULATED_EXPORT Object* MTLCopyAllDevices() {
  static auto* const devices = [] {
    for (const auto add : {add_foundation, add_devices, add_libraries, add_commands, add_encoders}) add();
    auto* const made = new std::vector<Object*>;
    for (const int number : settings().visible) {
      made->push_back(make_object("MTLDevice", std::make_unique<Device>(number)));
    }
    return made;
  }();
  const std::lock_guard guard(simulator());
  if (planned_fault("MTLCopyAllDevices") != 0) return nullptr;
  auto list = std::make_unique<List>();
  for (Object* const device : *devices) list->objects.emplace_back(device);
  return make_object("NSArray", std::move(list));
}

}  // namespace simulated_metal
