// The simulated CUDA driver: libcuda.so.1.
#include <cstdlib>
#include <cstring>

#include "backends/cuda/cuda_api.hpp"
#include "tests/simulated/streams/functions.hpp"
#include "tests/simulated/streams/image.hpp"

namespace simulated {
namespace {

int version() { return number_of("SIMULATED_CUDA_VERSION", 12040); }
int capability() { return number_of("SIMULATED_CUDA_CAPABILITY", 90); }

int check_image(const void* bytes) {
  Image image;
  // What a real NVRTC makes is known, but does not run here.
  if (std::memcmp(bytes, "\177ELF", 4) == 0) return sluice::streams::kNoBinaryForGpu;
  if (std::strstr(static_cast<const char*>(bytes), "\n.target sm_") != nullptr) return sluice::streams::kInvalidPtx;
  if (!read_image(static_cast<const char*>(bytes), image)) return sluice::streams::kInvalidImage;
  const int target = std::atoi(image.target.c_str());
  if (image.kind == "cubin") return target == capability() ? 0 : sluice::streams::kNoBinaryForGpu;
  if (target > capability()) return sluice::streams::kInvalidPtx;
  return image.version > version() ? sluice::streams::kUnsupportedPtxVersion : 0;
}

}  // namespace

// ---- The driver and its devices.

SIMULATED_EXPORT int cuInit(unsigned) {
  return call("cuInit", [](Driver& driver) { return driver.start(); });
}

SIMULATED_EXPORT int cuDriverGetVersion(int* to) {
  return call("cuDriverGetVersion", [&](Driver&) {
    *to = version();
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
  return call_on_device("cuDeviceGet", number, [&](Context&) {
    *device = number;
    return 0;
  });
}

SIMULATED_EXPORT int cuDeviceGetName(char* name, int bytes, int device) {
  return device_name("cuDeviceGetName", name, bytes, device);
}
SIMULATED_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return device_memory("cuDeviceTotalMem_v2", bytes, device);
}
SIMULATED_EXPORT int cuDeviceGetPCIBusId(char* text, int bytes, int device) {
  return device_card("cuDeviceGetPCIBusId", text, bytes, device);
}

SIMULATED_EXPORT int cuDeviceGetAttribute(int* answer, int question, int device) {
  return call_on_device("cuDeviceGetAttribute", device, [&](Context&) {
    switch (question) {
      case sluice::streams::kMaxThreadsPerBlock: *answer = kMostThreads; return 0;
      case sluice::streams::kMaxSharedMemoryPerBlock: *answer = 49152; return 0;
      case sluice::streams::kComputeCapabilityMajor: *answer = capability() / 10; return 0;
      case sluice::streams::kComputeCapabilityMinor: *answer = capability() % 10; return 0;
      case sluice::streams::kIntegrated: *answer = 0; return 0;
      default: return kInvalidValue;
    }
  });
}

// A real NVRTC asks the driver for its private functions, and goes on without.
SIMULATED_EXPORT int cuGetExportTable(const void** functions, const void*) {
  *functions = nullptr;
  return sluice::streams::kNotFound;
}

// ---- Contexts.

SIMULATED_EXPORT int cuDevicePrimaryCtxRetain(Context** context, int device) {
  return call_on_device("cuDevicePrimaryCtxRetain", device, [&](Context& its) {
    its.is_retained = true;
    *context = &its;
    return 0;
  });
}

SIMULATED_EXPORT int cuCtxGetCurrent(Context** context) {
  return call("cuCtxGetCurrent", [&](Driver& driver) {
    *context = current();
    return driver.is_initialised ? 0 : kNotInitialized;
  });
}

SIMULATED_EXPORT int cuCtxSetCurrent(Context* context) {
  return call("cuCtxSetCurrent", [&](Driver&) -> int {
    if (context != nullptr && !context->is_retained) return kInvalidContext;
    current() = context;
    return 0;
  });
}

// ---- Memory and copies.

SIMULATED_EXPORT int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return memory_info("cuMemGetInfo_v2", free, total);
}
SIMULATED_EXPORT int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  return alloc("cuMemAlloc_v2", address, bytes);
}
SIMULATED_EXPORT int cuMemFree_v2(std::uint64_t address) { return free("cuMemFree_v2", address); }
SIMULATED_EXPORT int cuMemGetAddressRange_v2(std::uint64_t* begin, std::size_t* bytes, std::uint64_t address) {
  return address_range("cuMemGetAddressRange_v2", begin, bytes, address);
}
SIMULATED_EXPORT int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return alloc_host("cuMemHostAlloc", memory, bytes);
}
SIMULATED_EXPORT int cuMemFreeHost(void* memory) { return free_host("cuMemFreeHost", memory); }

SIMULATED_EXPORT int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, Stream* stream) {
  return copy_to_device("cuMemcpyHtoDAsync_v2", to, from, bytes, stream);
}
SIMULATED_EXPORT int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, Stream* stream) {
  return copy_to_host("cuMemcpyDtoHAsync_v2", to, from, bytes, stream);
}
SIMULATED_EXPORT int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream* stream) {
  return copy_within("cuMemcpyDtoDAsync_v2", to, from, bytes, stream);
}
SIMULATED_EXPORT int cuMemcpyPeerAsync(std::uint64_t to, Context* to_context, std::uint64_t from, Context* from_context,
                                       std::size_t bytes, Stream* stream) {
  return copy_peer("cuMemcpyPeerAsync", to, to_context, from, from_context, bytes, stream);
}

// ---- Streams and events.

SIMULATED_EXPORT int cuStreamCreate(Stream** stream, unsigned) { return create_stream("cuStreamCreate", stream); }
SIMULATED_EXPORT int cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  return wait_for_event("cuStreamWaitEvent", stream, event);
}
SIMULATED_EXPORT int cuStreamQuery(Stream* stream) { return query_stream("cuStreamQuery", stream); }
SIMULATED_EXPORT int cuStreamSynchronize(Stream* stream) { return synchronize_stream("cuStreamSynchronize", stream); }
SIMULATED_EXPORT int cuEventCreate(Event** event, unsigned) { return create_event("cuEventCreate", event); }
SIMULATED_EXPORT int cuEventRecord(Event* event, Stream* stream) {
  return record_event("cuEventRecord", event, stream);
}
SIMULATED_EXPORT int cuEventQuery(Event* event) { return query_event("cuEventQuery", event); }
SIMULATED_EXPORT int cuEventSynchronize(Event* event) { return synchronize_event("cuEventSynchronize", event); }
SIMULATED_EXPORT int cuEventDestroy_v2(Event* event) { return destroy_event("cuEventDestroy_v2", event); }

// ---- Kernels.

SIMULATED_EXPORT int cuModuleLoadDataEx(Module** module, const void* bytes, unsigned, int*, void**) {
  return load_module("cuModuleLoadDataEx", module, bytes, check_image);
}
SIMULATED_EXPORT int cuModuleUnload(Module* module) { return unload_module("cuModuleUnload", module); }
SIMULATED_EXPORT int cuModuleGetFunction(Kernel** kernel, Module* module, const char* name) {
  return find_kernel("cuModuleGetFunction", kernel, module, name);
}
SIMULATED_EXPORT int cuFuncGetAttribute(int* answer, int question, Kernel*) {
  return kernel_attribute("cuFuncGetAttribute", answer, question);
}
SIMULATED_EXPORT int cuFuncGetParamInfo(Kernel* kernel, std::size_t k, std::size_t* offset, std::size_t* bytes) {
  return kernel_parameter("cuFuncGetParamInfo", kernel, k, offset, bytes);
}
SIMULATED_EXPORT int cuLaunchKernel(Kernel* kernel, unsigned x, unsigned y, unsigned z, unsigned items_x,
                                    unsigned items_y, unsigned items_z, unsigned shared_bytes, Stream* stream,
                                    void** parameters, void**) {
  return launch("cuLaunchKernel", kernel, {x, y, z}, {items_x, items_y, items_z}, shared_bytes, stream, parameters);
}
SIMULATED_EXPORT int cuSimulatedFaults(const char* plan) { return set_faults(plan); }
SIMULATED_EXPORT int cuSimulatedEnqueue(Stream* stream, const void* const* addresses, int count,
                                        void (*run)(void* const* bytes, void* data), void (*drop)(void* data),
                                        void* data) {
  return enqueue_work("cuSimulatedEnqueue", stream, addresses, count, run, drop, data);
}

}  // namespace simulated
