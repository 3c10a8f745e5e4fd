// The objects of the stand-in for Metal. One lock guards them; every method takes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "tests/simulated/metal/objc.hpp"
#include "tests/simulated/virtual_device.hpp"
#include "tests/simulated/virtual_kernels.hpp"

namespace simulated_metal {

struct MTLSize {
  Integer width, height, depth;
};

inline constexpr std::size_t kSlots = 31;
inline constexpr Integer kMostThreads = 1024, kMostBytes = 4096;

// ---- Foundation.

struct Text : State {
  explicit Text(std::string text_) : text(std::move(text_)) {}
  std::string text;
};
struct List : State {
  std::vector<Kept> objects;
};
struct Error : State {
  Error(std::string text_, long code_) : text(std::move(text_)), code(code_) {}
  std::string text;
  long code;
};

// ---- Devices and memory.

struct Device : State {
  explicit Device(int number_) : number(number_) {}
  int number;
  std::uint64_t allocated = 0;
};

struct Buffer : State {
  Buffer(Device& device_, std::uint64_t bytes, bool is_private_);
  ~Buffer() override;
  Device& device;
  virtual_gpu::Block block;
  bool is_private;
};

// ---- Kernels.

struct Options : State {
  bool has_fast_math = true;
};
struct Library : State {
  Library(Device& device_, std::string text_) : device(device_), text(std::move(text_)) {}
  Device& device;
  std::string text;
};
struct Function : State {
  Function(Device& device_, std::string name_) : device(device_), name(std::move(name_)) {}
  Device& device;
  std::string name;
  virtual_gpu::KernelFunction run;
  std::vector<int> sizes;  // of what it takes in each slot, 0 for memory
};

// ---- Commands.

/// Returns what went wrong, empty if nothing did.
using Work = std::function<std::string()>;

struct CommandQueue : State {
  explicit CommandQueue(Device& device_) : device(device_) {}
  Device& device;
  std::deque<Kept> committed;
  int questions = 0;
};

struct CommandBuffer : State {
  explicit CommandBuffer(Object* queue_) : queue(queue_) {}
  Kept queue;
  Integer status = 0;
  bool has_open_encoder = false;
  std::vector<Work> work;
  std::vector<Kept> kept;  // what the work uses
  Kept error;
};

std::recursive_mutex& simulator();

Object* string_object(const std::string& text);  // for the pool
Object* error_object(const std::string& text, long code);

/// Adds work to a command buffer; what it uses is kept until it is done.
void encode(Object* command_buffer, const std::vector<Object*>& used, Work work);
/// The same for a library that brings its own encoder: no other one may be open.
SIMULATED_SHARED void encode_alone(Object* command_buffer, const std::vector<Object*>& used, Work work);
/// The bytes of a buffer of a device, whatever its storage, and how many there are.
SIMULATED_SHARED std::byte* bytes_of(Object* buffer, std::uint64_t* length);
SIMULATED_SHARED bool is_device(Object* object);

// The classes of each file.
void add_foundation();
void add_devices();
void add_libraries();
void add_commands();
void add_encoders();

}  // namespace simulated_metal
