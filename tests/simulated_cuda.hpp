// The simulated CUDA driver for a test, whatever the machine has.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace sluice::tests {

#ifdef SLUICE_TEST_SIMULATED_CUDA
/// Whoever opens libcuda.so.1, libnvrtc.so.12 or libcublas.so.13 in this process gets the simulated ones: the loader
/// knows a library that is open by its own name. Returns the driver. To be called before anybody else opens one.
inline void* use_simulated_cuda(bool with_nvrtc = true) {
  void* driver = nullptr;
  for (const std::string name : {"libcublas.so.13", "libnvrtc.so.12", "libcuda.so.1"}) {
    if (!with_nvrtc && name == "libnvrtc.so.12") continue;
    driver = dlopen((std::string(SLUICE_TEST_SIMULATED_CUDA) + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) throw std::runtime_error(dlerror());
  }
  return driver;
}
#endif

/// Where the simulated driver of a backend lies, empty if there is none.
inline std::string simulated_folder(const std::string& backend) {
#ifdef SLUICE_TEST_SIMULATED_CUDA
  if (backend == "CUDA") return SLUICE_TEST_SIMULATED_CUDA;
#endif
  return "";
}

/// The simulated driver that a backend needs, if it needs one and this build has it.
inline void use_simulated_driver(const std::string& backend) {
#ifdef SLUICE_TEST_SIMULATED_CUDA
  if (backend == "CUDA") use_simulated_cuda();
#endif
}

}  // namespace sluice::tests
