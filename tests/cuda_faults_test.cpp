// The CUDA backend on drivers that are missing, old or broken. A process sees one driver, so each has a child of its
// own.
#include <gtest/gtest.h>

#ifdef SLUICE_CUDA_PLUGIN
#include <cstdio>
#include <functional>
#include <utility>

#include "tests/cuda_table.hpp"
#include "tests/processes.hpp"

namespace sluice::tests {
namespace {

using Variables = std::vector<std::pair<const char*, const char*>>;

/// Runs a test body in a process with these variables.
void run_with(
    const Variables& variables, const std::function<void(CudaTable&)>& body,
    const std::function<void()>& prepare = [] { use_simulated_cuda(); }) {
  const int code = testing::exit_code_of_child([&] {
    for (const auto& [name, value] : variables) setenv(name, value, 1);
    prepare();
    CudaTable cuda(SLUICE_CUDA_PLUGIN);
    body(cuda);
    return !::testing::Test::HasFailure();
  });
  EXPECT_EQ(code, 0) << "the child says why";
}

/// Expects device_count to answer this, with a part of its reason.
void expect_count(const Variables& variables, sluice_status status, std::uint32_t expected, const std::string& part) {
  run_with(variables, [&](CudaTable& cuda) {
    std::uint32_t count = 99;
    cuda.expect_failure(cuda.table->device_count(&count), status, part);
    if (status == SLUICE_OK) {
      EXPECT_EQ(count, expected);
    }
  });
}

TEST(CudaFaults, NoDriverIsNoNews) {
  if (void* const real = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    dlclose(real);
    GTEST_SKIP() << "this machine has a driver";
  }
  const auto body = [](const CudaTable& cuda) {
    std::uint32_t count = 0;
    cuda.expect_failure(cuda.table->device_count(&count), SLUICE_UNSUPPORTED, "no CUDA driver: libcuda.so.1");
  };
  run_with({}, body, [] {});
}

TEST(CudaFaults, DriversThatCannotBeUsed) {
  expect_count({{"SIMULATED_CUDA_FAULTS", "cuInit=34"}}, SLUICE_ERROR, 0, "libcuda.so.1 is the toolkit's stub");
  expect_count({{"SIMULATED_CUDA_FAULTS", "cuInit=999"}}, SLUICE_ERROR, 0, "nvidia-smi");
  expect_count({{"SIMULATED_CUDA_FAULTS", "cuInit=803"}}, SLUICE_ERROR, 0, "restart");
  expect_count({{"SIMULATED_CUDA_VERSION", "10020"}}, SLUICE_ERROR, 0, "CUDA 10.2, at least 11.2 is needed");
}

TEST(CudaFaults, DriversWithoutDevice) {
  expect_count({{"SIMULATED_CUDA_FAULTS", "cuInit=100"}}, SLUICE_OK, 0, "CUDA_VISIBLE_DEVICES");
  expect_count({{"VIRTUAL_CUDA_COUNT", "0"}}, SLUICE_OK, 0, "sees no GPU");
  expect_count({{"VIRTUAL_CUDA_COUNT", "5"}}, SLUICE_OK, 5, "");
}

TEST(CudaFaults, MemoryThatRunsOut) {
  run_with({{"SIMULATED_CUDA_FAULTS", "cuMemAlloc_v2=2@2"}}, [](CudaTable& cuda) {
    sluice_memory memory = 0;
    sluice_device* const device = cuda.opened(0);
    cuda.expect_ok(cuda.table->alloc(device, 256, &memory));
    cuda.expect_failure(cuda.table->alloc(device, 256, &memory), SLUICE_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY (2)");
    cuda.expect_ok(cuda.table->alloc(device, 256, &memory));
  });
}

TEST(CudaFaults, AKernelThatFailsLosesItsDeviceOnly) {
  const Variables broken = {{"SIMULATED_CUDA_FAULTS", "kernel=700@1"}, {"VIRTUAL_CUDA_COUNT", "2"}};
  run_with(broken, [](CudaTable& cuda) {
    sluice_device *const device = cuda.opened(0), *const other = cuda.opened(1);
    const sluice_memory here = cuda.block(device, {1, 2}), there = cuda.block(other, {3});
    cuda.expect_ok(cuda.scale(device, cuda.compiled(device, kScale, "scale"), here, 2, 2));
    cuda.expect_failure(cuda.table->sync(device), SLUICE_DEVICE_LOST, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    sluice_memory memory = 0;
    float number = 0;
    cuda.expect_failure(cuda.table->alloc(device, 256, &memory), SLUICE_DEVICE_LOST, "700");
    cuda.expect_failure(cuda.table->read(device, here, 0, &number, 4), SLUICE_DEVICE_LOST, "700");
    cuda.expect_ok(cuda.table->free(device, here));
    EXPECT_EQ(cuda.content(other, there, 1), Floats{3});
  });
}

/// Compiles and runs a kernel on a device that may not be as NVRTC knows it.
void expect_kernel(const Variables& variables, sluice_status status, const std::string& part) {
  run_with(variables, [&](CudaTable& cuda) {
    sluice_device* const device = cuda.opened(0);
    sluice_kernel* kernel = nullptr;
    cuda.expect_failure(cuda.compile(device, kScale, "scale", &kernel), status, part);
    if (status != SLUICE_OK) return;
    const sluice_memory memory = cuda.block(device, {1, 2});
    cuda.expect_ok(cuda.scale(device, kernel, memory, 2, 3));
    EXPECT_EQ(cuda.content(device, memory, 2), (Floats{3, 6}));
  });
}

TEST(CudaFaults, ArchitecturesThatNvrtcDoesNotKnow) {
  expect_kernel({{"SIMULATED_CUDA_CAPABILITY", "89"}}, SLUICE_OK, "");
  expect_kernel({{"SIMULATED_CUDA_CAPABILITY", "61"}}, SLUICE_ERROR, "does not compile for sm_61 any more");
  // A cubin of a newer NVRTC runs, its PTX does not.
  expect_kernel({{"SIMULATED_NVRTC_VERSION", "13000"}}, SLUICE_OK, "");
  expect_kernel({{"SIMULATED_NVRTC_VERSION", "13000"}, {"SIMULATED_CUDA_CAPABILITY", "89"}}, SLUICE_ERROR,
                "made by NVRTC 13.0, the driver is of CUDA 12.4, which is older: update the driver");
  expect_kernel({{"SIMULATED_CUDA_FAULTS", "cuModuleLoadDataEx=209"}}, SLUICE_ERROR, "the GPU is sm_90");
  expect_kernel({{"SIMULATED_CUDA_FAULTS", "cuModuleLoadDataEx=218"}}, SLUICE_ERROR, "update the driver");
}

/// The CUDA version of an NVRTC of this machine, "" if there is none.
std::string real_nvrtc_version() {
  std::string version;
  for (const char* const name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL); library != nullptr && version.empty()) {
      int major = 0, minor = 0;
      reinterpret_cast<int (*)(int*, int*)>(dlsym(library, "nvrtcVersion"))(&major, &minor);
      version = std::to_string(major * 1000 + minor * 10);
    }
  }
  return version;
}

// What it makes does not run on the simulated driver, which only looks at what it is.
TEST(CudaFaults, ARealNvrtcTakesTheTextAndTheOptions) {
  const std::string version = real_nvrtc_version();
  if (version.empty()) GTEST_SKIP() << "there is no NVRTC";
  const auto expect = [&](const char* capability, const char* text, sluice_status status, const std::string& part) {
    const Variables variables = {{"SIMULATED_CUDA_CAPABILITY", capability},
                                 {"SIMULATED_CUDA_VERSION", version.c_str()}};
    const auto body = [&](CudaTable& cuda) {
      sluice_kernel* kernel = nullptr;
      cuda.expect_failure(cuda.compile(cuda.opened(0), text, "scale", &kernel), status, part);
    };
    run_with(variables, body, [] { use_simulated_cuda(false); });
  };
  expect("90", kScale, SLUICE_ERROR, "CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
  expect("91", kScale, SLUICE_ERROR, "CUDA_ERROR_INVALID_PTX (218)");
  expect("90", "extern \"C\" __global__ void scale() { absent = 1; }", SLUICE_BAD_SOURCE,
         "identifier \"absent\" is undefined");
}

}  // namespace
}  // namespace sluice::tests
#else
TEST(CudaFaults, Table) { GTEST_SKIP() << "built without the backends"; }
#endif
