// The vendors whose drivers have streams, for tests that run for each of them: what their backends and simulated
// drivers say in words of their own.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "sluice/backend.h"
#include "tests/simulated_driver.hpp"

namespace sluice::tests {

struct StreamVendor {
  const char* backend;
  const char* plugin;  // the file
  std::uint32_t dialect;
  const char *architecture, *driver_text;
  std::uint32_t local_bytes;
  const char *blas, *blas_file;
  const char *count_variable, *faults_variable, *alloc, *alloc_host, *peer_copy;
  const char *out_of_memory, *illegal_address;
  bool tells_parameters;  // how many bytes each parameter of a kernel has
  // The current device of this thread, and another choice of it; by the functions of the driver.
  std::function<std::uint64_t(void* driver)> current;
  std::function<void(void* driver, int device)> choose;

  friend std::ostream& operator<<(std::ostream& out, const StreamVendor& vendor) { return out << vendor.backend; }
};

template <class... P>
int call_driver(void* driver, const char* function, P... arguments) {
  return reinterpret_cast<int (*)(P...)>(dlsym(driver, function))(arguments...);
}

#ifdef SLUICE_CUDA_PLUGIN
inline const StreamVendor kCuda = {"CUDA",
                                   SLUICE_CUDA_PLUGIN,
                                   SLUICE_DIALECT_CUDA,
                                   "sm_90",
                                   "CUDA 12.4",
                                   49152,
                                   "cuBLAS",
                                   "libcublas.so",
                                   "VIRTUAL_CUDA_COUNT",
                                   "SIMULATED_CUDA_FAULTS",
                                   "cuMemAlloc_v2",
                                   "cuMemHostAlloc",
                                   "cuMemcpyPeerAsync",
                                   "CUDA_ERROR_OUT_OF_MEMORY (2)",
                                   "CUDA_ERROR_ILLEGAL_ADDRESS (700)",
                                   true,
                                   [](void* driver) {
                                     void* context = nullptr;
                                     call_driver(driver, "cuCtxGetCurrent", &context);
                                     return reinterpret_cast<std::uint64_t>(context);
                                   },
                                   [](void* driver, int device) {
                                     void* context = nullptr;
                                     if (device >= 0) call_driver(driver, "cuDevicePrimaryCtxRetain", &context, device);
                                     call_driver(driver, "cuCtxSetCurrent", context);
                                   }};
#endif

#ifdef SLUICE_HIP_PLUGIN
inline const StreamVendor kHip = {
    "AMDGPU", SLUICE_HIP_PLUGIN, SLUICE_DIALECT_HIP, "gfx90a:sramecc+:xnack-", "HIP 7.0.51831", 65536, "rocBLAS",
    "librocblas.so", "VIRTUAL_HIP_COUNT", "SIMULATED_HIP_FAULTS", "hipMalloc", "hipHostMalloc", "hipMemcpyPeerAsync",
    "hipErrorOutOfMemory (2)", "hipErrorIllegalAddress (700)", false,
    [](void* driver) {
      int device = -1;
      call_driver(driver, "hipGetDevice", &device);
      return static_cast<std::uint64_t>(device);
    },
    // A thread always has one.
    [](void* driver, int device) { call_driver(driver, "hipSetDevice", device < 0 ? 0 : device); }};
#endif

#define SLUICE_INSTANTIATE_FOR_STREAM_VENDORS(Fixture)                  \
  INSTANTIATE_TEST_SUITE_P(Of, Fixture, ::testing::Values(kCuda, kHip), \
                           [](auto& info) { return std::string(info.param.backend); })

}  // namespace sluice::tests
