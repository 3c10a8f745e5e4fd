// The functions of the simulated driver for devices, contexts, memory and copies.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tests/simulated/cuda/call.hpp"

namespace simulated_cuda {

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

}  // namespace simulated_cuda
