// The library on the virtual GPU: every operation in every dialect, kernels whose barriers are taken away, training,
// and what crosses to the host meanwhile.
#include <gtest/gtest.h>

#include "digits_training.hpp"
#include "kernel_cases.hpp"
#include "kernel_device.hpp"
#include "src/device/plugin_device.hpp"
#include "tests/simulated/plugin.hpp"

namespace sluice {
namespace {

using tests::all_operations;
using tests::Case;
using tests::difference;
using tests::move_all;
using tests::numbers;
using tests::plugin_folder;
using tests::plugin_path;
using tests::VirtualGpu;

/// The library with the virtual devices only.
void use_virtual_devices() {
  std::string folders = plugin_folder("virtual");
  for (const char* name : {"cuda", "amdgpu", "metal", "opencl"}) folders += ":" + plugin_folder(name);
  setenv("SLUICE_BACKEND_PATH", folders.c_str(), 1);
  unsetenv("SLUICE_BACKENDS");
  unsetenv("SLUICE_GPU_BACKEND");
}

// ---- Dialects. Each backend has one of its own.

class VirtualDialect : public ::testing::TestWithParam<const char*> {
 protected:
  VirtualDialect() { use_virtual_devices(); }
};
INSTANTIATE_TEST_SUITE_P(Of, VirtualDialect, ::testing::Values("CUDA", "AMDGPU", "Metal", "OpenCL"),
                         [](auto& info) { return std::string(info.param); });

TEST_P(VirtualDialect, EveryOperationGivesWhatTheCpuGives) {
  ASSERT_TRUE(functional(GetParam())) << why(GetParam());
  const Device device = get_device(GetParam());
  for (const Case& one : all_operations()) {
    const Tensor there = one.run(move_all(one.inputs, device));
    EXPECT_EQ(there.device(), device) << one.name;
    EXPECT_LE(difference(there | cpu_device(), one.run(one.inputs)), one.tolerance) << one.name;
  }
}

// ---- Kernels without a barrier.

/// A device of its own that compiles the entry without that barrier.
Device device_without(const char* entry, int barrier) {
  static const tests::Plugin plugin;  // with a driver of its own
  const tests::Variable count("VIRTUAL_GPU_COUNT", "64");
  return tests::device_without(plugin.table, entry, barrier);
}

struct Barriers {
  const char* name;
  const char* entry;
  int count;
  friend std::ostream& operator<<(std::ostream& out, const Barriers& barriers) { return out << barriers.name; }
};
class WithoutABarrier : public ::testing::TestWithParam<Barriers> {};
INSTANTIATE_TEST_SUITE_P(Kernel, WithoutABarrier,
                         ::testing::Values(Barriers{"columns", "sluice_reduce", 1},
                                           Barriers{"argmax", "sluice_argreduce", 1},
                                           Barriers{"softmax", "sluice_softmax", 4},
                                           Barriers{"variance", "sluice_moments", 4},
                                           Barriers{"product", "sluice_product", 2}),
                         [](auto& info) { return std::string(info.param.name); });

TEST_P(WithoutABarrier, ItsNumbersAreWrong) {
  std::vector<Case> cases = all_operations();
  const Case& one =
      *std::find_if(cases.begin(), cases.end(), [](const Case& c) { return c.name == std::string(GetParam().name); });
  const Tensor expected = one.run(one.inputs);
  for (int barrier = -1; barrier < GetParam().count; ++barrier) {
    const Device device = device_without(GetParam().entry, barrier);
    const double off = difference(one.run(move_all(one.inputs, device)) | cpu_device(), expected);
    EXPECT_EQ(tests::barriers_found, GetParam().count);
    if (barrier < 0) EXPECT_LE(off, one.tolerance);
    else EXPECT_GT(off, 1e-3) << "without barrier " << barrier;
  }
}

// ---- Training.

using tests::train_digits;
using Net = tests::DigitsNet;

class OnVirtualDevice : public ::testing::Test {
 protected:
  OnVirtualDevice() { use_virtual_devices(); }
};

TEST_F(OnVirtualDevice, AnEpochOfDigitsIsTheCpuOne) {
  const double expected = train_digits(cpu_device()), got = train_digits(get_device("Virtual"));
  EXPECT_GT(expected, 0.5);
  EXPECT_LT(expected, 2.5);
  EXPECT_NEAR(got, expected, 1e-4);
}

TEST_F(OnVirtualDevice, AStepOfTrainingReadsNothingButTheLoss) {
  const Device device = get_device("Virtual");
  const VirtualGpu gpu(plugin_path("virtual"));
  Net model = Net{} | device;
  const Tensor x = numbers({64, 20}, f32, 0, 1, 1) | device;
  const Tensor y = onehotbatch(cast(numbers({20}, f32, 0, 9, 2), i64), 10) | device;
  auto state = setup(Adam{.eta = 1e-3}, model);
  gpu.reset_counters();
  for (int step = 1; step <= 3; ++step) {
    auto [loss, gradients] = withgradient([&](auto& m) { return logitcrossentropy(m(x), y); }, model);
    update(state, model, gradients);
    EXPECT_EQ(gpu.counters().host_reads, static_cast<std::uint64_t>(step - 1));
    EXPECT_TRUE(std::isfinite(loss.template item<float>()));
    EXPECT_EQ(gpu.counters().host_reads, static_cast<std::uint64_t>(step));
  }
  EXPECT_EQ(gpu.counters().host_read_bytes, 12U);
  EXPECT_EQ(gpu.counters().traps, 0U);
}

TEST_F(OnVirtualDevice, ASecondStepCompilesNothing) {
  const Device device = get_device("Virtual");
  const VirtualGpu gpu(plugin_path("virtual"));
  Net model = Net{} | device;
  auto state = setup(Adam{.eta = 1e-3}, model);
  for (int step = 0; step < 3; ++step) {
    gpu.reset_counters();
    const Tensor x = numbers({64, 20 + step}, f32, 0, 1, 1) | device,
                 y = numbers({10, 20 + step}, f32, 0, 1, 2) | device;
    auto [loss, gradients] = withgradient([&](auto& m) { return mse(m(x), y); }, model);
    update(state, model, gradients);
    EXPECT_EQ(gpu.counters().calls[VIRTUAL_GPU_COMPILE] == 0, step > 0) << step;
    EXPECT_GT(gpu.counters().calls[VIRTUAL_GPU_LAUNCH], 0U);
  }
}

}  // namespace
}  // namespace sluice
