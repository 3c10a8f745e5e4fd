// Elementwise programs and copies on devices behind a plug-in against the CPU: every row of the op table in all element
// types, conversions, broadcasts, empty and odd sizes.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <thread>

#include "kernel_device.hpp"
#include "src/core/map.hpp"
#include "src/core/program.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/core/typed_program.hpp"
#include "tools/sluice/conformance_rows.hpp"

namespace sluice {
namespace {

using tests::name_of;
using tests::numbers;
using tests::order_of;
using tests::unit_of;

class PluginMap : public tests::KernelDevice {};
SLUICE_INSTANTIATE_FOR_KERNEL_DEVICES(PluginMap);

// ---- Elementwise.

/// Random bit patterns, small numbers and special ones.
Tensor any_floats(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(4099);
  for (float& value : values) {
    value = random() % 2 == 0 ? std::bit_cast<float>(static_cast<std::uint32_t>(random()))
                              : static_cast<float>(random() % 2000) / 100.0f - 10.0f;
    // Results of denormals may be 0 on a device.
    if (std::fabs(value) < 1e-30f) value = 0;
  }
  const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 2.0f, 0.5f, 9000.0f, -1e6f};
  for (std::size_t i = 0; i < 400; ++i) values[i] = special[random() % std::size(special)];
  return from(values);
}

TEST_P(PluginMap, EveryRowOfTheOpTableInFloat) {
  const std::vector<Tensor> inputs = {any_floats(1), any_floats(2), any_floats(3)};
  for (const conformance::OpReference& row : conformance::op_references()) {
    std::vector<Tensor> here(inputs.begin(), inputs.begin() + row.arity);
    std::vector<Tensor> there;
    for (const Tensor& x : here) there.push_back(x | device);
    const Tensor expected = detail::run_map1(detail::row_program(row.op), {}, here);
    const Tensor got = detail::run_map1(detail::row_program(row.op), {}, there) | cpu_device();
    expect_close(row.name, 4 * unit_of(f32), 1e-37, got, expected);
  }
}

TEST_P(PluginMap, IntegersWrapAndDivideAsOnTheCpu) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const Tensor x = from(std::vector<std::int64_t>{kLeast, kLeast, 7, -7, 7, kLeast + 1, -1});
  const Tensor y = from(std::vector<std::int64_t>{-1, 0, -2, 2, 0, kLeast, kLeast});
  const auto all = [](const Tensor& a, const Tensor& b) {
    return stack({a + b, a - b, a * b, floor_div(a, b), mod(a, b), -a, abs(a)});
  };
  expect_same("i64", 0, 0, all, x, y);
  expect_same("i32", 0, 0, all, cast(from(std::vector<double>{-2147483648.0, 5, -2147483648.0, 7}), i32),
              cast(from(std::vector<double>{-1, 0, 2147483647.0, -3}), i32));
  for (const DType dtype : {u8, i8, i16}) {
    expect_same(name_of(dtype), 0, 0, all, numbers({301}, dtype, -32000, 32000, 3), numbers({301}, dtype, -9, 9, 4));
  }
}

TEST_P(PluginMap, EveryConversion) {
  const std::vector<double> wild = {0,    -0.0,         0.5,           -0.5,   1.5,          127.5,        128,
                                    -129, 255.9,        256,           65504,  65520,        1e5,          -1e5,
                                    2e9,  2.5e9,        -2.5e9,        9e18,   1e19,         -1e19,        1e30,
                                    1e-7, 6e-8,         1e-40,         3e38,   1e39,         INFINITY,     -INFINITY,
                                    NAN,  2147483647.5, -2147483648.5, 4.1e-8, 1.0009765625, 1.00048828125};
  for (const DType from_type : types()) {
    const Tensor x = cast(from(wild), from_type);
    for (const DType to : types()) {
      // A device may take the denormals of f32 for 0.
      expect_same(
          name_of(from_type) + " to " + name_of(to), 0, to == bf16 || to == f32 ? 1.2e-38 : 0,
          [&](const Tensor& v) { return cast(v, to); }, x);
    }
  }
}

TEST_P(PluginMap, HalvesConvertBitForBit) {
  std::vector<std::uint16_t> words(65536);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint16_t>(i);
  for (const DType dtype : {f16, bf16}) {
    const Tensor x = from_bytes(words.data(), words.size() * 2, {65536}, dtype);
    expect_same(
        name_of(dtype), 0, dtype == bf16 ? 1.2e-38 : 0, [](const Tensor& v) { return cast(v, f32); }, x);
    expect_same(
        name_of(dtype), 0, dtype == bf16 ? 1.2e-38 : 0, [](const Tensor& v) { return v * 1; }, x);
  }
  expect_same(
      "rounding", 0, 1e-37, [](const Tensor& v) { return cast(v, f16); }, any_floats(8));
  expect_same(
      "rounding", 0, 1e-37, [](const Tensor& v) { return cast(v, bf16); }, any_floats(9));
}

TEST_P(PluginMap, BroadcastingAndSizes) {
  const std::pair<Shape, Shape> shapes[] = {
      {{1}, {1}},       {{}, {7}},           {{5}, {5}},          {{3, 4}, {3}},    {{3, 4}, {1, 4}},
      {{3, 1}, {1, 4}}, {{3, 1, 5}, {1, 4}}, {{1000, 3}, {1, 3}}, {{0, 3}, {1, 3}}, {{2, 1, 3, 1}, {1, 4, 1, 5}},
      {{1, 1}, {2, 2}}};
  for (const DType dtype : {i16, f32}) {
    for (const auto& [a, b] : shapes) {
      expect_same(
          to_string(a) + " with " + to_string(b), 0, 0, [](const Tensor& x, const Tensor& y) { return x * y - y; },
          numbers(a, dtype, -5, 5, 1), numbers(b, dtype, -5, 5, 2));
    }
  }
}

TEST_P(PluginMap, PartsOfATensorStartWhereTheyLie) {
  expect_same(
      "slices", 0, 0, [](const Tensor& x) { return slice(x, 1, 1, 3) + slice(x, 1, 2, 3) * slice(x, 1, 4, 5); },
      numbers({7, 5}, f32, -1, 1, 1));
}

TEST_P(PluginMap, ParametersAndSeveralOutputs) {
  for (const DType dtype : supported({i32, f16, f32, f64})) {
    const Tensor x = numbers({33}, dtype, -5, 5, 1), y = numbers({33}, dtype, 1, 5, 2);
    for (const double rate : {0.1, 1.7e-3}) {
      const auto f = [rate](auto a, auto b) { return std::tuple(a * rate + 100, where(a < b, a, b * 2.5), b == 3); };
      const auto here = map(f, x, y);
      const auto there = map(f, x | device, y | device);
      for (std::size_t k = 0; k < here.size(); ++k) {
        expect_close(name_of(dtype), unit_of(dtype), 0, there[k] | cpu_device(), here[k]);
      }
    }
  }
}

TEST_P(PluginMap, BuffersThatAreGivenAwayAreReused) {
  const Tensor x = numbers({1000}, f32, -5, 5, 1), y = numbers({1000}, f32, 1, 5, 2);
  const auto f = [](auto a, auto b) { return std::tuple(a + b, a - b); };
  const auto here = map(f, x, y);
  const auto there = map(f, (x | device) * 1, (y | device) * 1);
  expect_close("sum", 0, 0, there[0] | cpu_device(), here[0]);
  expect_close("difference", 0, 0, there[1] | cpu_device(), here[1]);
}

TEST_P(PluginMap, ManyOperands) {
  std::vector<Tensor> here, there;
  for (std::uint64_t k = 0; k < 24; ++k) {
    here.push_back(numbers({5, 4}, f32, -1, 1, k));
    there.push_back(here.back() | device);
  }
  const auto add_all = [](std::vector<Tensor> x) {
    const Function f = trace<24>([](auto... v) { return (v + ...); });
    return detail::run_map1(f.program(), f.params(), x);
  };
  expect_close("sum of 24", 1e-6, 1e-6, add_all(there) | cpu_device(), add_all(here));
}

TEST_P(PluginMap, ThreadsMayCompileTheSameKernel) {
  const Tensor x = numbers({100}, f32, -1, 1, 1);
  const Tensor expected = x * 3 + 1;
  std::vector<Tensor> results(4);
  std::vector<std::thread> threads;
  for (Tensor& result : results) {
    threads.emplace_back([&result, x, this] { result = ((x | device) * 3 + 1) | cpu_device(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& result : results) expect_close("threads", 0, 0, result, expected);
}

// ---- Copies.

TEST_P(PluginMap, Copies) {
  for (const DType dtype : types()) {
    const Tensor x = numbers({5, 3, 7}, dtype, 0, 100, 1), y = numbers({5, 2, 7}, dtype, 0, 100, 2);
    const std::string name = name_of(dtype);
    expect_same(
        name + " permute", 0, 0,
        [](const Tensor& v) {
          return permute(v, {2, 0, 1});
        },
        x);
    expect_same(
        name + " transpose", 0, 0,
        [](const Tensor& v) {
          return transpose(reshape(v, {15, 7}));
        },
        x);
    expect_same(
        name + " slice", 0, 0, [](const Tensor& v) { return slice(v, 0, 1, 5, 2); }, x);
    expect_same(
        name + " cat", 0, 0,
        [](const Tensor& a, const Tensor& b) {
          return cat({a, b, a}, 1);
        },
        x, y);
    expect_same(
        name + " expand", 0, 0,
        [](const Tensor& v) {
          return expand(slice(v, 1, 0, 1), {5, 4, 7});
        },
        x);
    expect_same(
        name + " empty", 0, 0,
        [](const Tensor& v) {
          return permute(slice(v, 0, 2, 2), {2, 0, 1});
        },
        x);
  }
}

// ---- More tensors than a kernel takes.

std::vector<Tensor> many(int count, const Shape& shape) {
  std::vector<Tensor> tensors;
  for (int k = 0; k < count; ++k) tensors.push_back(rand(shape, f32, {7, static_cast<std::uint64_t>(k)}));
  return tensors;
}

std::vector<Tensor> on(const Device& device, const std::vector<Tensor>& tensors) {
  std::vector<Tensor> there;
  for (const Tensor& x : tensors) there.push_back(x | device);
  return there;
}

TEST_P(PluginMap, ManyInputs) {
  const auto sums = [](auto... x) { return std::tuple((x + ...), (x * ...), ((x * 2 + 1) + ...)); };
  const Function f = trace<45>(sums);
  for (const Shape& shape : {Shape{100}, Shape{2, 3, 4, 5}}) {
    std::vector<Tensor> here = many(45, shape);
    // Some are broadcast, which costs a kernel more.
    for (std::size_t k = 0; k < here.size(); k += 2) here[k] = rand(shape.with(0, 1), f32, {8, k});
    std::vector<Tensor> there = on(device, here);
    const auto expected = detail::run_map(f.program(), f.params(), here),
               got = detail::run_map(f.program(), f.params(), there);
    for (std::size_t o = 0; o < 3; ++o) expect_close("output", 1e-6, 1e-37, got[o] | cpu_device(), expected[o]);
  }
}

TEST_P(PluginMap, ManyOutputsWhereTheInputsLie) {
  const Function f = trace<20>([](auto... x) {
    const auto all = (x + ...);
    return std::tuple(all * x..., x...);
  });
  const std::vector<Tensor> inputs = many(20, {257});
  // Given away, so that outputs take their places.
  std::vector<Tensor> here, there = on(device, inputs);
  for (const Tensor& x : inputs) here.push_back(x + 0);
  const auto expected = detail::run_map(f.program(), f.params(), here),
             got = detail::run_map(f.program(), f.params(), there);
  ASSERT_EQ(got.size(), 40u);
  for (std::size_t o = 0; o < got.size(); ++o) {
    expect_close("output " + std::to_string(o), 1e-6, 0, got[o] | cpu_device(), expected[o]);
  }
}

TEST_P(PluginMap, ReductionsOfManyInputs) {
  const Function f = trace<40>([](auto... x) { return (x * ...) + (x + ...); });
  const std::vector<Tensor> inputs = many(40, {9, 31});
  std::vector<Tensor> here = inputs, there = on(device, inputs);
  for (const Shape& shape : {Shape{}, Shape{9, 1}, Shape{1, 31}}) {
    expect_close("sum", 1e-5, 0, detail::map_sum_to_shape(f.program(), f.params(), there, shape, f32) | cpu_device(),
                 detail::map_sum_to_shape(f.program(), f.params(), here, shape, f32));
  }
}

}  // namespace
}  // namespace sluice
