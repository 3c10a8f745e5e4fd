// OpenCL's objects as values that release themselves.
#pragma once

#include <memory>

#include "backends/opencl/cl_api.hpp"

namespace sluice::opencl {

template <auto Function>
struct Release {
  template <class Object>
  void operator()(Object* object) const noexcept {
    (api().*Function)(object);
  }
};

using Context = std::unique_ptr<_cl_context, Release<&Api::clReleaseContext>>;
using Buffer = std::unique_ptr<_cl_mem, Release<&Api::clReleaseMemObject>>;
using Event = std::unique_ptr<_cl_event, Release<&Api::clReleaseEvent>>;
using Program = std::unique_ptr<_cl_program, Release<&Api::clReleaseProgram>>;
using Kernel = std::unique_ptr<_cl_kernel, Release<&Api::clReleaseKernel>>;

}  // namespace sluice::opencl
