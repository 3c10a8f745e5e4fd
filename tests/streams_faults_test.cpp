// The backends with streams on drivers that are missing, old or broken. A process sees one driver, so each has a child
// of its own.
#include <gtest/gtest.h>

#if defined(SLUICE_CUDA_PLUGIN) && defined(SLUICE_HIP_PLUGIN)
#include <cstdio>
#include <functional>
#include <utility>

#include "tests/processes.hpp"
#include "tests/stream_table.hpp"
#include "tests/stream_vendor.hpp"

namespace sluice::tests {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Runs a test body in a process with these variables.
void run_with(const StreamVendor& vendor, const Variables& variables, const std::function<void(StreamTable&)>& body,
              const std::function<void()>& prepare = nullptr) {
  const int code = testing::exit_code_of_child([&] {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    if (prepare) prepare();
    else use_simulated_driver(vendor.backend);
    StreamTable table(vendor.plugin);
    body(table);
    return !::testing::Test::HasFailure();
  });
  EXPECT_EQ(code, 0) << "the child says why";
}

/// Expects device_count to answer this, with a part of its reason.
void expect_count(const StreamVendor& vendor, const Variables& variables, sluice_status status, std::uint32_t expected,
                  const std::string& part) {
  run_with(vendor, variables, [&](StreamTable& backend) {
    std::uint32_t count = 99;
    backend.expect_failure(backend.table->device_count(&count), status, part);
    if (status == SLUICE_OK) {
      EXPECT_EQ(count, expected);
    }
  });
}

/// Compiles and runs a kernel on a device that may not be as the compiler knows it.
void expect_kernel(const StreamVendor& vendor, const Variables& variables, sluice_status status,
                   const std::string& part) {
  run_with(vendor, variables, [&](StreamTable& backend) {
    sluice_device* const device = backend.opened(0);
    sluice_kernel* kernel = nullptr;
    backend.expect_failure(backend.compile(device, kScale, "scale", &kernel), status, part);
    if (status != SLUICE_OK) return;
    const sluice_memory memory = backend.block(device, {1, 2});
    backend.expect_ok(backend.scale(device, kernel, memory, 2, 3));
    EXPECT_EQ(backend.content(device, memory, 2), (Floats{3, 6}));
  });
}

// ---- Every vendor.

class StreamsFaults : public ::testing::TestWithParam<StreamVendor> {
 protected:
  Variables faults(const std::string& plan) const { return {{vendor.faults_variable, plan}}; }

  const StreamVendor& vendor = GetParam();
};
SLUICE_INSTANTIATE_FOR_STREAM_VENDORS(StreamsFaults);

TEST_P(StreamsFaults, DriversWithoutDevice) {
  expect_count(vendor, {{vendor.count_variable, "0"}}, SLUICE_OK, 0, "sees no GPU");
  expect_count(vendor, {{vendor.count_variable, "5"}}, SLUICE_OK, 5, "");
}

TEST_P(StreamsFaults, MemoryThatRunsOut) {
  run_with(vendor, faults(vendor.alloc + std::string("=2@2")), [&](StreamTable& backend) {
    sluice_memory memory = 0;
    sluice_device* const device = backend.opened(0);
    backend.expect_ok(backend.table->alloc(device, 256, &memory));
    backend.expect_failure(backend.table->alloc(device, 256, &memory), SLUICE_OUT_OF_MEMORY, vendor.out_of_memory);
    backend.expect_ok(backend.table->alloc(device, 256, &memory));
  });
}

TEST_P(StreamsFaults, PinnedMemoryThatRunsOut) {
  run_with(vendor, faults(vendor.alloc_host + std::string("=2@1")), [&](StreamTable& backend) {
    sluice_memory memory = 0;
    sluice_device* const device = backend.opened(0);
    const float numbers[] = {1, 2};
    backend.expect_ok(backend.table->alloc(device, 256, &memory));
    backend.expect_failure(backend.table->write(device, memory, 0, numbers, 8), SLUICE_OUT_OF_MEMORY,
                           vendor.out_of_memory);
    backend.expect_ok(backend.table->write(device, memory, 0, numbers, 8));
    EXPECT_EQ(backend.content(device, memory, 2), (Floats{1, 2}));
  });
}

TEST_P(StreamsFaults, AKernelThatFailsLosesItsDeviceOnly) {
  const Variables broken = {{vendor.faults_variable, "kernel=700@1"}, {vendor.count_variable, "2"}};
  run_with(vendor, broken, [&](StreamTable& backend) {
    sluice_device *const device = backend.opened(0), *const other = backend.opened(1);
    const sluice_memory here = backend.block(device, {1, 2}), there = backend.block(other, {3});
    backend.expect_ok(backend.scale(device, backend.compiled(device, kScale, "scale"), here, 2, 2));
    backend.expect_failure(backend.table->sync(device), SLUICE_DEVICE_LOST, vendor.illegal_address);
    sluice_memory memory = 0;
    float number = 0;
    backend.expect_failure(backend.table->alloc(device, 256, &memory), SLUICE_DEVICE_LOST, "700");
    backend.expect_failure(backend.table->read(device, here, 0, &number, 4), SLUICE_DEVICE_LOST, "700");
    backend.expect_ok(backend.table->free(device, here));
    EXPECT_EQ(backend.content(other, there, 1), Floats{3});
  });
}

// More than the piece of host memory that such a copy goes through, from and to places inside of blocks.
TEST_P(StreamsFaults, DevicesThatDoNotReachEachOtherCopyThroughTheHost) {
  Variables apart = faults(vendor.peer_copy + std::string("=217"));
  apart.emplace_back(vendor.count_variable, "2");
  run_with(vendor, apart, [&](StreamTable& backend) {
    sluice_device *const device = backend.opened(0), *const other = backend.opened(1);
    const std::size_t size = (std::size_t{1} << 20) + 77;
    Floats numbers(size);
    for (std::size_t i = 0; i < size; ++i) numbers[i] = static_cast<float>(i);
    const sluice_memory from = backend.block(device, numbers), to = backend.block(other, Floats(size, -1));
    backend.expect_ok(backend.scale(device, backend.compiled(device, kScale, "scale"), from, size, 2));
    backend.expect_ok(backend.table->peer_copy(other, to, 8, device, from, 4, (size - 2) * 4));
    const Floats got = backend.content(other, to, size);
    EXPECT_EQ(got[1], -1.0F);
    for (std::size_t i = 2; i < size; ++i) ASSERT_EQ(got[i], 2 * static_cast<float>(i - 1)) << i;
  });
}

// ---- CUDA.

TEST(CudaFaults, NoDriverIsNoNews) {
  if (void* const real = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    dlclose(real);
    GTEST_SKIP() << "this machine has a driver";
  }
  const auto body = [](const StreamTable& cuda) {
    std::uint32_t count = 0;
    cuda.expect_failure(cuda.table->device_count(&count), SLUICE_UNSUPPORTED, "no CUDA driver: libcuda.so.1");
  };
  run_with(kCuda, {}, body, [] {});
}

TEST(CudaFaults, DriversThatCannotBeUsed) {
  const auto expect = [](const char* name, const char* value, const std::string& part) {
    expect_count(kCuda, {{name, value}}, SLUICE_ERROR, 0, part);
  };
  expect("SIMULATED_CUDA_FAULTS", "cuInit=34", "libcuda.so.1 is the toolkit's stub");
  expect("SIMULATED_CUDA_FAULTS", "cuInit=999", "nvidia-smi");
  expect("SIMULATED_CUDA_FAULTS", "cuInit=803", "restart");
  expect("SIMULATED_CUDA_VERSION", "10020", "CUDA 10.2, at least 11.2 is needed");
  expect_count(kCuda, {{"SIMULATED_CUDA_FAULTS", "cuInit=100"}}, SLUICE_OK, 0, "CUDA_VISIBLE_DEVICES");
}

TEST(CudaFaults, ArchitecturesThatNvrtcDoesNotKnow) {
  expect_kernel(kCuda, {{"SIMULATED_CUDA_CAPABILITY", "89"}}, SLUICE_OK, "");
  expect_kernel(kCuda, {{"SIMULATED_CUDA_CAPABILITY", "61"}}, SLUICE_ERROR, "does not compile for sm_61 any more");
  // A cubin of a newer NVRTC runs, its PTX does not.
  expect_kernel(kCuda, {{"SIMULATED_NVRTC_VERSION", "13000"}}, SLUICE_OK, "");
  expect_kernel(kCuda, {{"SIMULATED_NVRTC_VERSION", "13000"}, {"SIMULATED_CUDA_CAPABILITY", "89"}}, SLUICE_ERROR,
                "made by NVRTC 13.0, the driver is of CUDA 12.4, which is older: update the driver");
  expect_kernel(kCuda, {{"SIMULATED_CUDA_FAULTS", "cuModuleLoadDataEx=209"}}, SLUICE_ERROR, "the GPU is sm_90");
  expect_kernel(kCuda, {{"SIMULATED_CUDA_FAULTS", "cuModuleLoadDataEx=218"}}, SLUICE_ERROR, "update the driver");
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
    const auto body = [&](StreamTable& cuda) {
      sluice_kernel* kernel = nullptr;
      cuda.expect_failure(cuda.compile(cuda.opened(0), text, "scale", &kernel), status, part);
    };
    run_with(kCuda, variables, body, [] { use_simulated_cuda(false); });
  };
  expect("90", kScale, SLUICE_ERROR, "CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
  expect("91", kScale, SLUICE_ERROR, "CUDA_ERROR_INVALID_PTX (218)");
  expect("90", "extern \"C\" __global__ void scale() { absent = 1; }", SLUICE_BAD_SOURCE,
         "identifier \"absent\" is undefined");
}

// ---- HIP.

// Debian has HIP's run-time on machines without an AMD GPU too.
TEST(HipFaults, NoRunTimeOrNoGpuIsNoNews) {
  const auto body = [](const StreamTable& hip) {
    std::uint32_t count = 99;
    const sluice_status status = hip.table->device_count(&count);
    const std::string reason = hip.table->last_error();
    if (status == SLUICE_OK) EXPECT_TRUE(count > 0 || reason.starts_with("HIP sees no GPU: ")) << reason;
    else EXPECT_TRUE(status == SLUICE_UNSUPPORTED && reason.starts_with("no HIP run-time: libamdhip64.so")) << reason;
  };
  run_with(kHip, {}, body, [] {});
}

TEST(HipFaults, RunTimesThatCannotBeUsed) {
  expect_count(kHip, {{"SIMULATED_HIP_FAULTS", "hipGetDeviceCount=35"}}, SLUICE_ERROR, 0, "update the kernel module");
  expect_count(kHip, {{"SIMULATED_HIP_FAULTS", "hipGetDeviceCount=999"}}, SLUICE_ERROR, 0, "rocminfo");
  expect_count(kHip, {{"SIMULATED_HIP_VERSION", "40321331"}}, SLUICE_ERROR, 0, "it is 4.3.21331, at least 5.0.0");
  for (const char* const fault : {"hipGetDeviceCount=100", "hipGetDeviceCount=101"}) {
    expect_count(kHip, {{"SIMULATED_HIP_FAULTS", fault}}, SLUICE_OK, 0, "HIP sees no GPU: ");
  }
}

// The struct changed its layout, and its function's name, with ROCm 6.
TEST(HipFaults, TheArchitectureIsFoundInBothLayouts) {
  const auto expect = [](const char* faults, const char* architecture, const std::string& expected) {
    run_with(kHip, {{"SIMULATED_HIP_FAULTS", faults}, {"SIMULATED_HIP_ARCHITECTURE", architecture}},
             [&](StreamTable& hip) {
               sluice_device_info info{};
               info.size = sizeof info;
               hip.expect_ok(hip.table->info(hip.opened(0), &info));
               EXPECT_EQ(info.architecture, expected);
             });
  };
  expect("", "gfx1030", "gfx1030");
  expect("hipGetDevicePropertiesR0600=801", "gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-");
  expect("hipGetDeviceProperties=801", "gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-");
}

TEST(HipFaults, AnArchitectureThatIsNoneIsSaid) {
  for (const char* const architecture : {"sm_90", "gfx", "gfx90a --help", "gfx9:\xFF\n"}) {
    run_with(kHip, {{"SIMULATED_HIP_ARCHITECTURE", architecture}}, [&](StreamTable& hip) {
      sluice_device_info info{};
      info.size = sizeof info;
      hip.expect_failure(hip.table->info(hip.opened(0), &info), SLUICE_ERROR, "HIP 7.0.51831 names no architecture");
    });
  }
}

// The simulated hipRTC ends the process then, as that of ROCm 5 does.
TEST(HipFaults, ArchitecturesThatHiprtcDoesNotKnow) {
  const auto expect = [](const char* architecture, const char* known, sluice_status status, const std::string& part) {
    expect_kernel(kHip, {{"SIMULATED_HIP_ARCHITECTURE", architecture}, {"SIMULATED_HIP_KNOWN", known}}, status, part);
  };
  expect("gfx1100", "gfx906,gfx90a,gfx1100", SLUICE_OK, "");
  expect("gfx1100", "gfx906,gfx90a", SLUICE_ERROR, "does not know gfx1100, this GPU's architecture");
  expect("gfx90a:sramecc+:xnack-", "gfx906,gfx90a", SLUICE_OK, "");
}

// Up to ROCm 6 hipRTC is a part of the run-time, later a library of its own as in the simulated HIP of all other tests.
TEST(HipFaults, ARunTimeThatHasHiprtcInItIsTakenToo) {
  const auto body = [](StreamTable& hip) {
    sluice_device_info info{};
    info.size = sizeof info;
    sluice_device* const device = hip.opened(0);
    hip.expect_ok(hip.table->info(device, &info));
    EXPECT_STREQ(info.driver, "HIP 5.2.21153");
    const sluice_memory memory = hip.block(device, {1, 2});
    hip.expect_ok(hip.scale(device, hip.compiled(device, kScale, "scale"), memory, 2, 3));
    EXPECT_EQ(hip.content(device, memory, 2), (Floats{3, 6}));
  };
  if (void* const newer = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL)) {
    dlclose(newer);
    GTEST_SKIP() << "this machine has a newer one, which comes first";
  }
  run_with(kHip, {}, body, [] { use_simulated_hip_5(); });
}

// Everything but hipRTC.
TEST(HipFaults, AMissingHiprtcIsSaid) {
  if (void* const real = dlopen("libhiprtc.so", RTLD_NOW | RTLD_LOCAL)) {
    dlclose(real);
    GTEST_SKIP() << "this machine has a hipRTC";
  }
  const auto body = [](StreamTable& hip) {
    sluice_kernel* kernel = nullptr;
    hip.expect_failure(hip.compile(hip.opened(0), kScale, "scale", &kernel), SLUICE_ERROR, "need hipRTC");
  };
  run_with(kHip, {}, body, [] { open_simulated("hip", {"libamd_comgr.so.3", "libamdhip64.so.7"}); });
}

TEST(HipFaults, CodeThatTheRunTimeDoesNotTake) {
  expect_kernel(kHip, {{"SIMULATED_HIP_FAULTS", "hipModuleLoadData=209"}}, SLUICE_ERROR, "must be of one ROCm");
  expect_kernel(kHip, {{"SIMULATED_HIP_FAULTS", "hiprtcCompileProgram=6"}}, SLUICE_BAD_SOURCE,
                "HIPRTC_ERROR_COMPILATION");
  expect_kernel(kHip, {{"SIMULATED_HIP_FAULTS", "hiprtcCompileProgram=7"}}, SLUICE_ERROR, "hiprtcCompileProgram");
}

// HIP keeps the last error of a thread, and an event that has not passed is one. Libraries ask after their own calls.
TEST(HipFaults, NoErrorIsLeftForOthersToFind) {
  run_with(kHip, {}, [](StreamTable& hip) {
    void* const driver = use_simulated_hip();
    const auto left = [&] { return call_driver(driver, "hipPeekAtLastError"); };
    sluice_device* const device = hip.opened(0);
    sluice_memory memory = 0;
    EXPECT_EQ(hip.table->alloc(device, std::uint64_t{1} << 40, &memory), SLUICE_OUT_OF_MEMORY);
    EXPECT_EQ(left(), 0);
    memory = hip.block(device, {1, 2});
    hip.expect_ok(hip.scale(device, hip.compiled(device, kScale, "scale"), memory, 2, 3));
    hip.expect_ok(hip.table->free(device, memory));  // looks whether the work has passed
    EXPECT_EQ(left(), 0);
    EXPECT_NE(call_driver(driver, "hipSetDevice", 99), 0);
    hip.expect_ok(hip.table->sync(device));
    EXPECT_EQ(left(), 101) << "that of the caller is left alone";
  });
}

}  // namespace
}  // namespace sluice::tests
#else
TEST(StreamsFaults, Table) { GTEST_SKIP() << "built without the backends"; }
#endif
