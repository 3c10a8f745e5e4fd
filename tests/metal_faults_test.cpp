// The Metal backend where Metal is missing or something fails. A process sees one Metal, so each has a child of its
// own.
#include <gtest/gtest.h>

#if defined(SLUICE_METAL_PLUGIN) && defined(SLUICE_TEST_SIMULATED_METAL)
#include <functional>
#include <utility>

#include "tests/metal_table.hpp"
#include "tests/processes.hpp"

namespace sluice::tests {
namespace {

using Variables = std::vector<std::pair<const char*, const char*>>;

/// Runs a test body in a process with these variables.
void run_with(
    const Variables& variables, const std::function<void(MetalTable&)>& body,
    const std::function<void()>& prepare = [] { use_simulated_metal(); }) {
  const int code = testing::exit_code_of_child([&] {
    for (const auto& [name, value] : variables) setenv(name, value, 1);
    prepare();
    MetalTable metal(SLUICE_METAL_PLUGIN);
    body(metal);
    return !::testing::Test::HasFailure();
  });
  EXPECT_EQ(code, 0) << "the child says why";
}

/// Expects device_count to answer this, with a part of its reason.
void expect_count(const Variables& variables, sluice_status status, std::uint32_t expected, const std::string& part) {
  run_with(variables, [&](MetalTable& metal) {
    std::uint32_t count = 99;
    metal.expect_failure(metal.table->device_count(&count), status, part);
    if (status == SLUICE_OK) {
      EXPECT_EQ(count, expected);
    }
  });
}

TEST(MetalFaults, NoMetalIsNoNews) {
  const auto body = [](const MetalTable& metal) {
    std::uint32_t count = 0;
    metal.expect_failure(metal.table->device_count(&count), SLUICE_UNSUPPORTED, "no Metal, a part of macOS: /System/");
  };
  run_with({}, body, [] {});
}

TEST(MetalFaults, MachinesWithoutDevice) {
  expect_count({{"VIRTUAL_METAL_COUNT", "0"}}, SLUICE_OK, 0, "sees no GPU");
  expect_count({{"SIMULATED_METAL_FAULTS", "MTLCopyAllDevices=1"}}, SLUICE_OK, 0, "sees no GPU");
  expect_count({{"VIRTUAL_METAL_COUNT", "5"}}, SLUICE_OK, 5, "");
}

TEST(MetalFaults, ADeviceThatCannotBeOpened) {
  run_with({{"SIMULATED_METAL_FAULTS", "newCommandQueue=1@1"}}, [](MetalTable& metal) {
    sluice_device* device = nullptr;
    std::uint32_t count = 0;
    metal.expect_ok(metal.table->device_count(&count));
    metal.expect_failure(metal.table->open(0, &device), SLUICE_ERROR, "Simulated GPU 0 gives no command queue");
    metal.expect_ok(metal.table->open(0, &device));
  });
}

TEST(MetalFaults, MemoryThatRunsOut) {
  run_with({{"SIMULATED_METAL_FAULTS", "newBuffer=1@2"}}, [](MetalTable& metal) {
    sluice_memory memory = 0;
    sluice_device* const device = metal.opened(0);
    metal.expect_ok(metal.table->alloc(device, 256, &memory));
    metal.expect_failure(metal.table->alloc(device, 300, &memory), SLUICE_OUT_OF_MEMORY, "no buffer of 304 bytes");
    metal.expect_ok(metal.table->alloc(device, 256, &memory));
  });
}

TEST(MetalFaults, WhatTheCompilerCannotDoIsNotTheTextsFault) {
  const auto expect = [](const char* fault, sluice_status status, const std::string& part) {
    run_with({{"SIMULATED_METAL_FAULTS", fault}}, [&](MetalTable& metal) {
      sluice_kernel* kernel = nullptr;
      metal.expect_failure(metal.compile(metal.opened(0), kMetalScale, "scale", &kernel), status, part);
      metal.expect_ok(metal.compile(metal.opened(0), kMetalScale, "scale", &kernel));
    });
  };
  expect("newLibrary=3@1", SLUICE_BAD_SOURCE, "a planned failure (code 3)");
  expect("newLibrary=2@1", SLUICE_ERROR, "a planned failure (code 2)");
  expect("newFunction=1@1", SLUICE_BAD_SOURCE, "no kernel named scale");
  expect("newPipeline=2@1", SLUICE_ERROR, "kernel scale: a planned failure (code 2)");
}

// What later kernels make of its results would be wrong, and nobody would know.
TEST(MetalFaults, ACommandBufferThatFailsLosesItsDeviceOnly) {
  for (const char* const kind : {"integrated,integrated", "discrete,discrete"}) {
    const Variables broken = {
        {"SIMULATED_METAL_FAULTS", "commandBuffer=8@5"}, {"VIRTUAL_METAL_COUNT", "2"}, {"VIRTUAL_METAL_KIND", kind}};
    run_with(broken, [](MetalTable& metal) {
      sluice_device *const device = metal.opened(0), *const other = metal.opened(1);
      const sluice_memory here = metal.block(device, {1, 2}), there = metal.block(other, {3});
      sluice_kernel* const kernel = metal.compiled(device, kMetalScale, "scale");
      sluice_status status = SLUICE_OK;
      for (int round = 0; round < 10 && status == SLUICE_OK; ++round) {
        status = metal.scale(device, kernel, here, 2, 2);
        if (status == SLUICE_OK) status = metal.table->sync(device);
      }
      const std::string words = "on Simulated GPU 0 failed: a planned failure (code 8); it held scale";
      metal.expect_failure(status, SLUICE_DEVICE_LOST, words);
      sluice_memory memory = 0;
      float number = 0;
      metal.expect_failure(metal.table->alloc(device, 256, &memory), SLUICE_DEVICE_LOST, words);
      metal.expect_failure(metal.table->read(device, here, 0, &number, 4), SLUICE_DEVICE_LOST, words);
      metal.expect_failure(metal.table->write(device, here, 0, &number, 4), SLUICE_DEVICE_LOST, words);
      metal.expect_failure(metal.scale(device, kernel, here, 2, 2), SLUICE_DEVICE_LOST, words);
      metal.expect_ok(metal.table->free(device, here));
      EXPECT_EQ(metal.content(other, there, 1), Floats{3});
    });
  }
}

TEST(MetalFaults, AKernelThatLeavesItsMemoryIsNamed) {
  run_with({{"VIRTUAL_METAL_COUNT", "1"}}, [](MetalTable& metal) {
    sluice_device* const device = metal.opened(0);
    const sluice_memory memory = metal.block(device, {1});
    metal.expect_ok(metal.scale(device, metal.compiled(device, kMetalScale, "scale"), memory, 200, 2));
    metal.expect_failure(metal.table->sync(device), SLUICE_DEVICE_LOST, "kernel scale: it wrote beside a buffer");
  });
}

TEST(MetalFaults, MpsIsNotUsedBeforeItIsEnabled) {
  run_with({}, [](MetalTable& metal) {
    sluice_gemm gemm{};
    gemm.size = sizeof gemm;
    metal.expect_failure(metal.table->gemm(metal.opened(0), &gemm), SLUICE_UNSUPPORTED, "MPS is not enabled");
  });
}

TEST(MetalFaults, WithoutMpsTheOwnKernelsAreUsed) {
  const auto body = [](const MetalTable& metal) {
    sluice_component component{};
    component.size = sizeof component;
    metal.expect_ok(metal.table->component(0, &component));
    EXPECT_EQ(component.state, SLUICE_COMPONENT_MISSING);
    EXPECT_NE(std::string(component.reason).find("MetalPerformanceShaders"), std::string::npos) << component.reason;
    metal.expect_failure(metal.table->probe(metal.opened(0), 0), SLUICE_UNSUPPORTED, "MetalPerformanceShaders");
  };
  run_with({}, body, [] { use_simulated_metal(false); });
}

// Named by the stand-in, which would otherwise do something else than a test means.
TEST(MetalFaults, SettingsThatAreNoneEndTheProcess) {
  const auto start_with = [](const char* name, const char* value) {
    setenv(name, value, 1);
    use_simulated_metal();
    simulated_metal_function<void*()>("MTLCopyAllDevices")();
  };
  EXPECT_DEATH(start_with("SIMULATED_METAL_FAULTS", "newBuffer"), "\"newBuffer\" has no code");
  EXPECT_DEATH(start_with("VIRTUAL_METAL_KIND", "strange"), "VIRTUAL_GPU_KIND: \"strange\"");
}

}  // namespace
}  // namespace sluice::tests
#else
TEST(MetalFaults, Table) { GTEST_SKIP() << "built without the backends, or where nothing stands in for Metal"; }
#endif
