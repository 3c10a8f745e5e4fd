// The simulated drivers of tests/simulated/{cuda,hip}/ for a test, whatever the machine has.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace sluice::tests {

#ifdef SLUICE_TEST_SIMULATED
/// Whoever opens one of these libraries in this process gets the simulated one: the loader knows a library that is open
/// by its own name. Returns the last. To be called before anybody else opens one.
inline void* open_simulated(const std::string& vendor, std::initializer_list<const char*> files) {
  void* library = nullptr;
  for (const char* const file : files) {
    library = dlopen((SLUICE_TEST_SIMULATED "/" + vendor + "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
  }
  return library;
}

/// CUDA's driver and all that goes with it; without NVRTC the machine's own is used.
inline void* use_simulated_cuda(bool with_nvrtc = true) {
  if (with_nvrtc) open_simulated("cuda", {"libnvrtc.so.12"});
  return open_simulated("cuda", {"libcublas.so.13", "libcuda.so.1"});
}

/// HIP's run-time and all that goes with it.
inline void* use_simulated_hip() {
  return open_simulated("hip", {"librocblas.so.5", "libhiprtc.so.7", "libamd_comgr.so.3", "libamdhip64.so.7"});
}

/// HIP's run-time of ROCm 5, which has hipRTC in it; without a BLAS.
inline void* use_simulated_hip_5() {
  setenv("SIMULATED_HIP_VERSION", "50221153", 1);
  return open_simulated("hip", {"libamd_comgr.so.2", "libamdhip64.so.5"});
}

/// Where a backend's simulated driver lies; empty if it has none.
inline std::string simulated_folder(const std::string& backend) {
  if (backend == "CUDA") return SLUICE_TEST_SIMULATED "/cuda";
  return backend == "AMDGPU" ? SLUICE_TEST_SIMULATED "/hip" : "";
}

/// The driver of a backend that has a simulated one; null for the others.
inline void* use_simulated_driver(const std::string& backend) {
  if (backend == "CUDA") return use_simulated_cuda();
  return backend == "AMDGPU" ? use_simulated_hip() : nullptr;
}
#endif

}  // namespace sluice::tests
