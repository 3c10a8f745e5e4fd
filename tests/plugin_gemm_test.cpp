// Products by a vendor's library against the CPU, and the choice between it and our own kernel: CLBlast on OpenCL, and
// what the simulated drivers bring.
#include "src/device/plugin_gemm.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernel_device.hpp"
#include "plugin_overlay.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/device/private_file.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using detail::PluginDevice;
using tests::numbers;
using State = detail::GemmChoice::State;

class PluginGemm : public ::testing::TestWithParam<const char*>, public tests::KernelComparison {
 protected:
  void SetUp() override {
    setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/../..", 1);
    tests::use_simulated_driver(GetParam());
    if (!functional(GetParam())) GTEST_SKIP() << why(GetParam());
    device = get_device(GetParam());
    impl().gemm_choice().force(State::undecided);
    impl().gemm_choice().products = 0;
  }
  PluginDevice& impl() { return dynamic_cast<PluginDevice&>(*device.impl()); }
  std::uint64_t products() { return impl().gemm_choice().products; }
  bool is_simulated() const { return GetParam() != std::string("OpenCL"); }
  static std::string plugin_file() {
    for (const BackendReport& backend : get_device_report().backends) {
      if (backend.name == GetParam()) return backend.file;
    }
    return "";
  }
  /// False without the library. Whether it is any good is not asked here: the products show it.
  bool enable_library() {
    const sluice_backend& table = tests::table_of(plugin_file());
    sluice_component component{};
    component.size = sizeof component;
    if (table.component(0, &component) != SLUICE_OK || component.state != SLUICE_COMPONENT_FOUND) return false;
    return table.enable(0) == SLUICE_OK;
  }
};

TEST_P(PluginGemm, TheLibraryMultipliesAsTheCpuDoes) {
  if (!enable_library()) GTEST_SKIP() << "the library is not there";
  impl().gemm_choice().force(State::vendor);
  const std::vector<DType> types =
      is_simulated() ? std::vector<DType>{f16, bf16, f32, f64} : std::vector<DType>{f32, f64};
  for (const DType dtype : types) {
    for (int form = 0; form < 4; ++form) {
      const bool ta = (form & 1) != 0, tb = (form & 2) != 0;
      const std::uint64_t before = products();
      expect_same(
          std::string(dtype.name()) + " form " + std::to_string(form), std::max(1e-6, tests::unit_of(dtype)),
          dtype == f64 ? 1e-13 : 1e-4,
          [&](const Tensor& x, const Tensor& y) { return matmul(x, y, {.transpose_a = ta, .transpose_b = tb}); },
          numbers(ta ? Shape{33, 65} : Shape{65, 33}, dtype, -3, 3, 1),
          numbers(tb ? Shape{40, 33} : Shape{33, 40}, dtype, -3, 3, 2));
      EXPECT_EQ(products(), before + 1);
    }
  }
}

TEST_P(PluginGemm, BatchesAndPartsOfTensors) {
  if (!enable_library()) GTEST_SKIP() << "the library is not there";
  impl().gemm_choice().force(State::vendor);
  const auto product = [](const Tensor& x, const Tensor& y) { return matmul(x, y); };
  expect_same("batch", 1e-6, 1e-5, product, numbers({3, 4, 5}, f32, -1, 1, 1), numbers({4, 2, 5}, f32, -1, 1, 2));
  expect_same("one left", 1e-6, 1e-5, product, numbers({3, 4}, f32, -1, 1, 1), numbers({4, 2, 5}, f32, -1, 1, 2));
  expect_same("one right", 1e-6, 1e-5, product, numbers({3, 4, 5}, f32, -1, 1, 1), numbers({4, 2}, f32, -1, 1, 2));
  EXPECT_GE(products(), 3u);
  const auto last_part = [](const Tensor& x, const Tensor& y) { return matmul(slice(x, 2, 4, 5), slice(y, 2, 2, 3)); };
  expect_same("offsets", 1e-6, 1e-5, last_part, numbers({3, 4, 5}, f32, -1, 1, 1), numbers({4, 2, 5}, f32, -1, 1, 2));
}

// What was in the result before does not matter, not even NaN.
TEST_P(PluginGemm, TheResultIsNotRead) {
  if (!enable_library()) GTEST_SKIP() << "the library is not there";
  impl().gemm_choice().force(State::vendor);
  for (const std::int64_t size : {5, 64, 200}) {
    {
      const Tensor left = full({size, size}, NAN, f32, device);
    }  // its memory is used again
    expect_same(
        "product", 1e-6, 1e-3, [](const Tensor& x, const Tensor& y) { return matmul(x, y); },
        numbers({size, size}, f32, -1, 1, 1), numbers({size, size}, f32, -1, 1, 2));
  }
}

TEST_P(PluginGemm, WhatTheLibraryDoesNotHaveIsMadeByOurKernel) {
  impl().gemm_choice().force(State::vendor);
  for (const DType dtype : {f16, bf16, i32}) {
    expect_same(
        std::string(dtype.name()), tests::unit_of(dtype), 1e-4,
        [](const Tensor& x, const Tensor& y) { return matmul(x, y); }, numbers({9, 7}, dtype, -3, 3, 1),
        numbers({7, 5}, dtype, -3, 3, 2));
  }
  EXPECT_EQ(products(), 0u);
}

TEST_P(PluginGemm, OurKernelIsUsedWhereItIsQuicker) {
  if (!enable_library()) GTEST_SKIP() << "the library is not there";
  impl().gemm_choice().force(State::own);
  expect_same(
      "product", 1e-6, 1e-4, [](const Tensor& x, const Tensor& y) { return matmul(x, y); },
      numbers({9, 7}, f32, -3, 3, 1), numbers({7, 5}, f32, -3, 3, 2));
  EXPECT_EQ(products(), 0u);
}

TEST_P(PluginGemm, SmallProductsAskNobody) {
  const tests::TemporaryFolder cache;
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  expect_same(
      "product", 1e-6, 1e-4, [](const Tensor& x, const Tensor& y) { return matmul(x, y); },
      numbers({9, 7}, f32, -3, 3, 1), numbers({7, 5}, f32, -3, 3, 2));
  EXPECT_EQ(cache.files(), 0u) << "no verdict was asked for";
  for (const auto& state : impl().gemm_choice().states) EXPECT_EQ(state, State::undecided);
}

/// 1 + 2^-12 is 1 in TF32.
TEST_P(PluginGemm, RoundsFactorsToTf32OnlyWhenAsked) {
  if (GetParam() != std::string("CUDA")) GTEST_SKIP() << "the library has no TF32";
  ASSERT_TRUE(enable_library());
  impl().gemm_choice().force(State::vendor);
  const Tensor x = full({8, 8}, 1 + 0x1p-12, f32, device);
  EXPECT_FALSE(is_tf32_allowed());
  EXPECT_TRUE(all(matmul(x, ones({8, 8}, f32, device)) == 8 * (1 + 0x1p-12)).item<bool>());
  allow_tf32(true);
  EXPECT_TRUE(is_tf32_allowed());
  EXPECT_TRUE(all(matmul(x, ones({8, 8}, f32, device)) == 8).item<bool>());
  const Tensor wide = cast(x, f64);
  EXPECT_TRUE(all(matmul(wide, wide) == 8 * (1 + 0x1p-12) * (1 + 0x1p-12)).item<bool>()) << "f64 is left alone";
  EXPECT_EQ(products(), 3u);
  allow_tf32(false);
}

/// Products of a process that asks for the vendor's library, and its warnings. The library is first tried by a helper
/// program, which finds the simulated driver only with this variable.
class PluginGemmWish : public PluginGemm {
 protected:
  void SetUp() override {
    PluginGemm::SetUp();
    if (!IsSkipped() && !is_simulated()) GTEST_SKIP() << "a trial of the real library takes long";
    setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
    setenv("SLUICE_PRODUCTS", "vendor", 1);
    set_log_sink([&](LogLevel, std::string_view text) { warnings_.emplace_back(text); });
  }
  void expect_products(std::uint64_t by_library, std::size_t warnings) {
    const auto product = [](const Tensor& x, const Tensor& y) { return matmul(x, y); };
    for (int i = 0; i < 2; ++i) {
      expect_same("product", 1e-6, 1e-4, product, numbers({9, 7}, f32, -3, 3, 1), numbers({7, 5}, f32, -3, 3, 2));
    }
    EXPECT_EQ(products(), by_library);
    EXPECT_EQ(warnings_.size(), warnings);
  }

 private:
  tests::TemporaryFolder cache_;
  std::vector<std::string> warnings_;
};

TEST_P(PluginGemmWish, IsFollowedWithoutATrial) {
  setenv("LD_LIBRARY_PATH", tests::simulated_folder(GetParam()).c_str(), 1);
  expect_products(2, 0);
}

TEST_P(PluginGemmWish, IsWarnedOfWhereTheLibraryDoesNotWork) {
  unsetenv("LD_LIBRARY_PATH");
  expect_products(0, 1);
}

TEST_P(PluginGemm, TheEnvironmentMayAskForOurKernels) {
  setenv("SLUICE_PRODUCTS", "own", 1);
  ASSERT_TRUE(enable_library() || !is_simulated());
  const Tensor x = ones({512, 512}, f32, device);
  EXPECT_TRUE(all(matmul(x, x) == 512).item<bool>());
  EXPECT_EQ(products(), 0u);
  EXPECT_EQ(impl().gemm_choice().states[2], State::own);
}

TEST_P(PluginGemm, AnUnknownWishIsWarnedOf) {
  setenv("SLUICE_PRODUCTS", "fast\n", 1);
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel, std::string_view text) { warnings.emplace_back(text); });
  const Tensor x = ones({2, 2}, f32, device);
  EXPECT_TRUE(all(matmul(x, x) == 2).item<bool>());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("$SLUICE_PRODUCTS"), std::string::npos);
  EXPECT_EQ(warnings[0].find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(On, PluginGemm, ::testing::Values("OpenCL", "CUDA", "AMDGPU"),
                         [](auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(On, PluginGemmWish, ::testing::Values("OpenCL", "CUDA", "AMDGPU"),
                         [](auto& info) { return std::string(info.param); });

/// The choice for f32 after a large product in a process of its own, -1 if the product was wrong.
int choice_of_next_program() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(200);
    const Device device = get_device("OpenCL");
    const Tensor x = ones({512, 512}, f32, device);
    const bool is_right = all(matmul(x, x) == 512).item<bool>();
    auto& choice = dynamic_cast<PluginDevice&>(*device.impl()).gemm_choice();
    const State state = choice.states[2];
    const bool is_made_so = (choice.products == 1) == (state == State::vendor);
    _exit(is_right && is_made_so ? static_cast<int>(state) : 9);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) != 9 ? WEXITSTATUS(status) : -1;
}

// The fixture would open OpenCL in this process, whose children could not use it.
TEST(PluginGemmTrial, IsMadeOnceAndItsVerdictIsFollowed) {
  setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/../..", 1);
  setenv("SLUICE_BACKENDS", "opencl", 1);
  const tests::TemporaryFolder cache;
  // PoCL keeps its own there, and has compiled CLBlast before, perhaps.
  setenv("POCL_CACHE_DIR", (detail::user_cache_folder() + "/pocl/kcache").c_str(), 0);
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  const int first = choice_of_next_program();
  // Its key names what the trial compares.
  std::string file, text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache.path())) {
    if (!entry.is_regular_file()) continue;
    const std::string content = tests::content_of(entry.path());
    if (content.find("sluice gemm") != std::string::npos) file = entry.path(), text = content;
  }
  if (file.empty()) GTEST_SKIP() << "no OpenCL device, or no CLBlast that works";
  const std::string works = "\nverdict works ", failed = "\nverdict failed ";
  const bool is_vendor = text.find(works) != std::string::npos;
  EXPECT_EQ(first, static_cast<int>(is_vendor ? State::vendor : State::own)) << text;
  const std::string &old = is_vendor ? works : failed, &other = is_vendor ? failed : works;
  std::ofstream(file) << std::string(text).replace(text.find(old), old.size(), other);
  EXPECT_EQ(choice_of_next_program(), static_cast<int>(is_vendor ? State::own : State::vendor));
}

}  // namespace
}  // namespace sluice
