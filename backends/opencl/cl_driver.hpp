// The devices of all OpenCL platforms of this machine.
#pragma once

#include <string>
#include <vector>

#include "backends/opencl/cl_api.hpp"

namespace sluice::opencl {

struct FoundDevice {
  cl_platform_id platform;
  cl_device_id id;
};

struct Driver {
  std::vector<FoundDevice> devices;  ///< GPUs, then accelerators, then processors
  std::string left_out;              ///< platforms and devices that cannot be used, and why
};

/// What the first call that went well found. Throws Failure: SLUICE_UNSUPPORTED where there is no OpenCL.
const Driver& driver();

}  // namespace sluice::opencl
