// Kernels on devices with small groups: an OpenCL device that says it has no larger ones, against the CPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernel_device.hpp"
#include "plugin_overlay.hpp"
#include "simulated/controls.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/device/device_probe.hpp"
#include "src/device/kernel_text.hpp"

namespace sluice {
namespace {

using tests::numbers;
using tests::order_of;

TEST(GroupSize, IsThePowerOfTwoThatFits) {
  const std::pair<std::uint32_t, std::uint32_t> kSizes[] = {
      {0, 256}, {1, 1}, {16, 16}, {63, 32}, {64, 64}, {255, 128}, {256, 256}, {257, 256}, {4096, 256}, {~0U, 256}};
  for (const auto& [most, size] : kSizes) EXPECT_EQ(detail::group_size_for(most), size) << most;
}

/// The largest group that a device behind such a table admits.
std::uint32_t admitted = 0;
const sluice_backend* below = nullptr;

sluice_status admit(sluice_device* device, sluice_device_info* info) {
  const sluice_status status = below->info(device, info);
  info->max_group_size = std::min(info->max_group_size, admitted);
  return status;
}

detail::PluginDevice& device_with_groups(const std::string& file, std::uint32_t most) {
  below = &tests::table_of(file);
  admitted = most;
  sluice_backend table = *below;
  table.info = admit;
  return tests::device_behind(table);
}

TEST(GroupSize, DevicesWithTooSmallGroupsAreRefused) {
  detail::PluginDevice& device = device_with_groups(tests::plugin_path("virtual"), 15);
  const std::string problem = detail::probe_device(device);
  EXPECT_NE(problem.find("at most 15 items"), std::string::npos) << problem;
  EXPECT_NE(problem.find("16"), std::string::npos) << problem;
}

class PluginGroups : public ::testing::TestWithParam<std::uint32_t>, public tests::KernelComparison {
 protected:
  void SetUp() override {
    setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/../..", 0);
    if (!functional("OpenCL")) GTEST_SKIP() << why("OpenCL");
    device = Device(&device_with_groups(SLUICE_TEST_PLUGINS "/../../libsluice-opencl.so", GetParam()));
  }
};

TEST_P(PluginGroups, TheProbeRuns) {
  EXPECT_EQ(detail::probe_device(dynamic_cast<detail::PluginDevice&>(*device.impl())), "");
}

TEST_P(PluginGroups, Elementwise) {
  for (const std::int64_t count : {1, 100, 100003}) {
    expect_same(
        "map", 1e-6, 1e-6, [](const Tensor& x) { return tanh(x) * 2 + x; }, numbers({count}, f32, -2, 2, 1));
  }
  expect_same(
      "copy", 0, 0,
      [](const Tensor& x) {
        return permute(x, {2, 0, 1});
      },
      numbers({5, 60, 7}, f32, -2, 2, 1));
}

TEST_P(PluginGroups, Reductions) {
  for (const Shape& shape : {Shape{1000, 3}, Shape{100003}}) {
    const Tensor x = numbers(shape, f32, -1, 1, 1);
    for (int dim = 0; dim < shape.rank(); ++dim) {
      expect_same(
          "sum", order_of(f32, 2), 1e-6, [&](const Tensor& v) { return sum(v, {dim}); }, x);
      expect_same(
          "argmax", 0, 0, [&](const Tensor& v) { return argmax(v, dim); }, x);
      expect_same(
          "softmax", order_of(f32, 8), 1e-37, [&](const Tensor& v) { return softmax(v, dim); }, x);
      expect_same(
          "var", 1e-6, 1e-7, [&](const Tensor& v) { return var(v, dim); }, x);
    }
  }
}

TEST_P(PluginGroups, Indices) {
  std::vector<std::int64_t> places(1500);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i * i % 37);
  const Tensor indices = from(places);
  expect_same(
      "gather", 0, 0, [](const Tensor& x, const Tensor& i) { return gather(x, i); }, numbers({3, 37}, f32, -1, 1, 1),
      indices);
  expect_same(
      "scatter_add", 0, 0, [](const Tensor& x, const Tensor& i) { return scatter_add(x, i, 37); },
      numbers({3, 1500}, f32, -1, 1, 1), indices);
}

TEST_P(PluginGroups, Products) {
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {64, 64, 8}, {65, 130, 33}}) {
    expect_same(
        "product", 0, 0, [](const Tensor& x, const Tensor& y) { return matmul(x, y, {.transpose_b = true}); },
        numbers({m, k}, i32, -30, 30, 1), numbers({n, k}, i32, -30, 30, 2));
  }
}

TEST_P(PluginGroups, RandomNumbers) {
  const RandomKey key{1, 2};
  const Tensor there = detail::empty({5001}, f32, device.impl());
  device.impl()->uniform(detail::dense_operand(there), 5001, key);
  expect_close("uniforms", 0, 0, there | cpu_device(), rand({5001}, f32, key));
}

INSTANTIATE_TEST_SUITE_P(Sizes, PluginGroups, ::testing::Values(16, 64, 200),
                         [](const auto& instance) { return "AtMost" + std::to_string(instance.param); });

}  // namespace
}  // namespace sluice
