// The simulated CUDA driver for a test, whatever the machine has.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace sluice::tests {

#ifdef SLUICE_TEST_SIMULATED_CUDA
/// Whoever opens libcuda.so.1 or libnvrtc.so.12 in this process gets the simulated ones: the loader knows a library
/// that is open by its own name. Returns the driver. To be called before anybody else opens one.
inline void* use_simulated_cuda() {
  void* driver = nullptr;
  for (const char* const name : {"libnvrtc.so.12", "libcuda.so.1"}) {
    driver = dlopen((std::string(SLUICE_TEST_SIMULATED_CUDA) + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) throw std::runtime_error(dlerror());
  }
  return driver;
}
#endif

}  // namespace sluice::tests
