// The functions of the simulated driver.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "tests/simulated/cuda/driver.hpp"
#include "tests/simulated/cuda/image.hpp"
#include "tests/simulated/cuda/settings.hpp"

#define SIMULATED_EXPORT extern "C" __attribute__((visibility("default")))

namespace simulated_cuda {
namespace {

using sluice::streams::DevicePointer;

constexpr int kInvalidValue = 1, kNotInitialized = 3, kInvalidDevice = 101, kInvalidContext = 201, kInvalidHandle = 400;
constexpr int kMostThreads = 1024;

pid_t owner = 0;
bool has_shut_down = false;

/// What every call has in common: the lock, a process that may call, the plan of faults.
template <class Body>
int call(const char* function, const Body& body) noexcept {
  Driver& driver = Driver::get();
  const std::lock_guard guard(driver.mutex);
  if (has_shut_down) return sluice::streams::kDeinitialized;
  if (owner != 0 && owner != getpid()) return kNotInitialized;
  if (const int fault = planned_fault(function)) return fault;
  try {
    return body(driver);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulated CUDA: %s: %s\n", function, error.what());
    return sluice::streams::kUnknown;
  }
}

/// A call about devices, after cuInit.
template <class Body>
int call_on_device(const char* function, int device, const Body& body) noexcept {
  return call(function, [&](Driver& driver) -> int {
    if (!driver.is_initialised) return kNotInitialized;
    if (device < 0 || static_cast<std::size_t>(device) >= driver.contexts.size()) return kInvalidDevice;
    return body(*driver.contexts[static_cast<std::size_t>(device)]);
  });
}

/// A call that works in the thread's current context.
template <class Body>
int call_in_context(const char* function, const Body& body) noexcept {
  return call(function, [&](Driver& driver) -> int {
    CUctx_st* const context = current();
    if (context == nullptr) return kInvalidContext;
    if (context->broken != 0) return context->broken;
    return body(driver, *context);
  });
}

/// A call on a stream of the current context.
template <class Body>
int call_on_stream(const char* function, CUstream_st* stream, const Body& body) noexcept {
  return call_in_context(function, [&](Driver& driver, CUctx_st& context) -> int {
    return context.streams.contains(stream) ? body(driver, *stream) : kInvalidHandle;
  });
}

/// Whether the bytes are memory of the context.
bool has(CUctx_st& context, DevicePointer address, std::size_t bytes) {
  std::uint64_t rest = 0;
  return context.at(address, &rest) != nullptr && bytes <= rest;
}

std::function<std::byte*()> place_in(CUctx_st& context, DevicePointer address) {
  return [&context, address] {
    std::uint64_t rest = 0;
    return context.at(address, &rest);
  };
}

std::function<std::byte*()> place_at(void* memory) {
  return [memory] { return static_cast<std::byte*>(memory); };
}

}  // namespace

// ---- The driver and its devices.

SIMULATED_EXPORT int cuInit(unsigned) {
  return call("cuInit", [](Driver& driver) -> int {
    if (driver.is_initialised) return 0;
    driver.settings = virtual_gpu::read_settings();
    if (driver.settings.count == 0) return sluice::streams::kNoDevice;
    for (int k = 0; k < driver.settings.count; ++k) {
      driver.contexts.push_back(std::make_unique<CUctx_st>(k, driver.settings));
    }
    driver.is_initialised = true;
    owner = getpid();
    std::atexit([] { has_shut_down = true; });
    return 0;
  });
}

SIMULATED_EXPORT int cuDriverGetVersion(int* version) {
  return call("cuDriverGetVersion", [&](Driver&) {
    *version = number_of("SIMULATED_CUDA_VERSION", 12040);
    return 0;
  });
}

SIMULATED_EXPORT int cuGetErrorName(int code, const char** name) {
  switch (code) {
#define SIMULATED_NAME(ours, theirs, value) \
  case value: *name = #theirs; return 0;
    SLUICE_CUDA_RESULTS(SIMULATED_NAME)
#undef SIMULATED_NAME
    case kInvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; return 0;
    case kNotInitialized: *name = "CUDA_ERROR_NOT_INITIALIZED"; return 0;
    case kInvalidContext: *name = "CUDA_ERROR_INVALID_CONTEXT"; return 0;
    case kInvalidHandle: *name = "CUDA_ERROR_INVALID_HANDLE"; return 0;
    default: *name = nullptr; return kInvalidValue;
  }
}

SIMULATED_EXPORT int cuGetErrorString(int, const char** text) {
  *text = "simulated";
  return 0;
}

SIMULATED_EXPORT int cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", [&](Driver& driver) {
    *count = static_cast<int>(driver.contexts.size());
    return driver.is_initialised ? 0 : kNotInitialized;
  });
}

SIMULATED_EXPORT int cuDeviceGet(int* device, int number) {
  return call_on_device("cuDeviceGet", number, [&](CUctx_st&) {
    *device = number;
    return 0;
  });
}

SIMULATED_EXPORT int cuDeviceGetName(char* name, int bytes, int device) {
  return call_on_device("cuDeviceGetName", device, [&](CUctx_st&) {
    std::snprintf(name, static_cast<std::size_t>(bytes), "Simulated GPU %d", device);
    return 0;
  });
}

SIMULATED_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return call_on_device("cuDeviceTotalMem_v2", device, [&](CUctx_st&) {
    *bytes = Driver::get().settings.memory_bytes;
    return 0;
  });
}

SIMULATED_EXPORT int cuDeviceGetAttribute(int* answer, int question, int device) {
  return call_on_device("cuDeviceGetAttribute", device, [&](CUctx_st&) {
    const int capability = number_of("SIMULATED_CUDA_CAPABILITY", 90);
    switch (question) {
      case sluice::streams::kMaxThreadsPerBlock: *answer = kMostThreads; return 0;
      case sluice::streams::kMaxSharedMemoryPerBlock: *answer = 49152; return 0;
      case sluice::streams::kComputeCapabilityMajor: *answer = capability / 10; return 0;
      case sluice::streams::kComputeCapabilityMinor: *answer = capability % 10; return 0;
      case sluice::streams::kIntegrated: *answer = 0; return 0;
      default: return kInvalidValue;
    }
  });
}

SIMULATED_EXPORT int cuDeviceGetPCIBusId(char* text, int bytes, int device) {
  return call_on_device("cuDeviceGetPCIBusId", device, [&](CUctx_st&) {
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02X:00.0", 0xC1 + device);
    return 0;
  });
}

// A real NVRTC asks the driver for its private functions, and goes on without.
SIMULATED_EXPORT int cuGetExportTable(const void** functions, const void*) {
  *functions = nullptr;
  return sluice::streams::kNotFound;
}

// ---- Contexts.

SIMULATED_EXPORT int cuDevicePrimaryCtxRetain(CUctx_st** context, int device) {
  return call_on_device("cuDevicePrimaryCtxRetain", device, [&](CUctx_st& its) {
    its.is_retained = true;
    *context = &its;
    return 0;
  });
}

SIMULATED_EXPORT int cuCtxGetCurrent(CUctx_st** context) {
  return call("cuCtxGetCurrent", [&](Driver& driver) {
    *context = current();
    return driver.is_initialised ? 0 : kNotInitialized;
  });
}

SIMULATED_EXPORT int cuCtxSetCurrent(CUctx_st* context) {
  return call("cuCtxSetCurrent", [&](Driver&) -> int {
    if (context != nullptr && !context->is_retained) return kInvalidContext;
    current() = context;
    return 0;
  });
}

// ---- Memory.

SIMULATED_EXPORT int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return call_in_context("cuMemGetInfo_v2", [&](Driver& driver, CUctx_st& context) {
    *free = context.memory.free_bytes();
    *total = driver.settings.memory_bytes;
    return 0;
  });
}

SIMULATED_EXPORT int cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
  return call_in_context("cuMemAlloc_v2", [&](Driver&, CUctx_st& context) -> int {
    if (bytes == 0) return kInvalidValue;
    virtual_gpu::Address made = 0;
    if (context.memory.alloc(bytes, made).code != virtual_gpu::Code::ok) return sluice::streams::kOutOfMemory;
    context.blocks.emplace(made, bytes);
    *address = made;
    return 0;
  });
}

// Waits for the device, as the real one does.
SIMULATED_EXPORT int cuMemFree_v2(DevicePointer address) {
  return call_in_context("cuMemFree_v2", [&](Driver&, CUctx_st& context) -> int {
    if (!context.blocks.contains(address)) return kInvalidValue;
    context.run_all();
    context.blocks.erase(address);
    context.memory.release(address, 0);
    return context.broken;
  });
}

SIMULATED_EXPORT int cuMemGetAddressRange_v2(DevicePointer* begin, std::size_t* bytes, DevicePointer address) {
  return call_in_context("cuMemGetAddressRange_v2", [&](Driver&, CUctx_st& context) -> int {
    std::uint64_t rest = 0;
    if (context.at(address, &rest) == nullptr) return sluice::streams::kNotFound;
    const auto& [first, size] = *--context.blocks.upper_bound(address);
    *begin = first;
    *bytes = size;
    return 0;
  });
}

SIMULATED_EXPORT int cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  return call_in_context("cuMemAllocHost_v2", [&](Driver& driver, CUctx_st&) -> int {
    if (bytes == 0) return kInvalidValue;
    std::vector<std::byte> block(bytes, std::byte{VIRTUAL_GPU_FRESH_BYTE});
    std::byte* const data = block.data();
    driver.pinned.emplace(data, std::move(block));
    *memory = data;
    return 0;
  });
}

SIMULATED_EXPORT int cuMemFreeHost(void* memory) {
  return call_in_context("cuMemFreeHost", [&](Driver& driver, CUctx_st&) {
    for (const auto& context : driver.contexts) context->run_all();
    return driver.pinned.erase(static_cast<std::byte*>(memory)) == 1 ? 0 : kInvalidValue;
  });
}

// ---- Copies. What is pinned is looked at when the copy runs, other memory of the host before the call returns.

SIMULATED_EXPORT int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, CUstream_st* stream) {
  return call_on_stream("cuMemcpyHtoDAsync_v2", stream, [&](Driver& driver, CUstream_st& its) -> int {
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

SIMULATED_EXPORT int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, CUstream_st* stream) {
  return call_on_stream("cuMemcpyDtoHAsync_v2", stream, [&](Driver& driver, CUstream_st& its) -> int {
    if (!has(*its.context, from, bytes)) return kInvalidValue;
    enqueue_copy(its, place_at(to), place_in(*its.context, from), bytes);
    if (!driver.is_pinned(to, bytes)) its.run_all();
    return its.context->broken;
  });
}

SIMULATED_EXPORT int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes,
                                          CUstream_st* stream) {
  return call_on_stream("cuMemcpyDtoDAsync_v2", stream, [&](Driver&, CUstream_st& its) -> int {
    if (!has(*its.context, to, bytes) || !has(*its.context, from, bytes)) return kInvalidValue;
    enqueue_copy(its, place_in(*its.context, to), place_in(*its.context, from), bytes);
    return 0;
  });
}

SIMULATED_EXPORT int cuMemcpyPeerAsync(DevicePointer to, CUctx_st* to_context, DevicePointer from,
                                       CUctx_st* from_context, std::size_t bytes, CUstream_st* stream) {
  return call_on_stream("cuMemcpyPeerAsync", stream, [&](Driver&, CUstream_st& its) -> int {
    if (!has(*to_context, to, bytes) || !has(*from_context, from, bytes)) return kInvalidValue;
    enqueue_copy(its, place_in(*to_context, to), place_in(*from_context, from), bytes);
    return 0;
  });
}

// ---- Streams and events.

SIMULATED_EXPORT int cuStreamCreate(CUstream_st** stream, unsigned) {
  return call_in_context("cuStreamCreate", [&](Driver&, CUctx_st& context) {
    auto made = std::make_unique<CUstream_st>();
    made->context = &context;
    *stream = made.get();
    context.streams.emplace(*stream, std::move(made));
    return 0;
  });
}

// An event of any context.
SIMULATED_EXPORT int cuStreamWaitEvent(CUstream_st* stream, CUevent_st* event, unsigned) {
  return call("cuStreamWaitEvent", [&](Driver& driver) -> int {
    for (const auto& context : driver.contexts) {
      if (!context->events.contains(event)) continue;
      for (const auto& of_stream : driver.contexts) {
        if (!of_stream->streams.contains(stream)) continue;
        if (of_stream->broken != 0) return of_stream->broken;
        enqueue_waiting(*stream, *event);
        return 0;
      }
    }
    return kInvalidHandle;
  });
}

// One piece of work after each question, so that who asks again and again gets on.
SIMULATED_EXPORT int cuStreamQuery(CUstream_st* stream) {
  return call_on_stream("cuStreamQuery", stream, [&](Driver&, CUstream_st& its) -> int {
    if (its.queue.empty()) return 0;
    its.run_one();
    return its.context->broken != 0 ? its.context->broken : sluice::streams::kNotReady;
  });
}

SIMULATED_EXPORT int cuStreamSynchronize(CUstream_st* stream) {
  return call_on_stream("cuStreamSynchronize", stream, [&](Driver&, CUstream_st& its) {
    its.run_all();
    return its.context->broken;
  });
}

SIMULATED_EXPORT int cuEventCreate(CUevent_st** event, unsigned) {
  return call_in_context("cuEventCreate", [&](Driver&, CUctx_st& context) {
    auto made = std::make_unique<CUevent_st>();
    made->context = &context;
    *event = made.get();
    context.events.emplace(*event, std::move(made));
    return 0;
  });
}

SIMULATED_EXPORT int cuEventRecord(CUevent_st* event, CUstream_st* stream) {
  return call_on_stream("cuEventRecord", stream, [&](Driver&, CUstream_st& its) -> int {
    if (!its.context->events.contains(event)) return kInvalidHandle;
    enqueue_recording(its, *event);
    return 0;
  });
}

SIMULATED_EXPORT int cuEventQuery(CUevent_st* event) {
  return call_in_context("cuEventQuery", [&](Driver&, CUctx_st& context) -> int {
    if (!context.events.contains(event)) return kInvalidHandle;
    if (event->state->passed == event->state->recorded) return 0;
    event->state->stream->run_one();
    return sluice::streams::kNotReady;
  });
}

SIMULATED_EXPORT int cuEventSynchronize(CUevent_st* event) {
  return call_in_context("cuEventSynchronize", [&](Driver&, CUctx_st& context) -> int {
    if (!context.events.contains(event)) return kInvalidHandle;
    while (event->state->passed < event->state->recorded) event->state->stream->run_one();
    return context.broken;
  });
}

SIMULATED_EXPORT int cuEventDestroy_v2(CUevent_st* event) {
  return call("cuEventDestroy_v2", [&](Driver& driver) {
    std::size_t erased = 0;
    for (const auto& context : driver.contexts) erased += context->events.erase(event);
    return erased == 1 ? 0 : kInvalidHandle;
  });
}

// ---- Kernels.

SIMULATED_EXPORT int cuModuleLoadDataEx(CUmod_st** module, const void* bytes, unsigned, int*, void**) {
  return call_in_context("cuModuleLoadDataEx", [&](Driver&, CUctx_st& context) -> int {
    const int capability = number_of("SIMULATED_CUDA_CAPABILITY", 90);
    Image image{};
    // What a real NVRTC makes is known, but does not run here.
    if (std::memcmp(bytes, "\177ELF", 4) == 0) return sluice::streams::kNoBinaryForGpu;
    if (std::strstr(static_cast<const char*>(bytes), "\n.target sm_") != nullptr) return sluice::streams::kInvalidPtx;
    if (!read_image(static_cast<const char*>(bytes), image)) return sluice::streams::kInvalidImage;
    if (image.is_cubin && image.capability != capability) return sluice::streams::kNoBinaryForGpu;
    if (!image.is_cubin && image.capability > capability) return sluice::streams::kInvalidPtx;
    if (!image.is_cubin && image.version > number_of("SIMULATED_CUDA_VERSION", 12040)) {
      return sluice::streams::kUnsupportedPtxVersion;
    }
    auto made = std::make_unique<CUmod_st>();
    made->context = &context;
    made->text = image.text;
    *module = made.get();
    context.modules.emplace(*module, std::move(made));
    return 0;
  });
}

SIMULATED_EXPORT int cuModuleUnload(CUmod_st* module) {
  return call_in_context("cuModuleUnload", [&](Driver&, CUctx_st& context) {
    context.run_all();
    return context.modules.erase(module) == 1 ? 0 : kInvalidHandle;
  });
}

SIMULATED_EXPORT int cuModuleGetFunction(CUfunc_st** kernel, CUmod_st* module, const char* name) {
  return call_in_context("cuModuleGetFunction", [&](Driver&, CUctx_st& context) -> int {
    if (!context.modules.contains(module)) return kInvalidHandle;
    *kernel = find_kernel(*module, name);
    return *kernel != nullptr ? 0 : sluice::streams::kNotFound;
  });
}

SIMULATED_EXPORT int cuFuncGetAttribute(int* answer, int question, CUfunc_st*) {
  return call_in_context("cuFuncGetAttribute", [&](Driver&, CUctx_st&) {
    *answer = kMostThreads;
    return question == sluice::streams::kKernelMaxThreads ? 0 : kInvalidValue;
  });
}

SIMULATED_EXPORT int cuFuncGetParamInfo(CUfunc_st* kernel, std::size_t k, std::size_t* offset, std::size_t* bytes) {
  return call_in_context("cuFuncGetParamInfo", [&](Driver&, CUctx_st&) {
    if (k >= kernel->sizes.size()) return kInvalidValue;
    *offset = 0;
    *bytes = kernel->sizes[k] == 0 ? sizeof(DevicePointer) : kernel->sizes[k];
    return 0;
  });
}

SIMULATED_EXPORT int cuLaunchKernel(CUfunc_st* kernel, unsigned groups, unsigned groups_y, unsigned groups_z,
                                    unsigned items, unsigned items_y, unsigned items_z, unsigned shared_bytes,
                                    CUstream_st* stream, void** parameters, void**) {
  return call_on_stream("cuLaunchKernel", stream, [&](Driver&, CUstream_st& its) -> int {
    if (kernel->context != its.context) return kInvalidHandle;
    // The virtual GPU knows one dimension.
    const bool is_flat = groups_y == 1 && groups_z == 1 && items_y == 1 && items_z == 1;
    if (!is_flat || groups == 0 || items == 0 || items > kMostThreads || shared_bytes != 0) return kInvalidValue;
    std::vector<std::vector<std::byte>> values;
    for (std::size_t k = 0; k < kernel->sizes.size(); ++k) {
      const auto* const first = static_cast<const std::byte*>(parameters[k]);
      values.emplace_back(first, first + (kernel->sizes[k] == 0 ? sizeof(DevicePointer) : kernel->sizes[k]));
    }
    enqueue_kernel(its, *kernel, groups, items, std::move(values));
    return 0;
  });
}

// For the simulated cuBLAS: queues `run`, which is given the bytes at addresses of the device, and then `drop`.
SIMULATED_EXPORT int cuSimulatedEnqueue(CUstream_st* stream, const void* const* addresses, int count,
                                        void (*run)(void* const* bytes, void* data), void (*drop)(void* data),
                                        void* data) {
  const std::shared_ptr<void> owned(data, drop);
  return call_on_stream("cuSimulatedEnqueue", stream, [&](Driver&, CUstream_st& its) -> int {
    std::vector<std::function<std::byte*()>> places;
    for (int k = 0; k < count; ++k) {
      const auto address = reinterpret_cast<DevicePointer>(addresses[k]);
      if (!has(*its.context, address, 1)) return kInvalidValue;
      places.push_back(place_in(*its.context, address));
    }
    enqueue(its, [places, run, owned] {
      std::vector<void*> bytes;
      for (const auto& place : places) bytes.push_back(place());
      run(bytes.data(), owned.get());
    });
    return 0;
  });
}

}  // namespace simulated_cuda
