// The OpenCL backend under the library. Runs where OpenCL finds a device; PoCL makes two of one processor.
#include <gtest/gtest.h>

#ifdef SLUICE_OPENCL_PLUGIN
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "sluice/sluice.hpp"
#include "src/device/plugin_device.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

/// The library with this backend only.
class OpenCl : public ::testing::Test {
 protected:
  OpenCl() {
    setenv("POCL_DEVICES", "pthread pthread", 0);
    setenv("SLUICE_BACKEND_PATH", std::filesystem::path(SLUICE_OPENCL_PLUGIN).parent_path().c_str(), 1);
    setenv("SLUICE_BACKENDS", "opencl", 1);
    unsetenv("SLUICE_GPU_BACKEND");
  }
  static bool skips() { return !available("OpenCL"); }
};

#define SLUICE_SKIP_WITHOUT_OPENCL() \
  if (skips()) GTEST_SKIP() << why("OpenCL")

TEST_F(OpenCl, IsLoadedAndFunctional) {
  EXPECT_TRUE(loaded("OpenCL")) << why("OpenCL");
  SLUICE_SKIP_WITHOUT_OPENCL();
  EXPECT_TRUE(functional("OpenCL")) << why("OpenCL");
  EXPECT_EQ(get_device("OpenCL").backend(), "OpenCL");
  EXPECT_FALSE(get_device("OpenCL").name().empty());
  EXPECT_NE(get_device("OpenCL").native_handle(), 0U);
}

TEST_F(OpenCl, ProcessorsAreNeverChosenUnasked) {
  SLUICE_SKIP_WITHOUT_OPENCL();
  for (const Device& device : devices("OpenCL")) {
    if (device.name().rfind("pthread", 0) != 0) GTEST_SKIP() << "there is a GPU: " << device.name();
  }
  EXPECT_EQ(get_device(), cpu_device());
  EXPECT_EQ(devices(), std::vector{cpu_device()});
  EXPECT_THROW(require_device(), DeviceError);
  EXPECT_FALSE(devices("OpenCL").empty());
}

/// Whether two tensors on the CPU have the same bits.
bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

/// All bit patterns that a byte of an element can have, and sizes around those of a group.
Tensor patterns(DType dtype, std::int64_t size) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size) * dtype.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(dtype == boolean ? i * 7 / 3 % 2 : i * 31 % 251);
  }
  return from_bytes(bytes.data(), bytes.size(), {size}, dtype);
}

TEST_F(OpenCl, MovesEveryTypeBitForBit) {
  SLUICE_SKIP_WITHOUT_OPENCL();
  const Device first = get_device("OpenCL"), last = devices("OpenCL").back();
  for (const DType dtype : {boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64}) {
    for (const std::int64_t size : {0, 1, 255, 4099}) {
      const Tensor source = patterns(dtype, size);
      const Tensor there = first(source);
      EXPECT_EQ(there.device(), first);
      EXPECT_TRUE(same_bits(cpu(there), source)) << dtype.name() << " x " << size;
      const Tensor further = last(there);
      EXPECT_EQ(further.device(), last);
      EXPECT_TRUE(same_bits(cpu(further), source)) << dtype.name() << " x " << size;
    }
  }
}

TEST_F(OpenCl, MovesLargeTensorsBetweenDevices) {
  SLUICE_SKIP_WITHOUT_OPENCL();
  if (devices("OpenCL").size() < 2) GTEST_SKIP() << "only one OpenCL device";
  const Tensor source = patterns(f32, (std::int64_t{9} << 20) / 4 + 3);
  EXPECT_TRUE(same_bits(cpu(get_device("OpenCL", 1)(get_device("OpenCL", 0)(source))), source));
}

TEST_F(OpenCl, SaysThatMemoryIsOut) {
  SLUICE_SKIP_WITHOUT_OPENCL();
  const Device device = get_device("OpenCL");
  try {
    device.impl()->free(device.impl()->allocate(std::size_t{1} << 60));
    FAIL() << "a device with so much memory";
  } catch (const OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("OpenCL device 0"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(same_bits(cpu(device(patterns(f32, 10))), patterns(f32, 10))) << "and goes on";
}

std::string message_of_allocation(const Device& device, std::size_t bytes) {
  try {
    device.impl()->free(device.impl()->allocate(bytes));
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "it was allocated";
}

TEST_F(OpenCl, SaysHowLargeABlockMayBe) {
  SLUICE_SKIP_WITHOUT_OPENCL();
  const Device device = get_device("OpenCL");
  const std::uint64_t memory = dynamic_cast<detail::PluginDevice*>(device.impl())->facts().memory_bytes;
  // No driver gives all memory in one piece, or all of it at all.
  const std::string text = message_of_allocation(device, memory);
  for (const char* part : {"OpenCL device 0: out of memory: asked for ", "GiB", "asked for, and "}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST_F(OpenCl, GivesNoMoreMemoryThanThereIs) {
  SLUICE_SKIP_WITHOUT_OPENCL();
  const Device device = get_device("OpenCL");
  const std::uint64_t memory = dynamic_cast<detail::PluginDevice*>(device.impl())->facts().memory_bytes;
  std::vector<detail::Storage*> blocks;
  std::string text;
  while (blocks.size() < 20 && text.empty()) {
    try {
      blocks.push_back(device.impl()->allocate(memory / 8));
    } catch (const OutOfMemory& error) {
      text = error.what();
    }
  }
  EXPECT_LE(blocks.size(), 8U);
  EXPECT_GE(blocks.size(), 4U);
  EXPECT_NE(text.find("of this device are in use"), std::string::npos) << text;
  for (detail::Storage* const block : blocks) device.impl()->free(block);
  EXPECT_EQ(message_of_allocation(device, memory / 16), "it was allocated") << "the next smaller step works";
}

TEST_F(OpenCl, SaysWhyAKernelDoesNotCompile) {
  SLUICE_SKIP_WITHOUT_OPENCL();
  auto* const device = dynamic_cast<detail::PluginDevice*>(get_device("OpenCL").impl());
  ASSERT_NE(device, nullptr);
  try {
    device->compile("// a kernel\n__kernel void k(__global float* x) {\n  x[0] =\n      absent;\n}\n", "k");
    FAIL() << "compiled";
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    for (const char* part :
         {"compile: OpenCL device 0: kernel k does not compile:\n", "undeclared identifier 'absent'",
          "\n      2 | __kernel void k(__global float* x) {\n      3 |   x[0] =\n>     4 |       absent;\n"
          "        |       ^\n      5 | }"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
    }
  }
}

/// The body runs in a process of its own, where OpenCL was not asked for anything yet.
class OpenClDeathTest : public OpenCl {
 protected:
  OpenClDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

int state_without_platforms() {
  setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
  try {
    if (!loaded("OpenCL") || available("OpenCL") || functional("OpenCL")) return 1;
    if (why("OpenCL").find("OpenCL") == std::string::npos) return 2;
    if (get_device() != cpu_device() || !devices("OpenCL").empty()) return 3;
  } catch (...) {
    return 4;
  }
  try {
    require_device("OpenCL");
  } catch (const DeviceError&) {
    return 0;
  }
  return 5;
}

TEST_F(OpenClDeathTest, WithoutAPlatformIsNotAvailable) {
  EXPECT_EXIT(std::_Exit(state_without_platforms()), ::testing::ExitedWithCode(0), "");
}

int state_without_linker() {
  const tests::TemporaryFolder cache;
  setenv("POCL_CACHE_DIR", cache.path().c_str(), 1);
  setenv("PATH", cache.path().c_str(), 1);
  cache.write("ld", "not a program");
  if (!available("OpenCL")) return 0;
  // A GPU needs no linker.
  if (!get_device_report().backends[3].devices[0].name.starts_with("pthread")) return 0;
  if (functional("OpenCL") || why("OpenCL").find("$PATH") == std::string::npos) return 1;
  try {
    get_device("OpenCL");
    return 2;
  } catch (const DeviceError& error) {
    return std::string(error.what()).find("linker ld") == std::string::npos ? 3 : 0;
  }
}

TEST_F(OpenClDeathTest, WithoutALinkerPoclIsRefusedAndTheProcessGoesOn) {
  EXPECT_EXIT(std::_Exit(state_without_linker()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice
#else
TEST(OpenCl, Backend) { GTEST_SKIP() << "built without the backends"; }
#endif
