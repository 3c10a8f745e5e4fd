// The Metal backend's table on the stand-in, on a device that shares the host's memory and on one that does not. What
// is not ordered by command buffers goes wrong there, and what Metal forbids ends the process.
#include <gtest/gtest.h>

#if defined(SLUICE_METAL_PLUGIN) && defined(SLUICE_TEST_SIMULATED_METAL)
#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>
#include <tuple>

#include "tests/metal_table.hpp"

namespace sluice::tests {
namespace {

enum Kind : std::uint32_t { unified, discrete };

class MetalBackend : public ::testing::TestWithParam<Kind>, public MetalTable {
 protected:
  MetalBackend() : MetalTable(SLUICE_METAL_PLUGIN) {
    setenv("VIRTUAL_METAL_COUNT", "2", 1);
    setenv("VIRTUAL_METAL_KIND", "integrated,discrete", 1);
    setenv("VIRTUAL_METAL_MEMORY", "268435456", 1);
    use_simulated_metal();
    std::uint32_t count = 0;
    expect_ok(table->device_count(&count));
    EXPECT_EQ(count, 2U);
    device = opened(GetParam());
  }
  sluice_kernel* scaling() { return compiled(device, kMetalScale, "scale"); }
  /// Objects of a class that are there.
  static int live(const char* name) { return simulated_metal_function<int(const char*)>("simulated_objc_live")(name); }

  sluice_device* device = nullptr;
};
INSTANTIATE_TEST_SUITE_P(On, MetalBackend, ::testing::Values(unified, discrete),
                         [](auto& info) { return info.param == unified ? "Unified" : "Discrete"; });

Floats numbers_from(float first, std::size_t size) {
  Floats result(size);
  std::iota(result.begin(), result.end(), first);
  return result;
}

TEST_P(MetalBackend, DescribesTheDevice) {
  const bool is_unified = GetParam() == unified;
  sluice_device_info info{};
  info.size = sizeof info;
  expect_ok(table->info(device, &info));
  EXPECT_EQ(info.kind, is_unified ? SLUICE_KIND_INTEGRATED : SLUICE_KIND_DISCRETE);
  EXPECT_EQ(info.dialect, SLUICE_DIALECT_METAL);
  EXPECT_EQ(info.features, is_unified ? SLUICE_FEATURE_UNIFIED : 0U) << "no doubles";
  EXPECT_EQ(info.memory_bytes, std::uint64_t{1} << 28);
  EXPECT_EQ(info.max_group_size, 1024U);
  EXPECT_EQ(info.local_bytes, 32768U);
  EXPECT_EQ(info.name, "Simulated GPU " + std::to_string(GetParam()));
  EXPECT_STREQ(info.architecture, is_unified ? "apple7" : "mac2");
  EXPECT_STREQ(info.driver, "macOS Version 14.0 (simulated)");
  std::uint64_t handle = 0;
  expect_ok(table->native_handle(device, &handle));
  EXPECT_NE(handle, 0U);
  sluice_device* none = nullptr;
  expect_failure(table->open(2, &none), SLUICE_ERROR, "no device 2");
}

TEST_P(MetalBackend, HasNoFunctionForWhatMetalDoesNotDo) {
  EXPECT_EQ(table->kernel_binary, nullptr);
  EXPECT_EQ(table->load_binary, nullptr);
  EXPECT_EQ(table->peer_copy, nullptr);
  EXPECT_EQ(table->wrap, nullptr);
}

TEST_P(MetalBackend, CountsMemory) {
  std::uint64_t before = 0, during = 0, after = 0;
  sluice_memory memory = 0;
  expect_ok(table->free_bytes(device, &before));
  expect_ok(table->alloc(device, 1 << 20, &memory));
  expect_ok(table->free_bytes(device, &during));
  EXPECT_EQ(before - during, std::uint64_t{1} << 20);
  expect_ok(table->free(device, memory));
  expect_ok(table->free_bytes(device, &after));
  EXPECT_EQ(after, before);
  expect_failure(table->free(device, memory), SLUICE_ERROR, "freed");
  expect_failure(table->alloc(device, 0, &memory), SLUICE_ERROR, "0 bytes");
  expect_failure(table->alloc(device, before - 1, &memory), SLUICE_OUT_OF_MEMORY, "the largest that Metal gives");
  sluice_memory half = 0;
  expect_ok(table->alloc(device, before / 2, &half));
  expect_failure(table->alloc(device, before / 2 + 1, &memory), SLUICE_OUT_OF_MEMORY, "are free");
  expect_ok(table->free(device, half));
}

// The command buffer keeps what it uses; the memory is there again when that is done.
TEST_P(MetalBackend, GivesFreedMemoryAgainWhileWorkIsQueued) {
  sluice_kernel* const kernel = scaling();
  std::uint64_t all = 0;
  expect_ok(table->free_bytes(device, &all));
  const std::uint64_t large_bytes = all / 3 * 2;
  sluice_memory large = 0, again = 0;
  expect_ok(table->alloc(device, large_bytes, &large));
  const Floats numbers = {1, 2, 3};
  expect_ok(table->write(device, large, 0, numbers.data(), 12));
  const sluice_memory kept = block(device, {0, 0, 0});
  expect_ok(scale(device, kernel, large, 3, 2));
  expect_ok(table->copy(device, kept, 0, large, 0, 12));
  expect_ok(table->free(device, large));
  expect_ok(table->alloc(device, large_bytes, &again));
  EXPECT_EQ(content(device, kept, 3), (Floats{2, 4, 6}));
  expect_ok(table->free(device, again));
}

// What the library does with a block that nobody holds any more: it writes the next tensor there.
TEST_P(MetalBackend, ABlockIsWrittenAnewWhileKernelsThatReadItAreQueued) {
  sluice_kernel* const kernel = scaling();
  const sluice_memory from = block(device, {0, 0}), to = block(device, Floats(200, 0));
  for (int round = 0; round < 100; ++round) {
    const Floats numbers = {static_cast<float>(round), static_cast<float>(-round)};
    expect_ok(table->write(device, from, 0, numbers.data(), 8));
    expect_ok(scale(device, kernel, from, 2, 3));
    expect_ok(table->copy(device, to, static_cast<std::uint64_t>(round) * 8, from, 0, 8));
  }
  const Floats got = content(device, to, 200);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(got[2 * i], 3 * static_cast<float>(i));
    EXPECT_EQ(got[2 * i + 1], -3 * static_cast<float>(i));
  }
}

TEST_P(MetalBackend, CopiesPartsOfBlocks) {
  const sluice_memory a = block(device, numbers_from(0, 100)), b = block(device, numbers_from(1000, 100));
  const Floats part = {-1, -2, -3};
  expect_ok(table->write(device, a, 40, part.data(), 12));
  expect_ok(table->copy(device, b, 4, a, 36, 20));
  EXPECT_EQ(content(device, b, 7), (Floats{1000, 9, -1, -2, -3, 13, 1006}));
  expect_ok(table->write(device, a, 400, part.data(), 0));
  expect_failure(table->write(device, a, 396, part.data(), 8), SLUICE_ERROR, "outside");
  expect_failure(table->copy(device, b, 0, a, ~std::uint64_t{0}, 8), SLUICE_ERROR, "outside");
  expect_failure(table->copy(device, b + 4, 0, a, 0, 8), SLUICE_ERROR, "not a block");
  const sluice_memory elsewhere = block(opened(1 - GetParam()), {1});
  expect_failure(table->copy(device, b, 0, elsewhere, 0, 4), SLUICE_ERROR, "not a block of this device");
}

/// Bytes on the device and what they should be.
struct Mirror {
  sluice_memory memory;
  std::vector<unsigned char> bytes;
};

// Metal's own copies are of whole words; everything else takes another way.
TEST_P(MetalBackend, CopiesBeginAndEndAtAnyByte) {
  constexpr std::size_t kSize = 41;
  sluice_kernel* const kernel = scaling();
  const auto fresh = [&](unsigned char first) {
    Mirror mirror{0, std::vector<unsigned char>(kSize)};
    std::iota(mirror.bytes.begin(), mirror.bytes.end(), first);
    expect_ok(table->alloc(device, kSize, &mirror.memory));
    expect_ok(table->write(device, mirror.memory, 0, mirror.bytes.data(), kSize));
    return mirror;
  };
  const sluice_memory other = block(device, {1});
  void* pinned = nullptr;
  expect_ok(table->alloc_host(device, 64, &pinned));
  auto* const host = static_cast<unsigned char*>(pinned);
  Mirror a = fresh(0), b = fresh(100);
  for (std::size_t to = 0; to < 5; ++to) {
    for (std::size_t from = 0; from < 5; ++from) {
      for (const std::size_t bytes : {1U, 2U, 4U, 7U, 8U, 36U}) {
        // So that the blocks are in use and the host may not write to them itself.
        expect_ok(scale(device, kernel, other, 1, 1));
        expect_ok(table->copy(device, b.memory, to, a.memory, from, bytes));
        std::copy_n(a.bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                    b.bytes.begin() + static_cast<std::ptrdiff_t>(to));
        expect_ok(table->write(device, a.memory, to, b.bytes.data() + from, bytes));
        std::copy_n(b.bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                    a.bytes.begin() + static_cast<std::ptrdiff_t>(to));
        sluice_ticket ticket = 0;
        expect_ok(table->read_async(device, a.memory, from, host + to, bytes, &ticket));
        expect_ok(table->wait(device, ticket));
        ASSERT_EQ(std::memcmp(host + to, a.bytes.data() + from, bytes), 0) << from << " to " << to << ", " << bytes;
        std::vector<unsigned char> got(bytes);
        expect_ok(table->read(device, b.memory, to, got.data(), bytes));
        ASSERT_EQ(std::memcmp(got.data(), b.bytes.data() + to, bytes), 0) << from << " to " << to << ", " << bytes;
      }
    }
  }
  std::vector<unsigned char> got(kSize);
  expect_ok(table->read(device, b.memory, 0, got.data(), kSize));
  EXPECT_EQ(got, b.bytes) << "nothing beside what was asked for";
  expect_ok(table->free_host(device, pinned));
}

// More than may be on its way at once.
TEST_P(MetalBackend, WriteLetsItsSourceBeReused) {
  const std::size_t size = (std::size_t{21} << 20) + 5;  // 84 MiB
  sluice_kernel* const kernel = scaling();
  const sluice_memory memory = block(device, {1, 2, 3}), large = block(device, Floats(size, 0));
  Floats source(size);
  for (std::size_t i = 0; i < size; ++i) source[i] = static_cast<float>(i % 9973);
  expect_ok(scale(device, kernel, large, 1, 1));
  expect_ok(table->write(device, large, 4, source.data(), (size - 1) * 4));
  expect_ok(scale(device, kernel, memory, 3, 2));
  expect_ok(table->write(device, memory, 4, source.data() + 9, 4));
  std::fill(source.begin(), source.end(), -1.0F);
  EXPECT_EQ(content(device, memory, 3), (Floats{2, 9, 6}));
  const Floats got = content(device, large, size);
  for (std::size_t i = 1; i < size; ++i) ASSERT_EQ(got[i], static_cast<float>((i - 1) % 9973)) << i;
  expect_ok(table->free(device, large));
}

TEST_P(MetalBackend, TicketsPassInOrder) {
  const std::size_t size = 256;
  void *out = nullptr, *in = nullptr;
  expect_ok(table->alloc_host(device, size * 4, &out));
  expect_ok(table->alloc_host(device, size * 4, &in));
  const sluice_memory memory = block(device, Floats(size, 0));
  sluice_kernel* const kernel = scaling();
  const Floats source = numbers_from(5, size);
  std::memcpy(out, source.data(), size * 4);
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
  expect_failure(table->wait(device, 0), SLUICE_ERROR, "no ticket");
  sluice_ticket ticket = 0;
  expect_failure(table->read_async(device, memory, 0, const_cast<float*>(source.data()), 16, &ticket), SLUICE_ERROR,
                 "not host memory");
  expect_ok(table->free_host(device, out));
  expect_ok(table->free_host(device, in));
  expect_failure(table->free_host(device, in), SLUICE_ERROR, "not host memory");
}

TEST_P(MetalBackend, WhatIsQueuedBehindACopyToTheHostDoesNotChangeIt) {
  sluice_kernel* const kernel = scaling();
  const Floats source = {1, 2, 3, 4};
  void* in = nullptr;
  expect_ok(table->alloc_host(device, 16, &in));
  const sluice_memory memory = block(device, source), other = block(device, {9, 9, 9, 9});
  for (int kind = 0; kind < 3; ++kind) {
    SCOPED_TRACE(kind);
    sluice_ticket read = 0;
    expect_ok(table->write(device, memory, 0, source.data(), 16));
    expect_ok(table->read_async(device, memory, 0, in, 16, &read));
    switch (kind) {
      case 0: expect_ok(scale(device, kernel, memory, 4, 5)); break;
      case 1: expect_ok(table->write(device, memory, 4, Floats{-1}.data(), 4)); break;
      default: expect_ok(table->copy(device, memory, 0, other, 0, 8));
    }
    expect_ok(table->wait(device, read));
    EXPECT_EQ(std::memcmp(in, source.data(), 16), 0);
    std::memset(in, 0, 16);
  }
  expect_ok(table->free_host(device, in));
}

TEST_P(MetalBackend, SaysWhyTextDoesNotCompile) {
  sluice_kernel* kernel = nullptr;
  const char* const kWrong = "kernel void set(device float* x [[buffer(0)]]) { x[0] = absent; }";
  const char* const kNumber = "kernel void set(device int* x [[buffer(0)]]) { x[0] = NUMBER + ONE; }";
  expect_failure(compile(device, kWrong, "set", &kernel), SLUICE_BAD_SOURCE, "absent");
  expect_failure(compile(device, kMetalScale, "other", &kernel), SLUICE_BAD_SOURCE, "other");
  expect_failure(compile(device, kMetalScale, "scale", &kernel, "-O9"), SLUICE_BAD_SOURCE, "no option \"-O9\"");
  expect_ok(compile(device, kNumber, "set", &kernel, " -DNUMBER=42  -DONE "));
  const sluice_memory memory = block(device, {0});
  expect_ok(launch(device, kernel, 1, 1, {memory_argument(memory)}));
  int number = 0;
  expect_ok(table->read(device, memory, 0, &number, 4));
  EXPECT_EQ(number, 43);
}

TEST_P(MetalBackend, ChecksArguments) {
  sluice_kernel* const kernel = scaling();
  const sluice_memory memory = block(device, {1, 2, 3, 4, 5, 6});
  const float factor = 2;
  const int number = 4;
  const std::uint16_t narrow = 4;
  const auto x = memory_argument(memory), f = value_argument(factor), n = value_argument(number);
  const auto run = [&](std::uint32_t groups, std::uint32_t size, const std::vector<sluice_argument>& arguments) {
    return launch(device, kernel, groups, size, arguments);
  };
  expect_failure(run(1, 4, {x, f}), SLUICE_ERROR, "takes an argument 2, and is given 2");
  expect_failure(run(1, 4, {x, f, value_argument(narrow)}), SLUICE_ERROR, "argument 2 has 2 bytes");
  expect_failure(run(1, 4, {x, sluice_argument{}, n}), SLUICE_ERROR, "neither");
  expect_failure(run(1, 4, {memory_argument(memory, 32), f, n}), SLUICE_ERROR, "outside");
  expect_failure(run(1, 4, {memory_argument(memory, 4), f, n}), SLUICE_UNSUPPORTED, "no multiple of 16");
  expect_failure(run(1, 4, {memory_argument(memory + 1), f, n}), SLUICE_ERROR, "not a block");
  expect_failure(run(0, 4, {x, f, n}), SLUICE_ERROR, "empty");
  expect_failure(run(1, 2048, {x, f, n}), SLUICE_UNSUPPORTED, "at most 1024");
  expect_failure(run(1, 4, std::vector<sluice_argument>(32, x)), SLUICE_UNSUPPORTED, "31 places");
  const std::array<char, 4097> wide{};
  expect_failure(run(1, 4, {x, f, value_argument(wide)}), SLUICE_UNSUPPORTED, "at most 4096");
  EXPECT_EQ(content(device, memory, 6), (Floats{1, 2, 3, 4, 5, 6})) << "nothing ran";
  const int two = 2;
  expect_ok(run(1, 4, {memory_argument(memory, 16), f, value_argument(two)}));
  EXPECT_EQ(content(device, memory, 6), (Floats{1, 2, 3, 4, 10, 12}));
  const sluice_launch call{sizeof call, 0, {1, 1, 1}, {1, 1, 1}, nullptr};
  expect_failure(table->launch(opened(1 - GetParam()), kernel, &call), SLUICE_ERROR, "another device");
}

TEST_P(MetalBackend, KernelsOfManyLaunchesAreBatchedAndNothingIsLeftBehind) {
  sluice_kernel* const kernel = scaling();
  const sluice_memory memory = block(device, {1});
  expect_ok(table->sync(device));
  const int strings = live("NSString"), buffers = live("MTLBuffer");
  int most = 0;
  for (int round = 0; round < 1000; ++round) {
    expect_ok(scale(device, kernel, memory, 1, round % 2 == 0 ? 2.0F : 0.5F));
    most = std::max(most, live("MTLCommandBuffer"));
  }
  EXPECT_EQ(content(device, memory, 1), Floats{1});
  EXPECT_LE(most, 8) << "32 launches to a command buffer";
  expect_ok(table->sync(device));
  EXPECT_EQ(live("MTLCommandBuffer"), 0);
  EXPECT_EQ(live("MTLComputeCommandEncoder"), 0);
  EXPECT_EQ(live("MTLBlitCommandEncoder"), 0);
  EXPECT_EQ(live("NSString"), strings);
  EXPECT_EQ(live("MTLBuffer"), buffers);
}

// ---- Products.

/// op(a) op(b) with padding between columns and matrices, in double.
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

sluice_gemm some_gemm(std::int64_t batch) {
  sluice_gemm gemm{};
  gemm.size = sizeof gemm;
  gemm.dtype = SLUICE_DTYPE_F32;
  std::tie(gemm.m, gemm.n, gemm.k, gemm.batch) = std::tuple(3, 2, 4, batch);
  std::tie(gemm.lda, gemm.ldb, gemm.ldc) = std::tuple(5, 6, 4);
  std::tie(gemm.stride_a, gemm.stride_b, gemm.stride_c) = std::tuple(25, 24, 12);
  gemm.alpha = 2;
  gemm.beta = 0.5;
  return gemm;
}

TEST_P(MetalBackend, MultipliesWithMps) {
  sluice_component component{};
  component.size = sizeof component;
  expect_ok(table->component(0, &component));
  EXPECT_STREQ(component.name, "MPS");
  EXPECT_EQ(component.state, SLUICE_COMPONENT_FOUND) << component.reason;
  EXPECT_NE(std::string(component.file).find("MetalPerformanceShaders"), std::string::npos);
  EXPECT_EQ(table->component(1, &component), SLUICE_UNSUPPORTED);

  const Floats a = numbers_from(-7, 60), b = numbers_from(3, 60), c = numbers_from(100, 60);
  sluice_gemm gemm = some_gemm(2);
  expect_ok(table->probe(device, 0));
  expect_ok(table->enable(0));
  Floats shifted = a;
  shifted.insert(shifted.begin(), 2, 1e30F);
  gemm.a = block(device, shifted);
  gemm.offset_a = 8;
  gemm.b = block(device, b);
  for (const std::int64_t batch : {1, 2}) {
    for (std::uint32_t transposed = 0; transposed < 4; ++transposed) {
      gemm.batch = batch;
      gemm.transpose_a = transposed & 1U;
      gemm.transpose_b = transposed >> 1U;
      gemm.c = block(device, c);
      expect_ok(scale(device, scaling(), gemm.c, c.size(), 1));
      expect_ok(table->gemm(device, &gemm));
      const Floats got = content(device, gemm.c, c.size());
      const std::vector<double> expected = product(gemm, a, b, c);
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(static_cast<double>(got[i]), expected[i]) << i;
    }
  }
}

TEST_P(MetalBackend, MpsMultipliesHalves) {
  expect_ok(table->enable(0));
  // Whole numbers: (1 3; 2 4) (1 -1; 0.5 2) = (2.5 5; 4 6).
  const std::array<std::uint16_t, 12> halves = {0x3C00, 0x4000, 0x4200, 0x4400, 0x3C00, 0x3800, 0xBC00, 0x4000};
  const std::array<std::uint16_t, 4> expected = {0x4100, 0x4400, 0x4500, 0x4600};
  sluice_memory memory = 0;
  expect_ok(table->alloc(device, sizeof halves, &memory));
  expect_ok(table->write(device, memory, 0, halves.data(), sizeof halves));
  sluice_gemm gemm{};
  gemm.size = sizeof gemm;
  gemm.dtype = SLUICE_DTYPE_F16;
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = 2;
  gemm.batch = 1;
  gemm.a = gemm.b = gemm.c = memory;
  gemm.offset_b = 8, gemm.offset_c = 16;
  gemm.alpha = 1;
  expect_ok(table->gemm(device, &gemm));
  std::array<std::uint16_t, 4> got{};
  expect_ok(table->read(device, memory, 16, got.data(), sizeof got));
  EXPECT_EQ(got, expected);
}

TEST_P(MetalBackend, SaysWhichProductsMpsDoesNotMake) {
  expect_ok(table->enable(0));
  const sluice_memory memory = block(device, Floats(60, 0));
  const auto refused = [&](const std::string& part, auto change) {
    sluice_gemm gemm = some_gemm(2);
    gemm.a = gemm.b = gemm.c = memory;
    change(gemm);
    expect_failure(table->gemm(device, &gemm), SLUICE_UNSUPPORTED, part);
  };
  refused("f32 and f16 only", [](sluice_gemm& g) { g.dtype = SLUICE_DTYPE_BF16; });
  refused("f32 and f16 only", [](sluice_gemm& g) { g.dtype = SLUICE_DTYPE_F64; });
  refused("empty", [](sluice_gemm& g) { g.k = 0; });
  refused("overlap", [](sluice_gemm& g) { g.stride_b = 0; });
  refused("overlap", [](sluice_gemm& g) { g.lda = 2; });
  refused("whole columns apart", [](sluice_gemm& g) { g.stride_a = 27; });
  sluice_gemm gemm = some_gemm(2);
  gemm.a = gemm.b = gemm.c = memory;
  gemm.offset_b = 120;
  expect_failure(table->gemm(device, &gemm), SLUICE_ERROR, "outside");
}

TEST_P(MetalBackend, ReadsWhileOthersSubmit) {
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
TEST(MetalBackend, Table) { GTEST_SKIP() << "built without the backends, or where nothing stands in for Metal"; }
#endif
