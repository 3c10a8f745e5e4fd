// The devices of this machine that run the library's kernels, for tests that compare them with the CPU: the OpenCL
// device, for which PoCL is enough, the virtual GPU of tests/simulated/, and the CUDA, HIP and Metal backends on
// simulated drivers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "sluice/sluice.hpp"
#include "src/device/device_impl.hpp"
#include "tests/simulated_driver.hpp"

namespace sluice::tests {

/// Holds what a device computes against the CPU.
struct KernelComparison {
  Device device = cpu_device();

  /// Expects f to give the same on the device as on the CPU, within `tolerance` relative to each value and `absolute`.
  template <class F, class... X>
  void expect_same(const std::string& what, double tolerance, double absolute, F&& f, const X&... x) {
    const Tensor expected = f(x...);
    const Tensor there = f((x | device)...);
    EXPECT_EQ(there.device(), device) << what;
    expect_close(what, tolerance, absolute, there | cpu_device(), expected);
  }

  static void expect_close(const std::string& what, double tolerance, double absolute, const Tensor& got,
                           const Tensor& expected) {
    ASSERT_EQ(got.dtype(), expected.dtype()) << what;
    ASSERT_EQ(got.shape(), expected.shape()) << what;
    if (!got.dtype().is_floating()) {
      const auto a = cast(got, i64).to_vector<std::int64_t>(), b = cast(expected, i64).to_vector<std::int64_t>();
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], b[i]) << what << ", element " << i;
      return;
    }
    const auto a = cast(got, f64).to_vector<double>(), b = cast(expected, f64).to_vector<double>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(b[i])) {
        ASSERT_TRUE(std::isnan(a[i])) << what << ", element " << i << ": " << a[i];
      } else if (a[i] != b[i]) {
        ASSERT_LE(std::fabs(a[i] - b[i]), tolerance * std::fabs(b[i]) + absolute)
            << what << ", element " << i << ": " << a[i] << ", not " << b[i];
      }
    }
  }
};

/// A test for each backend of this name; skips where it finds no device. The plug-ins lie where the build puts them.
class KernelDevice : public ::testing::TestWithParam<const char*>, public KernelComparison {
 protected:
  void SetUp() override {
    setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/../..:" SLUICE_TEST_PLUGINS "/virtual", 0);
#ifdef SLUICE_TEST_SIMULATED
    use_simulated_driver(GetParam());
#endif
    if (!functional(GetParam())) GTEST_SKIP() << why(GetParam());
    device = get_device(GetParam());
  }

  /// Those of the types that the device has, by its own word.
  std::vector<DType> supported(std::vector<DType> types) const {
    if (!device.impl()->has_f64()) std::erase(types, f64);
    return types;
  }

  /// Element types to go through, for each backend others, because every kernel is a run of a compiler; what depends on
  /// the type is the same C on every device. `sluice conformance` goes through all of them.
  static std::vector<DType> types() {
    if (GetParam() == std::string("CUDA")) return {i32, f32};
    if (GetParam() == std::string("AMDGPU")) return {f32};
    if (GetParam() == std::string("Metal")) return {u8, f32};
    if (GetParam() == std::string("Virtual")) return {u8, i64, f16, f64};
    return {i8, i32, bf16, f32, f64};
  }
  static std::vector<DType> floating_types() {
    if (GetParam() == std::string("CUDA") || GetParam() == std::string("AMDGPU")) return {f32};
    if (GetParam() == std::string("Metal")) return {f16, f32};
    if (GetParam() == std::string("Virtual")) return {bf16, f32};
    return {f16, f32, f64};
  }
};

#define SLUICE_INSTANTIATE_FOR_KERNEL_DEVICES(Fixture)                                                     \
  INSTANTIATE_TEST_SUITE_P(On, Fixture, ::testing::Values("OpenCL", "Virtual", "CUDA", "AMDGPU", "Metal"), \
                           [](auto& info) { return std::string(info.param); })

inline std::string name_of(DType dtype) { return std::string(dtype.name()); }

/// Numbers between low and high, as integers if the type is one.
inline Tensor numbers(const Shape& shape, DType dtype, double low, double high, std::uint64_t seed) {
  const Tensor unit = rand(shape, f64, {seed, 0});
  if (dtype == boolean) return unit < 0.5;
  const Tensor scaled = unit * (high - low) + low;
  return cast(dtype.is_floating() ? scaled : round(scaled), dtype);
}

/// One unit in the last place, relative, of what is stored in a type.
inline double unit_of(DType dtype) {
  if (dtype == f16) return 0x1p-10;
  if (dtype == bf16) return 0x1p-7;
  return dtype == f32 ? 0x1p-23 : dtype == f64 ? 0x1p-52 : 0;
}

/// What combining many values in another order may change, relative: sums of doubles are plain, all others are kept
/// with more digits than they are stored with.
inline double order_of(DType dtype, double units) { return dtype == f64 ? 1e-13 : units * unit_of(dtype); }

}  // namespace sluice::tests
