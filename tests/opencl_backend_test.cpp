// The OpenCL backend's table, without the library. Runs where OpenCL finds a device; PoCL makes two of one
// processor.
#include <gtest/gtest.h>

#ifdef SLUICE_OPENCL_PLUGIN
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "kept.hpp"
#include "sluice/backend.h"

namespace sluice::tests {
namespace {

using Floats = std::vector<float>;

const sluice_backend& backend_table() {
  setenv("POCL_DEVICES", "pthread pthread", 0);
  void* const library = dlopen(SLUICE_OPENCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  const auto open = reinterpret_cast<sluice_backend_open_function>(dlsym(library, "sluice_backend_open"));
  return *open(SLUICE_BACKEND_ABI);
}

/// The backend without the library, and what a test needs to be short.
class OpenClTable : public ::testing::Test {
 protected:
  void SetUp() override {
    const sluice_status status = table.device_count(&count);
    if (status != SLUICE_OK || count == 0) GTEST_SKIP() << "no OpenCL device: " << table.last_error();
    device = opened(0);
  }

  /// A device stays open for the process, and so does its object here.
  sluice_device* opened(std::uint32_t number) {
    static std::array<sluice_device*, 8> devices{};
    if (devices.at(number) == nullptr) expect_ok(table.open(number, &devices.at(number)));
    return devices.at(number);
  }
  void expect_ok(sluice_status status) { EXPECT_EQ(status, SLUICE_OK) << table.last_error(); }
  void expect_failure(sluice_status status, sluice_status expected, const std::string& part) {
    EXPECT_EQ(status, expected);
    EXPECT_NE(std::string(table.last_error()).find(part), std::string::npos) << table.last_error();
  }

  sluice_memory block(sluice_device* on, const Floats& numbers) {
    sluice_memory memory = 0;
    expect_ok(table.alloc(on, numbers.size() * sizeof(float), &memory));
    expect_ok(table.write(on, memory, 0, numbers.data(), numbers.size() * sizeof(float)));
    return memory;
  }
  Floats content(sluice_device* on, sluice_memory memory, std::size_t size) {
    Floats numbers(size);
    expect_ok(table.read(on, memory, 0, numbers.data(), size * sizeof(float)));
    return numbers;
  }
  sluice_status compile(const char* text, const char* entry, sluice_kernel** kernel, const char* options = "") {
    const sluice_source source{sizeof source, 0, text, entry, options};
    const sluice_status status = table.compile(device, &source, kernel);
    if (status == SLUICE_OK) tests::kept(*kernel);
    return status;
  }
  sluice_kernel* compiled(const char* text, const char* entry) {
    sluice_kernel* kernel = nullptr;
    expect_ok(compile(text, entry, &kernel));
    return kernel;
  }
  sluice_status launch(sluice_kernel* kernel, std::uint32_t groups, std::uint32_t size,
                       const std::vector<sluice_argument>& arguments) {
    const sluice_launch call{
        sizeof call, static_cast<std::uint32_t>(arguments.size()), {groups, 1, 1}, {size, 1, 1}, arguments.data()};
    return table.launch(device, kernel, &call);
  }
  static sluice_argument memory_argument(sluice_memory memory, std::uint64_t offset = 0) {
    return {memory, offset, nullptr, 0, 0};
  }
  template <class T>
  static sluice_argument value_argument(const T& value) {
    return {0, 0, &value, sizeof value, 0};
  }

  const sluice_backend& table = backend_table();
  std::uint32_t count = 0;
  sluice_device* device = nullptr;
};

Floats numbers_from(float first, std::size_t size) {
  Floats result(size);
  std::iota(result.begin(), result.end(), first);
  return result;
}

constexpr const char* kScale =
    "__kernel void scale(__global float* x, float factor, int count) {\n"
    "  int i = (int)get_global_id(0);\n"
    "  if (i < count) x[i] *= factor;\n"
    "}\n";

TEST_F(OpenClTable, DescribesEachDevice) {
  for (std::uint32_t number = 0; number < count; ++number) {
    sluice_device_info info{};
    info.size = sizeof info;
    expect_ok(table.info(opened(number), &info));
    EXPECT_EQ(info.size, sizeof info);
    EXPECT_EQ(info.dialect, SLUICE_DIALECT_OPENCL);
    EXPECT_GT(info.memory_bytes, 0U);
    EXPECT_GT(info.max_group_size, 0U);
    EXPECT_GT(info.local_bytes, 0U);
    EXPECT_STRNE(info.name, "");
    EXPECT_STRNE(info.driver, "");
    EXPECT_EQ(std::string(info.architecture).rfind("OpenCL ", 0), 0U) << info.architecture;
    std::uint64_t handle = 0;
    expect_ok(table.native_handle(opened(number), &handle));
    EXPECT_NE(handle, 0U);
    if (std::string(info.name).rfind("pthread", 0) == 0) {
      EXPECT_EQ(info.kind, SLUICE_KIND_CPU);
      EXPECT_EQ(info.features, SLUICE_FEATURE_F64 | SLUICE_FEATURE_UNIFIED);
    }
  }
  sluice_device* none = nullptr;
  expect_failure(table.open(count, &none), SLUICE_ERROR, "no device " + std::to_string(count));
}

TEST_F(OpenClTable, FillsOnlyTheRoomThatAnOlderHostHas) {
  sluice_device_info info{};
  info.size = offsetof(sluice_device_info, name);
  info.name[0] = '?';
  expect_ok(table.info(device, &info));
  EXPECT_GT(info.memory_bytes, 0U);
  EXPECT_EQ(info.name[0], '?');
}

TEST_F(OpenClTable, CountsMemory) {
  std::uint64_t before = 0, during = 0, after = 0;
  sluice_memory memory = 0;
  expect_ok(table.free_bytes(device, &before));
  expect_ok(table.alloc(device, 1 << 20, &memory));
  expect_ok(table.free_bytes(device, &during));
  EXPECT_EQ(before - during, std::uint64_t{1} << 20);
  expect_ok(table.free(device, memory));
  expect_ok(table.free_bytes(device, &after));
  EXPECT_EQ(after, before);
  expect_failure(table.free(device, memory), SLUICE_ERROR, "freed");
  expect_failure(table.alloc(device, 0, &memory), SLUICE_ERROR, "0 bytes");
}

TEST_F(OpenClTable, RefusesMoreMemoryThanThereIs) {
  std::uint64_t free_bytes = 0;
  expect_ok(table.free_bytes(device, &free_bytes));
  sluice_memory memory = 0;
  expect_failure(table.alloc(device, free_bytes + 1, &memory), SLUICE_OUT_OF_MEMORY, "asked for");
  // No byte of these is touched, so on a processor they cost nothing; and its driver never says that memory is out.
  const std::uint64_t bytes = free_bytes / 8;
  std::vector<sluice_memory> blocks;
  sluice_status status = SLUICE_OK;
  while (blocks.size() < 100 && (status = table.alloc(device, bytes, &memory)) == SLUICE_OK) blocks.push_back(memory);
  EXPECT_EQ(status, SLUICE_OUT_OF_MEMORY) << table.last_error();
  EXPECT_LE(blocks.size(), 8U);
  EXPECT_GE(blocks.size(), 4U);
  for (const sluice_memory each : blocks) expect_ok(table.free(device, each));
  expect_ok(table.alloc(device, bytes, &memory));
  expect_ok(table.free(device, memory));
}

TEST_F(OpenClTable, CopiesPartsOfBlocks) {
  const sluice_memory a = block(device, numbers_from(0, 100)), b = block(device, numbers_from(1000, 100));
  const Floats part = {-1, -2, -3};
  expect_ok(table.write(device, a, 40, part.data(), 12));
  expect_ok(table.copy(device, b, 4, a, 36, 20));
  EXPECT_EQ(content(device, b, 7), (Floats{1000, 9, -1, -2, -3, 13, 1006}));
  expect_ok(table.write(device, a, 400, part.data(), 0));
  expect_failure(table.write(device, a, 396, part.data(), 8), SLUICE_ERROR, "outside");
  expect_failure(table.copy(device, b, 0, a, ~std::uint64_t{0}, 8), SLUICE_ERROR, "outside");
  EXPECT_EQ(content(device, a, 100)[99], 99.0F);
}

TEST_F(OpenClTable, WriteLetsItsSourceBeReused) {
  const std::size_t size = 1 << 20;
  const sluice_memory memory = block(device, Floats(size, 0));
  Floats source(size, 1);
  for (int round = 0; round < 5; ++round) {
    std::fill(source.begin(), source.end(), static_cast<float>(round));
    expect_ok(table.write(device, memory, 0, source.data(), size * 4));
    std::fill(source.begin(), source.end(), -1.0F);
    EXPECT_EQ(content(device, memory, size), Floats(size, static_cast<float>(round)));
  }
}

TEST_F(OpenClTable, TicketsPassInOrder) {
  const std::size_t size = 1 << 16;
  void *out = nullptr, *in = nullptr;
  expect_ok(table.alloc_host(device, size * 4, &out));
  expect_ok(table.alloc_host(device, size * 4, &in));
  const sluice_memory memory = block(device, Floats(size, 0));
  sluice_kernel* const kernel = compiled(kScale, "scale");
  const float factor = 3;
  const int number = size;
  const Floats source = numbers_from(5, size);
  std::memcpy(out, source.data(), size * 4);
  // Far more than are ever kept without being asked for.
  for (int round = 0; round < 300; ++round) {
    sluice_ticket written = 0, read = 0;
    expect_ok(table.write_async(device, memory, 0, out, size * 4, &written));
    expect_ok(launch(kernel, size / 64, 64, {memory_argument(memory), value_argument(factor), value_argument(number)}));
    expect_ok(table.read_async(device, memory, 0, in, size * 4, &read));
    if (round % 100 != 99) continue;
    expect_ok(table.wait(device, read));
    expect_ok(table.wait(device, read));
    expect_ok(table.wait(device, written));
    const auto* const got = static_cast<const float*>(in);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(got[i], 3 * source[i]) << i;
    std::memset(in, 0, size * 4);
  }
  expect_failure(table.wait(device, 1 << 20), SLUICE_ERROR, "no ticket");
  expect_ok(table.free_host(device, out));
  expect_ok(table.free_host(device, in));
  expect_failure(table.free_host(device, in), SLUICE_ERROR, "not host memory");
}

TEST_F(OpenClTable, CopiesBetweenDevicesAfterTheWorkOfBoth) {
  if (count < 2) GTEST_SKIP() << "only one OpenCL device";
  sluice_device* const other = opened(1);
  const std::size_t size = 1 << 20;
  const Floats source = numbers_from(0, size);
  const sluice_memory from = block(device, source), to = block(other, Floats(size, -1));
  sluice_kernel* const kernel = compiled(kScale, "scale");
  const float factor = 2;
  const int number = size;
  expect_ok(launch(kernel, size / 64, 64, {memory_argument(from), value_argument(factor), value_argument(number)}));
  const sluice_status status = table.peer_copy(other, to, 8, device, from, 4, (size - 2) * 4);
  if (status == SLUICE_UNSUPPORTED) GTEST_SKIP() << table.last_error();
  expect_ok(status);
  expect_ok(launch(kernel, size / 64, 64, {memory_argument(from), value_argument(factor), value_argument(number)}));
  const Floats got = content(other, to, size);
  EXPECT_EQ(got[1], -1.0F);
  for (std::size_t i = 2; i < size; ++i) ASSERT_EQ(got[i], 2 * source[i - 1]) << i;
  expect_failure(table.peer_copy(other, from, 0, device, to, 0, 4), SLUICE_ERROR, "not a block of this device");
}

TEST_F(OpenClTable, SaysWhyTextDoesNotCompile) {
  sluice_kernel* kernel = nullptr;
  expect_failure(compile("__kernel void k(__global float* x) { x[0] = absent; }", "k", &kernel), SLUICE_BAD_SOURCE,
                 "absent");
  expect_failure(compile("__kernel void k(__global float* x) { x[0] = 1.0f; }", "other", &kernel), SLUICE_BAD_SOURCE,
                 "other");
  expect_failure(compile(kScale, "scale", &kernel, "-no-such-option"), SLUICE_BAD_SOURCE, "no-such-option");
  expect_ok(compile("__kernel void k(__global int* x) { x[0] = NUMBER; }", "k", &kernel, "-D NUMBER=42"));
  const sluice_memory memory = block(device, {0});
  expect_ok(launch(kernel, 1, 1, {memory_argument(memory)}));
  int number = 0;
  expect_ok(table.read(device, memory, 0, &number, 4));
  EXPECT_EQ(number, 42);
}

TEST_F(OpenClTable, ChecksArguments) {
  sluice_kernel* const kernel = compiled(kScale, "scale");
  const sluice_memory memory = block(device, {1, 2, 3, 4});
  const float factor = 2;
  const int number = 4;
  const std::int64_t wide = 4;
  const auto x = memory_argument(memory), f = value_argument(factor), n = value_argument(number);
  expect_failure(launch(kernel, 1, 4, {x, f}), SLUICE_ERROR, "takes 3 arguments, not 2");
  expect_failure(launch(kernel, 1, 4, {x, f, value_argument(wide)}), SLUICE_ERROR, "argument 2 has 8 bytes");
  expect_failure(launch(kernel, 1, 4, {x, x, n}), SLUICE_ERROR, "argument 1 is memory");
  expect_failure(launch(kernel, 1, 4, {f, f, n}), SLUICE_ERROR, "argument 0 is a value");
  expect_failure(launch(kernel, 1, 4, {x, sluice_argument{}, n}), SLUICE_ERROR, "neither");
  expect_failure(launch(kernel, 1, 4, {memory_argument(memory, 4), f, n}), SLUICE_UNSUPPORTED, "offset");
  expect_failure(launch(kernel, 1, 4, {memory_argument(memory + 1), f, n}), SLUICE_ERROR, "not a block");
  expect_failure(launch(kernel, 0, 4, {x, f, n}), SLUICE_ERROR, "empty");
  expect_failure(launch(kernel, 1, 1 << 30, {x, f, n}), SLUICE_UNSUPPORTED, "at most");
  EXPECT_EQ(content(device, memory, 4), (Floats{1, 2, 3, 4})) << "nothing ran";
  expect_ok(launch(kernel, 1, 4, {x, f, n}));
  EXPECT_EQ(content(device, memory, 4), (Floats{2, 4, 6, 8}));
}

TEST_F(OpenClTable, RefusesTooMuchLocalMemory) {
  sluice_device_info info{};
  info.size = sizeof info;
  expect_ok(table.info(device, &info));
  const std::string text = "__kernel void k(__global float* x) {\n  __local float t[" +
                           std::to_string(info.local_bytes / 4 + 1) +
                           "];\n  t[get_local_id(0)] = x[0];\n  barrier(CLK_LOCAL_MEM_FENCE);\n  x[1] = t[0];\n}\n";
  sluice_kernel* kernel = nullptr;
  // Drivers may refuse it themselves while compiling.
  EXPECT_NE(compile(text.c_str(), "k", &kernel), SLUICE_OK);
  EXPECT_STRNE(table.last_error(), "");
}

TEST_F(OpenClTable, RunsGridsOfThreeDimensions) {
  sluice_kernel* const kernel = compiled(
      "__kernel void k(__global float* x) {\n"
      "  int i = get_global_id(0), j = get_global_id(1), l = get_global_id(2);\n"
      "  x[i + get_global_size(0) * (j + get_global_size(1) * l)] = i + 10 * j + 100 * l;\n"
      "}\n",
      "k");
  const sluice_memory memory = block(device, Floats(4 * 6 * 2, -1));
  const sluice_argument argument = memory_argument(memory);
  const sluice_launch call{sizeof call, 1, {2, 2, 1}, {2, 3, 2}, &argument};
  expect_ok(table.launch(device, kernel, &call));
  const Floats got = content(device, memory, 4 * 6 * 2);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i], static_cast<float>(i % 4 + 10 * (i / 4 % 6) + 100 * (i / 24)));
  }
}

TEST_F(OpenClTable, TakesUpItsOwnBinaryOnly) {
  sluice_kernel *kernel = compiled(kScale, "scale"), *again = nullptr;
  std::uint64_t bytes = 0;
  expect_ok(table.kernel_binary(kernel, nullptr, &bytes));
  std::vector<char> binary(bytes);
  std::uint64_t room = bytes - 1;
  expect_failure(table.kernel_binary(kernel, binary.data(), &room), SLUICE_ERROR, "does not fit");
  expect_ok(table.kernel_binary(kernel, binary.data(), &bytes));
  expect_ok(table.load_binary(device, binary.data(), bytes, "scale", &again));
  tests::kept(again);
  const sluice_memory memory = block(device, {1, 2, 3});
  const float factor = 4;
  const int number = 3;
  expect_ok(launch(again, 1, 4, {memory_argument(memory), value_argument(factor), value_argument(number)}));
  EXPECT_EQ(content(device, memory, 3), (Floats{4, 8, 12}));

  expect_failure(table.load_binary(device, binary.data(), bytes, "other", &again), SLUICE_ERROR, "other");
  expect_failure(table.load_binary(device, binary.data(), bytes - 1, "scale", &again), SLUICE_ERROR, "damaged");
  expect_failure(table.load_binary(device, binary.data(), 7, "scale", &again), SLUICE_ERROR, "too short");
  binary[bytes / 2] = static_cast<char>(binary[bytes / 2] ^ 1);
  expect_failure(table.load_binary(device, binary.data(), bytes, "scale", &again), SLUICE_ERROR, "damaged");
  binary[8] = static_cast<char>(binary[8] ^ 1);
  expect_failure(table.load_binary(device, binary.data(), bytes, "scale", &again), SLUICE_ERROR, "another device");
  const std::string foreign(200, 'x');
  expect_failure(table.load_binary(device, foreign.data(), 200, "scale", &again), SLUICE_ERROR, "not a kernel binary");
}

TEST_F(OpenClTable, KernelsBelongToTheirDevice) {
  if (count < 2) GTEST_SKIP() << "only one OpenCL device";
  sluice_kernel* const kernel = compiled(kScale, "scale");
  const sluice_launch call{sizeof call, 0, {1, 1, 1}, {1, 1, 1}, nullptr};
  expect_failure(table.launch(opened(1), kernel, &call), SLUICE_ERROR, "another device");
}

TEST_F(OpenClTable, ReadsWhileOthersSubmit) {
  const std::size_t size = 4096;
  const sluice_memory fixed = block(device, numbers_from(0, size)), busy = block(device, Floats(size, 1));
  sluice_kernel* const kernel = compiled(kScale, "scale");
  const float factor = 1;
  const int number = size;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) EXPECT_EQ(content(device, fixed, size), numbers_from(0, size));
    });
  }
  for (int round = 0; round < 200; ++round) {
    expect_ok(launch(kernel, size / 64, 64, {memory_argument(busy), value_argument(factor), value_argument(number)}));
  }
  for (std::thread& reader : readers) reader.join();
  expect_ok(table.sync(device));
  EXPECT_EQ(content(device, busy, size), Floats(size, 1));
}

TEST_F(OpenClTable, ErrorsAreOfTheThread) {
  sluice_memory memory = 0;
  expect_failure(table.alloc(device, 0, &memory), SLUICE_ERROR, "0 bytes");
  std::thread([&] { EXPECT_STREQ(table.last_error(), ""); }).join();
  EXPECT_STRNE(table.last_error(), "");
  expect_ok(table.sync(device));
  EXPECT_STREQ(table.last_error(), "");
}

TEST_F(OpenClTable, HasOneComponent) {
  sluice_component component{};
  component.size = sizeof component;
  expect_ok(table.component(0, &component));
  EXPECT_STREQ(component.name, "CLBlast");
  if (component.state == SLUICE_COMPONENT_FOUND) {
    EXPECT_NE(std::string(component.file).find("clblast"), std::string::npos);
  } else {
    EXPECT_STRNE(component.reason, "");
    EXPECT_EQ(table.probe(device, 0), SLUICE_UNSUPPORTED);
  }
  EXPECT_EQ(table.component(1, &component), SLUICE_UNSUPPORTED);
}

}  // namespace
}  // namespace sluice::tests
#else
TEST(OpenClTable, Backend) { GTEST_SKIP() << "built without the backends"; }
#endif
