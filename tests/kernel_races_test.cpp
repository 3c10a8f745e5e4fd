// What scripts/check_kernel_races.py runs under a checker of data races: every kernel of the library once, and one with
// a barrier taken away, which the checker must report. Without it, the first is one more comparison with the CPU.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernel_cases.hpp"

namespace sluice::tests {
namespace {

class KernelRaces : public KernelDevice {};
INSTANTIATE_TEST_SUITE_P(On, KernelRaces, ::testing::Values("OpenCL"),
                         [](auto& info) { return std::string(info.param); });

TEST_P(KernelRaces, EveryOperationOnce) {
  for (const Case& one : all_operations()) {
    const Tensor there = one.run(move_all(one.inputs, device));
    EXPECT_LE(difference(there | cpu_device(), one.run(one.inputs)), one.tolerance) << one.name;
  }
  EXPECT_NE(sum(transpose(softmax(numbers({300, 2}, f32, 0, 1, 1) | device))).item<float>(), 0);
}

TEST(KernelRaces, APlantedOne) {
  if (std::getenv("SLUICE_TEST_PLANT_RACE") == nullptr) GTEST_SKIP() << "only for the checker of races";
  void* const library = dlopen(SLUICE_TEST_PLUGINS "/../../libsluice-opencl.so", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto open = reinterpret_cast<sluice_backend_open_function>(dlsym(library, "sluice_backend_open"));
  const Device device = device_without(*open(SLUICE_BACKEND_ABI), "sluice_softmax", 1);
  (void)(softmax(numbers({40, 7}, f32, -3, 3, 1) | device) | cpu_device());
  EXPECT_EQ(barriers_found, 4);
}

}  // namespace
}  // namespace sluice::tests
