// The state of the simulated driver: devices with their contexts, streams of work that is done late, events, kernels.
// One lock guards it; the functions here expect that it is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/simulated/virtual_compiler.hpp"
#include "tests/simulated/virtual_device.hpp"
#include "tests/simulated/virtual_kernels.hpp"

namespace simulated {

// Results of calls. HIP has taken CUDA's numbers over.
inline constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kDeinitialized = 4, kNoDevice = 100,
                     kInvalidDevice = 101, kInvalidImage = 200, kInvalidContext = 201, kNoBinaryForGpu = 209,
                     kInvalidHandle = 400, kNotFound = 500, kNotReady = 600, kIllegalAddress = 700, kUnknown = 999;

struct Context;
struct Stream;

/// When an event is recorded and when it has passed, which its recordings outlive.
struct EventState {
  std::uint64_t recorded = 0, passed = 0;
  Stream* stream = nullptr;  // of the last recording
};

/// A piece of queued work. One that waits has no function.
struct QueuedWork {
  std::function<void()> run;
  std::shared_ptr<EventState> awaited;
  std::uint64_t recording = 0;
  Stream* awaited_stream = nullptr;
};

struct Stream {
  Context* context;
  std::deque<QueuedWork> queue;

  void run_one();
  void run_all() {
    while (!queue.empty()) run_one();
  }
};

struct Event {
  Context* context;
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};

struct Kernel {
  Context* context;
  std::string name;
  virtual_gpu::KernelFunction function;
  std::vector<std::size_t> sizes;  // of parameters, 0 for a pointer
};

struct Module {
  Context* context;
  std::string text;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

/// The primary context of a device, the only one that it has, and its memory.
struct Context {
  Context(int device_number, const virtual_gpu::Settings& settings)
      : number(device_number), memory(device_number, device_number, settings) {}

  int number;
  bool is_retained = false;
  int broken = 0;  // the code that every call gives from now on
  virtual_gpu::Device memory;
  std::map<std::uint64_t, std::uint64_t> blocks;  // address and bytes
  std::map<const Stream*, std::unique_ptr<Stream>> streams;
  std::map<const Event*, std::unique_ptr<Event>> events;
  std::map<const Module*, std::unique_ptr<Module>> modules;

  /// The bytes at an address inside of a block, and how many there are up to its end; null if there are none.
  std::byte* at(std::uint64_t address, std::uint64_t* rest);
  void run_all();
};

struct Driver {
  std::mutex mutex;
  bool is_initialised = false;
  virtual_gpu::Settings settings;
  std::vector<std::unique_ptr<Context>> contexts;
  std::map<const std::byte*, std::vector<std::byte>> pinned;

  /// Lives for ever.
  static Driver& get();
  /// Reads the settings and makes the devices; once. kNoDevice if there are none.
  int start();
  bool is_pinned(const void* memory, std::uint64_t bytes) const;
};

/// The context that is current in this thread.
Context*& current();
/// The code of the last call of this thread that failed.
int& last_failure();

/// Queues work that does nothing in a context that is broken by then.
void enqueue(Stream& stream, std::function<void()> work);
void enqueue_recording(Stream& stream, Event& event);
void enqueue_waiting(Stream& stream, const Event& event);
/// Copies between addresses of devices, or from and to the host.
void enqueue_copy(Stream& stream, std::function<std::byte*()> to, std::function<const std::byte*()> from,
                  std::uint64_t bytes);
/// `values` are the kernel's parameters, copied.
void enqueue_kernel(Stream& stream, const Kernel& kernel, std::uint32_t groups, std::uint32_t group_size,
                    std::vector<std::vector<std::byte>> values);

/// The kernel of a module, or null.
Kernel* kernel_of(Module& module, const std::string& name);

}  // namespace simulated
