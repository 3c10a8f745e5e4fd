// PoCL, which makes an OpenCL device of the processor, ends the process where other drivers give an error: its compiler
// calls the linker `ld`, and without one the first launch aborts.
#pragma once

#include "backends/opencl/cl_driver.hpp"

namespace sluice::opencl {

/// Whether kernels of this device are linked by a program of the host.
bool needs_linker(const FoundDevice& device);

/// Throws Failure unless `ld` is where PoCL's compiler looks for it.
void require_linker();

}  // namespace sluice::opencl
