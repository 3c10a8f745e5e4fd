// The simulated HIP run-time: libamdhip64.so.7, and libamdhip64.so.5, which has hipRTC in it.
#include <cstring>
#include <string>
#include <utility>

#include "backends/hip/hip_api.hpp"
#include "tests/simulated/hip/hip.hpp"
#include "tests/simulated/streams/functions.hpp"
#include "tests/simulated/streams/image.hpp"

namespace simulated {
namespace {

int check_image(const void* bytes) {
  Image image;
  if (!read_image(static_cast<const char*>(bytes), image)) return kInvalidImage;
  return image.target == architecture() ? 0 : kNoBinaryForGpu;
}

int give_properties(const char* function, char* properties, std::size_t place, int device) {
  return call_on_device(function, device, [&](Context&) {
    const std::string name = architecture();
    std::memcpy(properties + place, name.c_str(), name.size() + 1);
    return 0;
  });
}

Context* context_at(int device) {
  const auto& contexts = Driver::get().contexts;
  const bool exists = device >= 0 && static_cast<std::size_t>(device) < contexts.size();
  return exists ? contexts[static_cast<std::size_t>(device)].get() : nullptr;
}

}  // namespace

// ---- The run-time and its devices.

SIMULATED_EXPORT int hipRuntimeGetVersion(int* version) {
  *version = number_of("SIMULATED_HIP_VERSION", 70051831);
  return 0;
}

SIMULATED_EXPORT int hipPeekAtLastError() { return last_failure(); }
SIMULATED_EXPORT int hipGetLastError() { return std::exchange(last_failure(), 0); }

SIMULATED_EXPORT const char* hipGetErrorName(int code) {
  switch (code) {
#define SIMULATED_NAME(ours, theirs, value) \
  case value: return #theirs;
    SLUICE_HIP_RESULTS(SIMULATED_NAME)
#undef SIMULATED_NAME
    case kInvalidValue: return "hipErrorInvalidValue";
    case kInvalidContext: return "hipErrorInvalidContext";
    case kInvalidHandle: return "hipErrorInvalidHandle";
    default: return "hipErrorUnknown";
  }
}

SIMULATED_EXPORT const char* hipGetErrorString(int) { return "simulated"; }

SIMULATED_EXPORT int hipGetDeviceCount(int* count) {
  *count = 0;
  return call("hipGetDeviceCount", [&](Driver& driver) {
    *count = static_cast<int>(driver.contexts.size());
    return 0;
  });
}

SIMULATED_EXPORT int hipDeviceGetName(char* name, int bytes, int device) {
  return device_name("hipDeviceGetName", name, bytes, device);
}
SIMULATED_EXPORT int hipDeviceTotalMem(std::size_t* bytes, int device) {
  return device_memory("hipDeviceTotalMem", bytes, device);
}
SIMULATED_EXPORT int hipDeviceGetPCIBusId(char* text, int bytes, int device) {
  return device_card("hipDeviceGetPCIBusId", text, bytes, device);
}

SIMULATED_EXPORT int hipDeviceGetAttribute(int* answer, int question, int device) {
  return call_on_device("hipDeviceGetAttribute", device, [&](Context&) {
    switch (question) {
      case sluice::streams::kMaxThreadsPerBlock: *answer = kMostThreads; return 0;
      case sluice::streams::kMaxSharedMemoryPerBlock: *answer = 65536; return 0;
      case sluice::streams::kIntegrated: *answer = 0; return 0;
      default: return kInvalidValue;
    }
  });
}

#define SIMULATED_PROPERTIES(ours, theirs, place)                                   \
  SIMULATED_EXPORT int theirs(void* properties, int device) {                       \
    return give_properties(#theirs, static_cast<char*>(properties), place, device); \
  }
SLUICE_HIP_PROPERTIES(SIMULATED_PROPERTIES)
#undef SIMULATED_PROPERTIES

SIMULATED_EXPORT int hipGetDevice(int* device) {
  return call("hipGetDevice", [&](Driver&) {
    *device = current()->number;
    return 0;
  });
}

SIMULATED_EXPORT int hipSetDevice(int device) {
  return call_on_device("hipSetDevice", device, [&](Context& its) {
    current() = &its;
    return 0;
  });
}

// ---- Memory and copies.

SIMULATED_EXPORT int hipMemGetInfo(std::size_t* free, std::size_t* total) {
  return memory_info("hipMemGetInfo", free, total);
}
SIMULATED_EXPORT int hipMalloc(std::uint64_t* address, std::size_t bytes) { return alloc("hipMalloc", address, bytes); }
SIMULATED_EXPORT int hipFree(std::uint64_t address) { return free("hipFree", address); }
SIMULATED_EXPORT int hipMemGetAddressRange(std::uint64_t* begin, std::size_t* bytes, std::uint64_t address) {
  return address_range("hipMemGetAddressRange", begin, bytes, address);
}
SIMULATED_EXPORT int hipHostMalloc(void** memory, std::size_t bytes, unsigned) {
  return alloc_host("hipHostMalloc", memory, bytes);
}
SIMULATED_EXPORT int hipHostFree(void* memory) { return free_host("hipHostFree", memory); }

SIMULATED_EXPORT int hipMemcpyHtoDAsync(std::uint64_t to, const void* from, std::size_t bytes, Stream* stream) {
  return copy_to_device("hipMemcpyHtoDAsync", to, from, bytes, stream);
}
SIMULATED_EXPORT int hipMemcpyDtoHAsync(void* to, std::uint64_t from, std::size_t bytes, Stream* stream) {
  return copy_to_host("hipMemcpyDtoHAsync", to, from, bytes, stream);
}
SIMULATED_EXPORT int hipMemcpyDtoDAsync(std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream* stream) {
  return copy_within("hipMemcpyDtoDAsync", to, from, bytes, stream);
}
SIMULATED_EXPORT int hipMemcpyPeerAsync(std::uint64_t to, int to_device, std::uint64_t from, int from_device,
                                        std::size_t bytes, Stream* stream) {
  Context *const to_context = context_at(to_device), *const from_context = context_at(from_device);
  if (to_context == nullptr || from_context == nullptr) return kInvalidDevice;
  return copy_peer("hipMemcpyPeerAsync", to, to_context, from, from_context, bytes, stream);
}

// ---- Streams and events.

SIMULATED_EXPORT int hipStreamCreateWithFlags(Stream** stream, unsigned) {
  return create_stream("hipStreamCreateWithFlags", stream);
}
SIMULATED_EXPORT int hipStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  return wait_for_event("hipStreamWaitEvent", stream, event);
}
SIMULATED_EXPORT int hipStreamQuery(Stream* stream) { return query_stream("hipStreamQuery", stream); }
SIMULATED_EXPORT int hipStreamSynchronize(Stream* stream) { return synchronize_stream("hipStreamSynchronize", stream); }
SIMULATED_EXPORT int hipEventCreateWithFlags(Event** event, unsigned) {
  return create_event("hipEventCreateWithFlags", event);
}
SIMULATED_EXPORT int hipEventRecord(Event* event, Stream* stream) {
  return record_event("hipEventRecord", event, stream);
}
SIMULATED_EXPORT int hipEventQuery(Event* event) { return query_event("hipEventQuery", event); }
SIMULATED_EXPORT int hipEventSynchronize(Event* event) { return synchronize_event("hipEventSynchronize", event); }
SIMULATED_EXPORT int hipEventDestroy(Event* event) { return destroy_event("hipEventDestroy", event); }

// ---- Kernels.

SIMULATED_EXPORT int hipModuleLoadData(Module** module, const void* bytes) {
  return load_module("hipModuleLoadData", module, bytes, check_image);
}
SIMULATED_EXPORT int hipModuleUnload(Module* module) { return unload_module("hipModuleUnload", module); }
SIMULATED_EXPORT int hipModuleGetFunction(Kernel** kernel, Module* module, const char* name) {
  return find_kernel("hipModuleGetFunction", kernel, module, name);
}
SIMULATED_EXPORT int hipFuncGetAttribute(int* answer, int question, Kernel*) {
  return kernel_attribute("hipFuncGetAttribute", answer, question);
}
SIMULATED_EXPORT int hipModuleLaunchKernel(Kernel* kernel, unsigned x, unsigned y, unsigned z, unsigned items_x,
                                           unsigned items_y, unsigned items_z, unsigned shared_bytes, Stream* stream,
                                           void** parameters, void**) {
  return launch("hipModuleLaunchKernel", kernel, {x, y, z}, {items_x, items_y, items_z}, shared_bytes, stream,
                parameters);
}
SIMULATED_EXPORT int hipSimulatedFaults(const char* plan) { return set_faults(plan); }
SIMULATED_EXPORT int hipSimulatedEnqueue(Stream* stream, const void* const* addresses, int count,
                                         void (*run)(void* const* bytes, void* data), void (*drop)(void* data),
                                         void* data) {
  return enqueue_work("hipSimulatedEnqueue", stream, addresses, count, run, drop, data);
}

}  // namespace simulated
