// The tables of the backends with streams on their simulated drivers, where whatever streams and events do not order
// goes wrong.
#include <gtest/gtest.h>

#if defined(SLUICE_CUDA_PLUGIN) && defined(SLUICE_HIP_PLUGIN)
#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>
#include <tuple>

#include "tests/stream_table.hpp"
#include "tests/stream_vendor.hpp"

namespace sluice::tests {
namespace {

class StreamsBackend : public ::testing::TestWithParam<StreamVendor>, public StreamTable {
 protected:
  StreamsBackend() : StreamTable(GetParam().plugin) {
    setenv(vendor.count_variable, "2", 1);
    driver = use_simulated_driver(vendor.backend);
    expect_ok(table->device_count(&count));
    device = opened(0);
  }
  sluice_kernel* scaling() { return compiled(device, kScale, "scale"); }

  const StreamVendor& vendor = GetParam();
  void* driver = nullptr;
  std::uint32_t count = 0;
  sluice_device* device = nullptr;
};
SLUICE_INSTANTIATE_FOR_STREAM_VENDORS(StreamsBackend);

Floats numbers_from(float first, std::size_t size) {
  Floats result(size);
  std::iota(result.begin(), result.end(), first);
  return result;
}

TEST_P(StreamsBackend, DescribesEachDevice) {
  ASSERT_EQ(count, 2U);
  for (std::uint32_t number = 0; number < count; ++number) {
    sluice_device_info info{};
    info.size = sizeof info;
    expect_ok(table->info(opened(number), &info));
    EXPECT_EQ(info.kind, SLUICE_KIND_DISCRETE);
    EXPECT_EQ(info.dialect, vendor.dialect);
    EXPECT_EQ(info.features, SLUICE_FEATURE_F64);
    EXPECT_EQ(info.memory_bytes, std::uint64_t{1} << 30);
    EXPECT_EQ(info.max_group_size, 1024U);
    EXPECT_EQ(info.local_bytes, vendor.local_bytes);
    EXPECT_EQ(info.name, "Simulated GPU " + std::to_string(number));
    EXPECT_STREQ(info.architecture, vendor.architecture);
    EXPECT_STREQ(info.driver, vendor.driver_text);
    EXPECT_STREQ(info.card, number == 0 ? "0000:c1:00.0" : "0000:c2:00.0");
    std::uint64_t handle = 99;
    expect_ok(table->native_handle(opened(number), &handle));
    EXPECT_EQ(handle, number);
  }
  sluice_device* none = nullptr;
  expect_failure(table->open(2, &none), SLUICE_ERROR, "no device 2");
}

TEST_P(StreamsBackend, LeavesTheCurrentDeviceOfTheThread) {
  opened(1);
  for (const int before : {-1, 1, 0}) {
    vendor.choose(driver, before);
    const std::uint64_t chosen = vendor.current(driver);
    const sluice_memory there = block(opened(1), {7}), here = block(device, {1, 2});
    expect_ok(scale(device, scaling(), here, 2, 3));
    expect_ok(table->peer_copy(opened(1), there, 0, device, here, 0, 4));
    EXPECT_NE(table->write(device, here, 8, &before, 8), SLUICE_OK);
    EXPECT_NE(table->peer_copy(device, here, 4, opened(1), there, 0, 8), SLUICE_OK);
    EXPECT_EQ(content(opened(1), there, 1), Floats{3});
    expect_ok(table->sync(device));
    EXPECT_EQ(vendor.current(driver), chosen);
  }
}

TEST_P(StreamsBackend, CountsMemory) {
  std::uint64_t before = 0, during = 0, after = 0;
  sluice_memory memory = 0;
  expect_ok(table->free_bytes(device, &before));
  expect_ok(table->alloc(device, 1 << 20, &memory));
  EXPECT_EQ(memory % 256, 0U);
  expect_ok(table->free_bytes(device, &during));
  EXPECT_EQ(before - during, std::uint64_t{1} << 20);
  expect_ok(table->free(device, memory));
  expect_ok(table->free_bytes(device, &after));
  EXPECT_EQ(after, before);
  expect_failure(table->free(device, memory), SLUICE_ERROR, "freed");
  expect_failure(table->alloc(device, 0, &memory), SLUICE_ERROR, "0 bytes");
  expect_failure(table->alloc(device, before + 1, &memory), SLUICE_OUT_OF_MEMORY, "are free");
}

TEST_P(StreamsBackend, GivesFreedMemoryAgainWhileWorkIsQueued) {
  sluice_kernel* const kernel = scaling();
  std::uint64_t all = 0;
  expect_ok(table->free_bytes(device, &all));
  sluice_memory large = 0, again = 0;
  expect_ok(table->alloc(device, all / 2, &large));
  const Floats numbers = {1, 2, 3};
  expect_ok(table->write(device, large, 0, numbers.data(), 12));
  const sluice_memory kept = block(device, {0, 0, 0});
  expect_ok(scale(device, kernel, large, 3, 2));
  expect_ok(table->copy(device, kept, 0, large, 0, 12));
  expect_ok(table->free(device, large));
  expect_ok(table->alloc(device, all / 2, &again));
  EXPECT_EQ(content(device, kept, 3), (Floats{2, 4, 6}));
  expect_ok(table->free(device, again));
}

TEST_P(StreamsBackend, CopiesPartsOfBlocks) {
  const sluice_memory a = block(device, numbers_from(0, 100)), b = block(device, numbers_from(1000, 100));
  const Floats part = {-1, -2, -3};
  expect_ok(table->write(device, a, 40, part.data(), 12));
  expect_ok(table->copy(device, b, 4, a, 36, 20));
  EXPECT_EQ(content(device, b, 7), (Floats{1000, 9, -1, -2, -3, 13, 1006}));
  expect_ok(table->write(device, a, 400, part.data(), 0));
  expect_failure(table->write(device, a, 396, part.data(), 8), SLUICE_ERROR, "outside");
  expect_failure(table->copy(device, b, 0, a, ~std::uint64_t{0}, 8), SLUICE_ERROR, "outside");
  expect_failure(table->copy(device, b + 4, 0, a, 0, 8), SLUICE_ERROR, "not a block");
}

// More than all of the pinned memory on the way, and pieces that do not fit what is left of a part of it.
TEST_P(StreamsBackend, WriteLetsItsSourceBeReused) {
  const std::size_t size = (std::size_t{9} << 20) + 5;
  const sluice_memory memory = block(device, Floats(size, 0));
  Floats source = numbers_from(0, size);
  expect_ok(table->write(device, memory, 4, source.data(), 12));
  expect_ok(table->write(device, memory, 12, source.data() + 5, (size - 5) * 4));
  std::fill(source.begin(), source.end(), -1.0F);
  const Floats got = content(device, memory, size);
  EXPECT_EQ(Floats(got.begin(), got.begin() + 4), (Floats{0, 0, 1, 5}));
  for (std::size_t i = 4; i < size - 2; ++i) ASSERT_EQ(got[i], static_cast<float>(i + 2)) << i;
  for (int round = 0; round < 200; ++round) {
    const auto number = static_cast<float>(round);
    expect_ok(table->write(device, memory, static_cast<std::uint64_t>(round) * 4, &number, 4));
  }
  EXPECT_EQ(content(device, memory, 200), numbers_from(0, 200));
}

TEST_P(StreamsBackend, TicketsPassInOrder) {
  const std::size_t size = 256;
  void *out = nullptr, *in = nullptr;
  expect_ok(table->alloc_host(device, size * 4, &out));
  expect_ok(table->alloc_host(device, size * 4, &in));
  const sluice_memory memory = block(device, Floats(size, 0));
  sluice_kernel* const kernel = scaling();
  const Floats source = numbers_from(5, size);
  std::memcpy(out, source.data(), size * 4);
  // Far more than are ever kept without being asked for.
  for (int round = 0; round < 300; ++round) {
    sluice_ticket written = 0, read = 0;
    expect_ok(table->write_async(device, memory, 0, out, size * 4, &written));
    expect_ok(scale(device, kernel, memory, size, 3));
    expect_ok(table->read_async(device, memory, 0, in, size * 4, &read));
    if (round % 100 != 99) continue;
    expect_ok(table->wait(device, read));
    expect_ok(table->wait(device, read));
    expect_ok(table->wait(device, written));
    const auto* const got = static_cast<const float*>(in);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(got[i], 3 * source[i]) << i;
    std::memset(in, 0, size * 4);
  }
  expect_failure(table->wait(device, 1 << 20), SLUICE_ERROR, "no ticket");
  expect_ok(table->free_host(device, out));
  expect_ok(table->free_host(device, in));
  expect_failure(table->free_host(device, in), SLUICE_ERROR, "not host memory");
}

// The copy runs on a stream of its own; everything that writes to its source comes after it.
TEST_P(StreamsBackend, WhatIsQueuedBehindACopyToTheHostDoesNotChangeIt) {
  sluice_kernel* const kernel = scaling();
  const Floats source = {1, 2, 3, 4};
  void* in = nullptr;
  expect_ok(table->alloc_host(device, 16, &in));
  const sluice_memory memory = block(device, source), other = block(device, {9, 9, 9, 9});
  sluice_memory part = 0;
  expect_ok(table->wrap(device, memory, 16, &part));
  sluice_ticket written = 0, read = 0;
  for (int kind = 0; kind < 6; ++kind) {
    SCOPED_TRACE(kind);
    expect_ok(table->write(device, memory, 0, source.data(), 16));
    expect_ok(table->read_async(device, memory, 0, in, 16, &read));
    switch (kind) {
      case 0: expect_ok(scale(device, kernel, memory, 4, 5)); break;
      case 1: expect_ok(scale(device, kernel, part, 4, 5)); break;
      case 2: expect_ok(table->write(device, memory, 4, Floats{-1}.data(), 4)); break;
      case 3: expect_ok(table->copy(device, memory, 0, other, 0, 8)); break;
      case 4: expect_ok(table->peer_copy(device, memory, 0, opened(1), block(opened(1), {7, 7}), 0, 8)); break;
      default: expect_ok(table->free(device, part));
    }
    // The other stream is waited for first, so it runs first if nothing holds it back.
    expect_ok(table->write_async(device, other, 0, in, 0, &written));
    expect_ok(table->wait(device, written));
    expect_ok(table->wait(device, read));
    EXPECT_EQ(std::memcmp(in, source.data(), 16), 0);
    std::memset(in, 0, 16);
  }
  expect_ok(table->free_host(device, in));
}

TEST_P(StreamsBackend, CopiesBetweenDevicesAfterTheWorkOfBoth) {
  sluice_device* const other = opened(1);
  const std::size_t size = 1000;
  const sluice_memory from = block(device, numbers_from(0, size)), to = block(other, Floats(size, -1));
  sluice_kernel *const kernel = scaling(), *const there = compiled(other, kScale, "scale");
  expect_ok(scale(device, kernel, from, size, 2));
  expect_ok(table->peer_copy(other, to, 8, device, from, 4, (size - 2) * 4));
  expect_ok(scale(device, kernel, from, size, 0));
  expect_ok(scale(other, there, to, size, 3));
  // The source runs to its end first: what was queued there later must have waited.
  expect_ok(table->sync(device));
  const Floats got = content(other, to, size);
  EXPECT_EQ(got[1], -3.0F);
  for (std::size_t i = 2; i < size; ++i) ASSERT_EQ(got[i], 6 * static_cast<float>(i - 1)) << i;
  expect_failure(table->peer_copy(other, from, 0, device, to, 0, 4), SLUICE_ERROR, "not a block of this device");
}

TEST_P(StreamsBackend, WrapsMemoryOfOthers) {
  const sluice_memory memory = block(device, numbers_from(0, 8));
  sluice_memory part = 0, none = 0;
  expect_ok(table->wrap(device, memory + 8, 16, &part));
  EXPECT_EQ(content(device, part, 4), (Floats{2, 3, 4, 5}));
  expect_ok(scale(device, scaling(), part, 4, 10));
  expect_ok(table->free(device, part));
  EXPECT_EQ(content(device, memory, 8), (Floats{0, 1, 20, 30, 40, 50, 6, 7}));
  expect_failure(table->wrap(device, memory + 8, 25, &none), SLUICE_ERROR, "not device memory");
  expect_failure(table->wrap(device, 4096, 16, &none), SLUICE_ERROR, "not device memory");
}

TEST_P(StreamsBackend, SaysWhyTextDoesNotCompile) {
  sluice_kernel* kernel = nullptr;
  const char* const kWrong = "extern \"C\" __global__ void set(float* x) { x[0] = absent; }";
  const char* const kNumber = "extern \"C\" __global__ void set(int* x) { x[0] = NUMBER; }";
  expect_failure(compile(device, kWrong, "set", &kernel), SLUICE_BAD_SOURCE, "absent");
  expect_failure(compile(device, kScale, "other", &kernel), SLUICE_BAD_SOURCE, "other");
  expect_failure(compile(device, kScale, "scale", &kernel, "--no-such-option"), SLUICE_BAD_SOURCE, "no-such-option");
  expect_ok(compile(device, kNumber, "set", &kernel, " -DNUMBER=42 "));
  const sluice_memory memory = block(device, {0});
  expect_ok(launch(device, kernel, 1, 1, {memory_argument(memory)}));
  int number = 0;
  expect_ok(table->read(device, memory, 0, &number, 4));
  EXPECT_EQ(number, 42);
}

TEST_P(StreamsBackend, ChecksArguments) {
  sluice_kernel* const kernel = scaling();
  const sluice_memory memory = block(device, {1, 2, 3, 4});
  const float factor = 2;
  const int number = 4;
  const std::int64_t wide = 4;
  const auto x = memory_argument(memory), f = value_argument(factor), n = value_argument(number);
  const auto run = [&](std::uint32_t groups, std::uint32_t size, const std::vector<sluice_argument>& arguments) {
    return launch(device, kernel, groups, size, arguments);
  };
  if (vendor.tells_parameters) {
    expect_failure(run(1, 4, {x, f}), SLUICE_ERROR, "takes 3 arguments, not 2");
    expect_failure(run(1, 4, {x, f, value_argument(wide)}), SLUICE_ERROR, "argument 2 has 8 bytes");
    expect_failure(run(1, 4, {x, x, n}), SLUICE_ERROR, "argument 1 is memory");
    expect_failure(run(1, 4, {f, f, n}), SLUICE_ERROR, "argument 0 has 4 bytes");
  }
  expect_failure(run(1, 4, {x, sluice_argument{}, n}), SLUICE_ERROR, "neither");
  expect_failure(run(1, 4, {memory_argument(memory, 17), f, n}), SLUICE_ERROR, "outside");
  expect_failure(run(1, 4, {memory_argument(memory + 1), f, n}), SLUICE_ERROR, "not a block");
  expect_failure(run(0, 4, {x, f, n}), SLUICE_ERROR, "empty");
  expect_failure(run(1, 2048, {x, f, n}), SLUICE_UNSUPPORTED, "at most 1024");
  EXPECT_EQ(content(device, memory, 4), (Floats{1, 2, 3, 4})) << "nothing ran";
  const int two = 2;
  expect_ok(run(1, 4, {memory_argument(memory, 8), f, value_argument(two)}));
  EXPECT_EQ(content(device, memory, 4), (Floats{1, 2, 6, 8}));
  const sluice_launch call{sizeof call, 0, {1, 1, 1}, {1, 1, 1}, nullptr};
  expect_failure(table->launch(opened(1), kernel, &call), SLUICE_ERROR, "another device");
}

TEST_P(StreamsBackend, TakesUpItsOwnBinaryOnly) {
  sluice_kernel *kernel = scaling(), *again = nullptr;
  std::uint64_t bytes = 0;
  expect_ok(table->kernel_binary(kernel, nullptr, &bytes));
  std::vector<char> binary(bytes);
  std::uint64_t room = bytes - 1;
  expect_failure(table->kernel_binary(kernel, binary.data(), &room), SLUICE_ERROR, "does not fit");
  expect_ok(table->kernel_binary(kernel, binary.data(), &bytes));
  const auto load = [&](std::uint64_t size, const char* entry) {
    return table->load_binary(device, binary.data(), size, entry, &again);
  };
  expect_ok(load(bytes, "scale"));
  static sluice_kernel* const kept = again;
  EXPECT_NE(kept, nullptr);
  const sluice_memory memory = block(device, {1, 2, 3});
  expect_ok(scale(device, again, memory, 3, 4));
  EXPECT_EQ(content(device, memory, 3), (Floats{4, 8, 12}));

  expect_failure(load(bytes, "other"), SLUICE_ERROR, "other");
  expect_failure(load(bytes - 1, "scale"), SLUICE_ERROR, "damaged");
  expect_failure(load(7, "scale"), SLUICE_ERROR, "too short");
  binary[bytes / 2] = static_cast<char>(binary[bytes / 2] ^ 1);
  expect_failure(load(bytes, "scale"), SLUICE_ERROR, "damaged");
  binary[8] = static_cast<char>(binary[8] ^ 1);
  expect_failure(load(bytes, "scale"), SLUICE_ERROR, "another device");
  binary[0] = 'x';
  expect_failure(load(bytes, "scale"), SLUICE_ERROR, "not a kernel binary");
}

/// Batches of op(a) op(b) with padding between columns and matrices, in double.
std::vector<double> product(const sluice_gemm& g, const Floats& a, const Floats& b, const Floats& c) {
  std::vector<double> result(c.begin(), c.end());
  const auto at = [](const Floats& x, std::int64_t place) {
    return static_cast<double>(x[static_cast<std::size_t>(place)]);
  };
  for (std::int64_t t = 0; t < g.batch; ++t) {
    for (std::int64_t i = 0; i < g.m; ++i) {
      for (std::int64_t j = 0; j < g.n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < g.k; ++l) {
          sum += at(a, t * g.stride_a + (g.transpose_a != 0 ? l + i * g.lda : i + l * g.lda)) *
                 at(b, t * g.stride_b + (g.transpose_b != 0 ? j + l * g.ldb : l + j * g.ldb));
        }
        double& to = result[static_cast<std::size_t>(t * g.stride_c + i + j * g.ldc)];
        to = g.alpha * sum + g.beta * to;
      }
    }
  }
  return result;
}

/// Two products of (3, 4) x (4, 2), the second matrix of a with padding before it.
sluice_gemm small_products() {
  sluice_gemm gemm{};
  gemm.size = sizeof gemm;
  gemm.dtype = SLUICE_DTYPE_F32;
  std::tie(gemm.m, gemm.n, gemm.k, gemm.batch) = std::tuple(3, 2, 4, 2);
  std::tie(gemm.lda, gemm.ldb, gemm.ldc) = std::tuple(5, 6, 4);
  std::tie(gemm.stride_a, gemm.stride_b, gemm.stride_c) = std::tuple(25, 0, 9);
  gemm.alpha = 2;
  gemm.beta = 0.5;
  return gemm;
}

TEST_P(StreamsBackend, MultipliesWithTheBlasOnceItIsEnabled) {
  sluice_component component{};
  component.size = sizeof component;
  expect_ok(table->component(0, &component));
  EXPECT_STREQ(component.name, vendor.blas);
  EXPECT_EQ(component.state, SLUICE_COMPONENT_FOUND) << component.reason;
  EXPECT_NE(std::string(component.file).find(vendor.blas_file), std::string::npos) << component.file;
  EXPECT_EQ(table->component(1, &component), SLUICE_UNSUPPORTED);

  const Floats a = numbers_from(-7, 60), b = numbers_from(3, 60), c = numbers_from(100, 60);
  sluice_gemm gemm = small_products();
  gemm.a = block(device, numbers_from(0, 2));
  expect_failure(table->gemm(device, &gemm), SLUICE_UNSUPPORTED, "not enabled");
  expect_ok(table->probe(device, 0));
  expect_ok(table->enable(0));
  Floats shifted = a;
  shifted.insert(shifted.begin(), 2, 1e30F);
  gemm.a = block(device, shifted);
  gemm.offset_a = 8;
  gemm.b = block(device, b);
  for (std::uint32_t transposed = 0; transposed < 4; ++transposed) {
    gemm.transpose_a = transposed & 1U;
    gemm.transpose_b = transposed >> 1U;
    gemm.c = block(device, c);
    expect_ok(table->gemm(device, &gemm));
    const Floats got = content(device, gemm.c, c.size());
    const std::vector<double> expected = product(gemm, a, b, c);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(static_cast<double>(got[i]), expected[i]) << i;
  }
  gemm.dtype = 99;
  expect_failure(table->gemm(device, &gemm), SLUICE_UNSUPPORTED, "no products of element type 99");
  gemm.dtype = SLUICE_DTYPE_F32;
  gemm.m = std::int64_t{1} << 31;
  expect_failure(table->gemm(device, &gemm), SLUICE_UNSUPPORTED, "2147483648");
}

// (2) (3) = (6) in each type, by its bits.
TEST_P(StreamsBackend, TheBlasMultipliesHalvesAndDoubles) {
  struct Bits {
    std::uint32_t dtype;
    std::size_t bytes;
    std::uint64_t two, three, six;
  };
  expect_ok(table->enable(0));
  for (const Bits& bits :
       {Bits{SLUICE_DTYPE_F16, 2, 0x4000, 0x4200, 0x4600}, Bits{SLUICE_DTYPE_BF16, 2, 0x4000, 0x4040, 0x40C0},
        Bits{SLUICE_DTYPE_F64, 8, 0x4000000000000000, 0x4008000000000000, 0x4018000000000000}}) {
    sluice_gemm gemm{};
    gemm.size = sizeof gemm;
    gemm.dtype = bits.dtype;
    gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = gemm.batch = 1;
    gemm.alpha = 1;
    const auto filled = [&](std::uint64_t number) {
      const sluice_memory memory = block(device, {0, 0});
      expect_ok(table->write(device, memory, 0, &number, bits.bytes));
      return memory;
    };
    gemm.a = filled(bits.two);
    gemm.b = filled(bits.three);
    gemm.c = filled(~std::uint64_t{0});
    expect_ok(table->gemm(device, &gemm));
    std::uint64_t got = 0;
    expect_ok(table->read(device, gemm.c, 0, &got, bits.bytes));
    EXPECT_EQ(got, bits.six) << bits.dtype;
  }
}

TEST_P(StreamsBackend, ReadsWhileOthersSubmit) {
  const std::size_t size = 256;
  const sluice_memory fixed = block(device, numbers_from(0, size)), busy = block(device, Floats(size, 1));
  sluice_kernel* const kernel = scaling();
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) EXPECT_EQ(content(device, fixed, size), numbers_from(0, size));
    });
  }
  for (int round = 0; round < 20; ++round) {
    expect_ok(scale(device, kernel, busy, size, 2));
    const sluice_memory passing = block(device, {1});
    expect_ok(table->free(device, passing));
  }
  for (std::thread& reader : readers) reader.join();
  expect_ok(table->sync(device));
  EXPECT_EQ(content(device, busy, size), Floats(size, 1 << 20));
}

}  // namespace
}  // namespace sluice::tests
#else
TEST(StreamsBackend, Table) { GTEST_SKIP() << "built without the backends"; }
#endif
