// The functions of the simulated driver for streams, events and kernels.
#include <cstring>
#include <memory>

#include "tests/simulated/cuda/call.hpp"
#include "tests/simulated/cuda/image.hpp"

namespace simulated_cuda {

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
