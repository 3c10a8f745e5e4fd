// Products of the library by the vendor's BLAS of a backend with streams, on its simulated driver, against the CPU.
#include <gtest/gtest.h>

#if defined(SLUICE_TEST_SIMULATED) && defined(SLUICE_CUDA_PLUGIN)
#include "kernel_device.hpp"
#include "plugin_overlay.hpp"
#include "src/device/plugin_gemm.hpp"
#include "tests/stream_vendor.hpp"

namespace sluice {
namespace {

using tests::numbers;
using State = detail::GemmChoice::State;

class StreamsGemm : public ::testing::TestWithParam<tests::StreamVendor>, public tests::KernelComparison {
 protected:
  void SetUp() override {
    setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/../..", 1);
    setenv("SLUICE_BACKENDS", "cuda,amdgpu", 1);
    tests::use_simulated_driver(GetParam().backend);
    device = get_device(GetParam().backend);
    ASSERT_EQ(tests::table_of(GetParam().plugin).enable(0), SLUICE_OK);
    choice().force(State::vendor);
  }
  detail::GemmChoice& choice() { return dynamic_cast<detail::PluginDevice&>(*device.impl()).gemm_choice(); }
};
using tests::kCuda;
using tests::kHip;
SLUICE_INSTANTIATE_FOR_STREAM_VENDORS(StreamsGemm);

TEST_P(StreamsGemm, MultipliesEveryTypeInEveryForm) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    for (int form = 0; form < 4; ++form) {
      const bool ta = (form & 1) != 0, tb = (form & 2) != 0;
      const std::uint64_t before = choice().products;
      expect_same(
          std::string(dtype.name()) + " form " + std::to_string(form), 2 * tests::unit_of(dtype),
          dtype == f64 ? 1e-13 : 1e-5,
          [&](const Tensor& x, const Tensor& y) { return matmul(x, y, {.transpose_a = ta, .transpose_b = tb}); },
          numbers(ta ? Shape{33, 15} : Shape{15, 33}, dtype, -3, 3, 1),
          numbers(tb ? Shape{20, 33} : Shape{33, 20}, dtype, -3, 3, 2));
      EXPECT_EQ(choice().products, before + 1) << "by the vendor's";
    }
  }
}

TEST_P(StreamsGemm, BatchesAndPartsOfTensors) {
  const auto product = [](const Tensor& x, const Tensor& y) { return matmul(x, y); };
  const auto last = [](const Tensor& x, const Tensor& y) { return matmul(slice(x, 2, 4, 5), slice(y, 2, 2, 3)); };
  const Tensor x = numbers({3, 4, 5}, f32, -1, 1, 1), y = numbers({4, 2, 5}, f32, -1, 1, 2);
  expect_same("batch", 1e-6, 1e-5, product, x, y);
  expect_same("one left", 1e-6, 1e-5, product, numbers({3, 4}, f32, -1, 1, 1), y);
  expect_same("one right", 1e-6, 1e-5, product, x, numbers({4, 2}, f32, -1, 1, 2));
  expect_same("offsets", 1e-6, 1e-5, last, x, y);
  EXPECT_GE(choice().products, 4U);
}

}  // namespace
}  // namespace sluice
#else
TEST(StreamsGemm, OfSimulatedDrivers) { GTEST_SKIP() << "built without the simulated drivers"; }
#endif
