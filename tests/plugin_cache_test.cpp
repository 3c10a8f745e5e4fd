// The kernels of a device kept on disk: a later process compiles nothing, and nothing that happens to the files or
// their folder changes what kernels compute. With the virtual GPU, and with OpenCL where it finds a device.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "simulated/controls.hpp"
#include "sluice/sluice.hpp"
#include "src/device/device_probe.hpp"
#include "src/device/kernel_store.hpp"
#include "src/device/plugin_device.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using tests::content_of;

constexpr int kNoDevice = 77;

/// Every body runs in a process of its own, which opens the backend for itself; this one never does.
class PluginCache : public ::testing::TestWithParam<std::string> {
 protected:
  PluginCache() {
    setenv("SLUICE_KERNEL_CACHE", kernels_.c_str(), 1);
    const std::string folder = is_virtual() ? tests::plugin_folder("virtual") : SLUICE_TEST_PLUGINS "/../..";
    setenv("SLUICE_BACKEND_PATH", folder.c_str(), 1);
    setenv("SLUICE_BACKENDS", is_virtual() ? "virtual" : "opencl", 1);
  }
  static bool is_virtual() { return GetParam() == "Virtual"; }

  /// The process number of a child that does `body` with the first device, whose probe has run.
  static pid_t start(const std::function<bool(detail::PluginDevice&)>& body) {
    const pid_t child = fork();
    if (child != 0) return child;
    alarm(100);
    if (!functional(GetParam())) _exit(kNoDevice);
    auto* const device = dynamic_cast<detail::PluginDevice*>(get_device(GetParam()).impl());
    _exit(body(*device) ? 0 : 1);
  }
  static int end(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static int run(const std::function<bool(detail::PluginDevice&)>& body) { return end(start(body)); }

  /// The virtual GPU knows the probe's kernel only.
  static bool computes(detail::PluginDevice& device) {
    if (!detail::probe_device(device).empty()) return false;
    if (is_virtual()) return true;
    const Tensor x = from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2});
    const Tensor y = sum(x | Device(&device), {0}) * 2.0 | cpu_device();
    return y.to_vector<float>() == std::vector<float>{12, 30};
  }
  static int run_counting(std::uint64_t& compiled, std::uint64_t& loaded) {
    // Shared with the child through a file.
    const tests::TemporaryFolder folder;
    const int code = run([&](detail::PluginDevice& device) {
      const bool is_right = computes(device);
      std::ofstream(folder / "counts") << device.compiled_kernels() << ' ' << device.loaded_kernels();
      return is_right;
    });
    std::ifstream(folder / "counts") >> compiled >> loaded;
    return code;
  }

  tests::TemporaryFolder folder_;
  const std::string kernels_ = folder_ / "kernels";
};

#define SLUICE_RUN_FIRST(...)                                 \
  if (const int code = run(__VA_ARGS__); code == kNoDevice) { \
    GTEST_SKIP() << "no device of " << GetParam();            \
  } else {                                                    \
    ASSERT_EQ(code, 0);                                       \
  }

TEST_P(PluginCache, ASecondProcessCompilesNothing) {
  std::uint64_t compiled = 0, loaded = 0;
  const int code = run_counting(compiled, loaded);
  if (code == kNoDevice) GTEST_SKIP() << "no device of " << GetParam();
  EXPECT_EQ(code, 0);
  const std::uint64_t kernels = compiled;
  EXPECT_EQ(kernels, is_virtual() ? 1u : 3u);
  EXPECT_EQ(detail::kernel_store_use(kernels_).files, kernels);
  EXPECT_EQ(run_counting(compiled, loaded), 0);
  EXPECT_EQ(compiled, 0u);
  EXPECT_GE(loaded, kernels);

  setenv("SLUICE_KERNEL_CACHE", "off", 1);
  EXPECT_EQ(run_counting(compiled, loaded), 0);
  EXPECT_GE(compiled, kernels);
  EXPECT_EQ(loaded, 0u);
}

TEST_P(PluginCache, WhatIsWrongWithAFileIsCompiledAgain) {
  SLUICE_RUN_FIRST(computes);
  const std::vector<fs::directory_entry> files(fs::directory_iterator(kernels_), fs::directory_iterator{});
  const auto expect_repaired = [&](const std::string& what) {
    std::uint64_t compiled = 0, loaded = 0;
    EXPECT_EQ(run_counting(compiled, loaded), 0) << what;
    EXPECT_GE(compiled, files.size()) << what;
    EXPECT_EQ(run_counting(compiled, loaded), 0) << what;
    EXPECT_EQ(compiled, 0u) << what << ", the second time";
  };
  const auto rewrite_all = [&](const std::function<std::string(std::string)>& change) {
    for (const fs::directory_entry& file : files) {
      const std::string content = content_of(file.path());
      std::ofstream(file.path(), std::ios::binary) << change(content);
    }
  };
  rewrite_all([](std::string) { return std::string(); });
  expect_repaired("empty");
  rewrite_all([](const std::string& content) { return content.substr(0, content.size() / 2); });
  expect_repaired("truncated");
  rewrite_all([](std::string) { return std::string(5000, 'x'); });
  expect_repaired("foreign");
  rewrite_all([](std::string content) {
    content[content.size() - 100] = static_cast<char>(content[content.size() - 100] ^ 1);
    return content;
  });
  expect_repaired("one bit");
}

TEST_P(PluginCache, ABitWrongInAnyPartOfTheFileIsSeen) {
  SLUICE_RUN_FIRST([&](detail::PluginDevice& device) {
    const fs::path file = fs::directory_iterator(kernels_)->path();
    const std::string whole = content_of(file);
    // OpenCL compiles for a while, and the part of the work that differs between devices has been done by then.
    const std::size_t step = is_virtual() ? 64 : whole.size() / 16;
    for (std::size_t i = 0; i < whole.size(); i += step) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      std::ofstream(file, std::ios::binary) << damaged;
      const std::uint64_t compiled = device.compiled_kernels();
      if (!detail::probe_device(device).empty() || device.compiled_kernels() != compiled + 1) return false;
      if (!detail::probe_device(device).empty() || device.compiled_kernels() != compiled + 1) return false;
    }
    return true;
  });
}

TEST_P(PluginCache, FoldersThatCannotBeUsedDoNoHarm) {
  std::uint64_t compiled = 0, loaded = 0;
  const auto expect_compiled = [&](const std::string& what) {
    EXPECT_EQ(run_counting(compiled, loaded), 0) << what;
    EXPECT_GT(compiled, 0u) << what;
    EXPECT_EQ(loaded, 0u) << what;
  };
  SLUICE_RUN_FIRST(computes);
  for (const fs::directory_entry& file : fs::directory_iterator(kernels_)) {
    fs::remove(file);
    fs::create_directory(file.path());
  }
  expect_compiled("folders in the files' places");
  fs::permissions(kernels_, fs::perms::others_write, fs::perm_options::add);
  expect_compiled("others may write in it");
  setenv("SLUICE_KERNEL_CACHE", "/proc/nothing", 1);
  expect_compiled("it cannot be made");
  setenv("SLUICE_KERNEL_CACHE", "relative", 1);
  expect_compiled("not absolute");
  unsetenv("SLUICE_KERNEL_CACHE");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  expect_compiled("no home");
}

TEST_P(PluginCache, ManyProcessesAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) children.push_back(start(computes));
  bool skips = false;
  for (const pid_t child : children) {
    const int code = end(child);
    skips = skips || code == kNoDevice;
    EXPECT_TRUE(skips || code == 0) << code;
  }
  if (skips) GTEST_SKIP() << "no device of " << GetParam();
  std::uint64_t compiled = 1, loaded = 0;
  EXPECT_EQ(run_counting(compiled, loaded), 0);
  EXPECT_EQ(compiled, 0u);
  EXPECT_EQ(detail::kernel_store_use(kernels_).files,
            static_cast<std::uint64_t>(std::distance(fs::directory_iterator(kernels_), fs::directory_iterator{})));
}

TEST_P(PluginCache, TheFaultsOfADriverAreNotKept) {
  if (!is_virtual()) GTEST_SKIP() << "OpenCL has no faults to order";
  ASSERT_EQ(run(computes), 0);
  for (const char* fault : {"load:1", "binary:1", "binary:2"}) {
    if (std::string(fault) != "load:1") fs::remove_all(kernels_);
    setenv("VIRTUAL_GPU_FAULTS", fault, 1);
    std::uint64_t compiled = 0, loaded = 0;
    EXPECT_EQ(run_counting(compiled, loaded), 0) << fault;
    EXPECT_GE(compiled, 1u) << fault;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, PluginCache, ::testing::Values("Virtual", "OpenCL"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace sluice
