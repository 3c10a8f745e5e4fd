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

#include "backends/cuda/cuda_api.hpp"
#include "tests/simulated/virtual_compiler.hpp"
#include "tests/simulated/virtual_device.hpp"
#include "tests/simulated/virtual_kernels.hpp"

/// When an event is recorded and when it has passed, which its recordings outlive.
struct EventState {
  std::uint64_t recorded = 0, passed = 0;
  CUstream_st* stream = nullptr;  // of the last recording
};

/// A piece of queued work. One that waits has no function.
struct QueuedWork {
  std::function<void()> run;
  std::shared_ptr<EventState> awaited;
  std::uint64_t recording = 0;
  CUstream_st* awaited_stream = nullptr;
};

struct CUstream_st {
  CUctx_st* context;
  std::deque<QueuedWork> queue;

  void run_one();
  void run_all() {
    while (!queue.empty()) run_one();
  }
};

struct CUevent_st {
  CUctx_st* context;
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};

struct CUfunc_st {
  CUctx_st* context;
  std::string name;
  virtual_gpu::KernelFunction function;
  std::vector<std::size_t> sizes;  // of parameters, 0 for a pointer
};

struct CUmod_st {
  CUctx_st* context;
  std::string text;
  std::map<std::string, std::unique_ptr<CUfunc_st>> kernels;
};

/// The primary context of a device, the only one that it has, and its memory.
struct CUctx_st {
  CUctx_st(int device_number, const virtual_gpu::Settings& settings)
      : number(device_number), memory(device_number, device_number, settings) {}

  int number;
  bool is_retained = false;
  int broken = 0;  // the code that every call gives from now on
  virtual_gpu::Device memory;
  std::map<std::uint64_t, std::uint64_t> blocks;  // address and bytes
  std::map<const CUstream_st*, std::unique_ptr<CUstream_st>> streams;
  std::map<const CUevent_st*, std::unique_ptr<CUevent_st>> events;
  std::map<const CUmod_st*, std::unique_ptr<CUmod_st>> modules;

  /// The bytes at an address inside of a block, and how many there are up to its end; null if there are none.
  std::byte* at(std::uint64_t address, std::uint64_t* rest);
  void run_all();
};

namespace simulated_cuda {

struct Driver {
  std::mutex mutex;
  bool is_initialised = false;
  virtual_gpu::Settings settings;
  std::vector<std::unique_ptr<CUctx_st>> contexts;
  std::map<const std::byte*, std::vector<std::byte>> pinned;

  /// Lives for ever.
  static Driver& get();
  bool is_pinned(const void* memory, std::uint64_t bytes) const;
  /// The context in whose memory the bytes lie; null if they are no device's.
  CUctx_st* owner_of(std::uint64_t address, std::uint64_t bytes) const;
};

/// The context that is current in this thread.
CUctx_st*& current();

/// Queues work that does nothing in a context that is broken by then.
void enqueue(CUstream_st& stream, std::function<void()> work);
void enqueue_recording(CUstream_st& stream, CUevent_st& event);
void enqueue_waiting(CUstream_st& stream, const CUevent_st& event);
/// Copies between addresses of devices, or from and to the host.
void enqueue_copy(CUstream_st& stream, std::function<std::byte*()> to, std::function<const std::byte*()> from,
                  std::uint64_t bytes);
/// `values` are the kernel's parameters, copied.
void enqueue_kernel(CUstream_st& stream, const CUfunc_st& kernel, std::uint32_t groups, std::uint32_t group_size,
                    std::vector<std::vector<std::byte>> values);

/// The kernel of a module, or null.
CUfunc_st* find_kernel(CUmod_st& module, const std::string& name);

}  // namespace simulated_cuda
