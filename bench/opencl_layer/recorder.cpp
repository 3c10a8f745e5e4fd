// A layer between a program and OpenCL's loader (OPENCL_LAYERS=<this file>) that notes the commands of a stretch of
// work and can run them again from a bare loop: what the same kernels, arguments and copies take without a library
// above them.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <cstring>
#include <functional>
#include <vector>

namespace {

const cl_icd_dispatch* below = nullptr;
cl_icd_dispatch table;
bool is_recording = false;
std::vector<std::function<cl_int()>> commands;
std::vector<cl_command_queue> queues;
long launches = 0;

void note(cl_command_queue queue, std::function<cl_int()> command) {
  bool is_known = queue == nullptr;
  for (cl_command_queue known : queues) is_known = is_known || known == queue;
  if (!is_known) queues.push_back(queue);
  commands.push_back(std::move(command));
}

std::vector<unsigned char> copy_of(const void* data, std::size_t bytes) {
  const auto* const first = static_cast<const unsigned char*>(data);
  return {first, first + bytes};
}

cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, std::size_t bytes, const void* value) {
  if (is_recording) {
    note(nullptr, [=, value = copy_of(value, bytes)] {
      return below->clSetKernelArg(kernel, index, value.size(), value.data());
    });
  }
  return below->clSetKernelArg(kernel, index, bytes, value);
}

cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const std::size_t* offset,
                          const std::size_t* global, const std::size_t* local, cl_uint waits, const cl_event* events,
                          cl_event* event) {
  if (is_recording) {
    ++launches;
    note(queue, [=, global = std::vector(global, global + dimensions), local = std::vector(local, local + dimensions)] {
      return below->clEnqueueNDRangeKernel(queue, kernel, dimensions, nullptr, global.data(), local.data(), 0, nullptr,
                                           nullptr);
    });
  }
  return below->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits, events, event);
}

cl_int CL_API_CALL write(cl_command_queue queue, cl_mem buffer, cl_bool blocking, std::size_t offset, std::size_t bytes,
                         const void* from, cl_uint waits, const cl_event* events, cl_event* event) {
  if (is_recording) {
    note(queue, [=, from = copy_of(from, bytes)] {
      return below->clEnqueueWriteBuffer(queue, buffer, blocking, offset, from.size(), from.data(), 0, nullptr,
                                         nullptr);
    });
  }
  return below->clEnqueueWriteBuffer(queue, buffer, blocking, offset, bytes, from, waits, events, event);
}

cl_int CL_API_CALL read(cl_command_queue queue, cl_mem buffer, cl_bool blocking, std::size_t offset, std::size_t bytes,
                        void* to, cl_uint waits, const cl_event* events, cl_event* event) {
  if (is_recording) {
    note(queue, [=, to = std::vector<unsigned char>(bytes)]() mutable {
      return below->clEnqueueReadBuffer(queue, buffer, CL_TRUE, offset, to.size(), to.data(), 0, nullptr, nullptr);
    });
  }
  return below->clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, to, waits, events, event);
}

cl_int CL_API_CALL copy(cl_command_queue queue, cl_mem from, cl_mem to, std::size_t from_offset, std::size_t to_offset,
                        std::size_t bytes, cl_uint waits, const cl_event* events, cl_event* event) {
  if (is_recording) {
    note(queue, [=] {
      return below->clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, bytes, 0, nullptr, nullptr);
    });
  }
  return below->clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, bytes, waits, events, event);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) cl_int clGetLayerInfo(cl_layer_info name, std::size_t bytes, void* value,
                                                             std::size_t* needed) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (name != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  if (value != nullptr && bytes >= sizeof version) std::memcpy(value, &version, sizeof version);
  if (needed != nullptr) *needed = sizeof version;
  return CL_SUCCESS;
}

__attribute__((visibility("default"))) cl_int clInitLayer(cl_uint entries, const cl_icd_dispatch* target,
                                                          cl_uint* own_entries, const cl_icd_dispatch** own) {
  if (entries < sizeof table / sizeof(void*)) return CL_INVALID_VALUE;
  below = target;
  table = *target;
  table.clSetKernelArg = set_argument;
  table.clEnqueueNDRangeKernel = launch;
  table.clEnqueueWriteBuffer = write;
  table.clEnqueueReadBuffer = read;
  table.clEnqueueCopyBuffer = copy;
  *own = &table;
  *own_entries = sizeof table / sizeof(void*);
  return CL_SUCCESS;
}

/// Forgets what was noted and notes from now on.
__attribute__((visibility("default"))) void recorder_start() {
  commands.clear();
  queues.clear();
  launches = 0;
  is_recording = true;
}

/// Notes no more; returns the number of launches.
__attribute__((visibility("default"))) long recorder_stop() {
  is_recording = false;
  return launches;
}

/// Runs what was noted, `times` times, and waits; false if a call failed.
__attribute__((visibility("default"))) bool recorder_replay(int times) {
  bool is_good = true;
  for (int i = 0; i < times; ++i) {
    for (auto& command : commands) is_good = command() == CL_SUCCESS && is_good;
  }
  for (cl_command_queue queue : queues) is_good = below->clFinish(queue) == CL_SUCCESS && is_good;
  return is_good;
}
}
