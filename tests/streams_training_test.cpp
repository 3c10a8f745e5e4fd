// Training with the backends that have streams, on two devices of their simulated drivers.
#include <gtest/gtest.h>

#ifdef SLUICE_TEST_SIMULATED
#include "digits_training.hpp"
#include "kernel_device.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

class StreamsTraining : public ::testing::TestWithParam<const char*> {
 protected:
  StreamsTraining() {
    setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/../..", 1);
    setenv("SLUICE_BACKENDS", "cuda,amdgpu", 1);
    setenv("VIRTUAL_GPU_COUNT", "2", 1);
    tests::use_simulated_driver(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(On, StreamsTraining, ::testing::Values("CUDA", "AMDGPU"),
                         [](auto& info) { return std::string(info.param); });

TEST_P(StreamsTraining, AnEpochOfDigitsIsTheCpuOne) {
  if (!functional(GetParam())) GTEST_SKIP() << why(GetParam());
  const double expected = tests::train_digits(cpu_device());
  EXPECT_GT(expected, 0.5);
  EXPECT_LT(expected, 2.5);
  EXPECT_NEAR(tests::train_digits(get_device(GetParam(), 1)), expected, 1e-4);
}

/// Steps of training on data that is the same for all.
void take_steps(tests::DigitsNet& model, int steps) {
  const Device device = device_of(model);
  const Tensor x = rand({64, 20}, f32, {1, 1}) | device;
  const Tensor y = cast(floor(rand({20}, f32, {2, 2}) * 10), i64) | device;
  auto state = setup(Descent{0.1}, model);
  for (int k = 0; k < steps; ++k) {
    const auto [loss, gradients] = withgradient([&](auto& m) { return logitcrossentropy(m(x), y); }, model);
    update(state, model, gradients);
  }
}

// To the last bit, since both devices run the same kernels.
TEST_P(StreamsTraining, GoesOnFromAFileOnTheOtherDevice) {
  if (!functional(GetParam())) GTEST_SKIP() << why(GetParam());
  const tests::TemporaryFolder folder;
  const std::string whole = folder / "whole.safetensors", half = folder / "half.safetensors",
                    rest = folder / "rest.safetensors";
  seed(7);
  const tests::DigitsNet begin;
  tests::DigitsNet first = begin | get_device(GetParam(), 0), second = tests::DigitsNet{} | get_device(GetParam(), 1);
  take_steps(first, 3);
  save(half, first);
  take_steps(first, 3);
  save(whole, first);
  load(half, second);
  EXPECT_EQ(device_of(second), get_device(GetParam(), 1));
  take_steps(second, 3);
  save(rest, second);
  EXPECT_EQ(tests::content_of(rest), tests::content_of(whole));
  EXPECT_NE(tests::content_of(half), tests::content_of(whole)) << "it learns";
}

}  // namespace
}  // namespace sluice
#else
TEST(StreamsTraining, OnSimulatedDrivers) { GTEST_SKIP() << "built without the simulated drivers"; }
#endif
