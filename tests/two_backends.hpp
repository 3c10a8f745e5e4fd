// Two backends with three devices each, for tests of what crosses between devices: CUDA and another one. Two virtual
// plug-ins, or, where $SLUICE_TEST_DRIVERS is "simulated", the library's own plug-ins for CUDA and AMDGPU on simulated
// drivers.
#pragma once

#include <cstdlib>
#include <string_view>

#include "simulated_driver.hpp"

namespace sluice::tests {

struct TwoBackends {
  TwoBackends() {
    setenv("VIRTUAL_GPU_COUNT", "3", 1);
#ifdef SLUICE_TEST_SIMULATED
    if (is_simulated) {
      setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/../..", 1);
      setenv("SLUICE_BACKENDS", "cuda,amdgpu", 1);
      use_simulated_cuda();
      use_simulated_hip();
      return;
    }
#endif
    setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/cuda:" SLUICE_TEST_PLUGINS "/opencl", 1);
  }

  const bool is_simulated = [] {
    const char* const drivers = std::getenv("SLUICE_TEST_DRIVERS");
    return drivers != nullptr && std::string_view(drivers) == "simulated";
  }();
  const char* const other = is_simulated ? "AMDGPU" : "OpenCL";
};

}  // namespace sluice::tests
