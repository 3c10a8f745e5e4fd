// CLBlast, a library of matrix products for OpenCL that may or may not be installed.
#pragma once

#include "backends/opencl/cl_device.hpp"
#include "sluice/backend.h"

namespace sluice::opencl {

/// Opens the library, if it was not, and says what it found; calls nothing of it.
void describe_clblast(sluice_component& component);
/// A small product on `device`, compared with the exact one. Throws Failure if it is wrong.
void probe_clblast(Device& device);
/// From then on multiply() works.
void enable_clblast();
/// Queues a product. Throws Failure, SLUICE_UNSUPPORTED if CLBlast is not enabled or does not have it.
void multiply(Device& device, const sluice_gemm& gemm);

}  // namespace sluice::opencl
