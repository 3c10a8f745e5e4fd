// Every operation on an OpenCL device against the CPU: all element types, dense, broadcast, empty, one element, odd
// sizes, values and gradients.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <thread>

#include "op_reference.hpp"
#include "opencl_device.hpp"
#include "src/core/map.hpp"
#include "src/core/program.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/core/typed_program.hpp"

namespace sluice {
namespace {

using tests::kAllTypes;
using tests::kFloatingTypes;
using tests::numbers;
using tests::order_of;
using tests::unit_of;

class PluginKernels : public tests::OpenClDevice {};

std::string name_of(DType dtype) { return std::string(dtype.name()); }

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

TEST_F(PluginKernels, EveryRowOfTheOpTableInFloat) {
  const std::vector<Tensor> inputs = {any_floats(1), any_floats(2), any_floats(3)};
  for (const test::OpReference& row : test::op_references()) {
    std::vector<Tensor> here(inputs.begin(), inputs.begin() + row.arity);
    std::vector<Tensor> there;
    for (const Tensor& x : here) there.push_back(x | device);
    const Tensor expected = detail::run_map1(detail::row_program(row.op), {}, here);
    const Tensor got = detail::run_map1(detail::row_program(row.op), {}, there) | cpu_device();
    expect_close(row.name, 4 * unit_of(f32), 1e-37, got, expected);
  }
}

TEST_F(PluginKernels, EveryRowOfTheOpTableInEveryType) {
  for (const DType dtype : kAllTypes) {
    std::vector<Tensor> inputs;
    for (std::uint64_t k = 0; k < 3; ++k) inputs.push_back(numbers({257}, dtype, -20, 20, 10 + k));
    for (const test::OpReference& row : test::op_references()) {
      std::vector<Tensor> here(inputs.begin(), inputs.begin() + row.arity);
      std::vector<Tensor> there;
      for (const Tensor& x : here) there.push_back(x | device);
      const Tensor expected = detail::run_map1(detail::row_program(row.op), {}, here);
      const Tensor got = detail::run_map1(detail::row_program(row.op), {}, there) | cpu_device();
      const double tolerance = expected.dtype() == f64 ? 1e-13 : 4 * unit_of(expected.dtype());
      expect_close(std::string(row.name) + " of " + name_of(dtype), tolerance, 1e-37, got, expected);
    }
  }
}

TEST_F(PluginKernels, IntegersWrapAndDivideAsOnTheCpu) {
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

TEST_F(PluginKernels, EveryConversion) {
  const std::vector<double> wild = {0,    -0.0,         0.5,           -0.5,   1.5,          127.5,        128,
                                    -129, 255.9,        256,           65504,  65520,        1e5,          -1e5,
                                    2e9,  2.5e9,        -2.5e9,        9e18,   1e19,         -1e19,        1e30,
                                    1e-7, 6e-8,         1e-40,         3e38,   1e39,         INFINITY,     -INFINITY,
                                    NAN,  2147483647.5, -2147483648.5, 4.1e-8, 1.0009765625, 1.00048828125};
  for (const DType from_type : kAllTypes) {
    const Tensor x = cast(from(wild), from_type);
    for (const DType to : kAllTypes) {
      // A device may take the denormals of f32 for 0.
      expect_same(
          name_of(from_type) + " to " + name_of(to), 0, to == bf16 || to == f32 ? 1.2e-38 : 0,
          [&](const Tensor& v) { return cast(v, to); }, x);
    }
  }
}

TEST_F(PluginKernels, HalvesConvertBitForBit) {
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

TEST_F(PluginKernels, BroadcastingAndSizes) {
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

TEST_F(PluginKernels, PartsOfATensorStartWhereTheyLie) {
  expect_same(
      "slices", 0, 0, [](const Tensor& x) { return slice(x, 1, 1, 3) + slice(x, 1, 2, 3) * slice(x, 1, 4, 5); },
      numbers({7, 5}, f32, -1, 1, 1));
}

TEST_F(PluginKernels, ParametersAndSeveralOutputs) {
  for (const DType dtype : {i32, f16, f32, f64}) {
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

TEST_F(PluginKernels, BuffersThatAreGivenAwayAreReused) {
  const Tensor x = numbers({1000}, f32, -5, 5, 1), y = numbers({1000}, f32, 1, 5, 2);
  const auto f = [](auto a, auto b) { return std::tuple(a + b, a - b); };
  const auto here = map(f, x, y);
  const auto there = map(f, (x | device) * 1, (y | device) * 1);
  expect_close("sum", 0, 0, there[0] | cpu_device(), here[0]);
  expect_close("difference", 0, 0, there[1] | cpu_device(), here[1]);
}

TEST_F(PluginKernels, ManyOperands) {
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

TEST_F(PluginKernels, TooManyOperandsAreRefused) {
  std::vector<Tensor> there(40, numbers({5, 4}, f32, -1, 1, 1) | device);
  const Function f = trace<40>([](auto... v) { return (v + ...); });
  try {
    detail::run_map1(f.program(), f.params(), there);
    FAIL() << "nothing was thrown";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("41 tensors"), std::string::npos) << error.what();
  }
}

TEST_F(PluginKernels, ThreadsMayCompileTheSameKernel) {
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

TEST_F(PluginKernels, Copies) {
  for (const DType dtype : kAllTypes) {
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
// ---- Reductions.

const std::vector<Dims> kDims = {Dims{}, Dims{0}, Dims{1}, Dims{2}, Dims{0, 1}, Dims{0, 2}, Dims{1, 2}};

TEST_F(PluginKernels, SumsAndProducts) {
  for (const DType dtype : kAllTypes) {
    const Tensor x = numbers({9, 5, 11}, dtype, -3, 3, 1);
    for (const Dims& dims : kDims) {
      const double tolerance = order_of(dtype, 2);
      expect_same(
          name_of(dtype) + " sum", tolerance, 1e-6, [&](const Tensor& v) { return sum(v, dims); }, x);
      expect_same(
          name_of(dtype) + " mean", tolerance, 1e-6, [&](const Tensor& v) { return mean(v, dims); }, x);
      const Tensor near_one = dtype.is_floating() ? numbers({9, 5, 11}, dtype, 0.9, 1.1, 1) : x;
      expect_same(
          name_of(dtype) + " prod", order_of(dtype, 4), 0, [&](const Tensor& v) { return prod(v, dims); }, near_one);
    }
  }
}

TEST_F(PluginKernels, Extremes) {
  for (const DType dtype : kAllTypes) {
    Tensor x = numbers({9, 5, 11}, dtype, -100, 100, 1);
    for (int with_nan = 0; with_nan < (dtype.is_floating() ? 2 : 1); ++with_nan) {
      if (with_nan == 1) x = cast(where(abs(x) < 5, NAN, x), dtype);
      for (const Dims& dims : kDims) {
        expect_same(
            name_of(dtype) + " maximum", 0, 0, [&](const Tensor& v) { return maximum(v, dims); }, x);
        expect_same(
            name_of(dtype) + " minimum", 0, 0, [&](const Tensor& v) { return minimum(v, dims); }, x);
      }
      for (const int dim : {0, 1, 2}) {
        expect_same(
            name_of(dtype) + " argmax", 0, 0, [&](const Tensor& v) { return argmax(v, dim); }, x);
        expect_same(
            name_of(dtype) + " argmin", 0, 0, [&](const Tensor& v) { return argmin(v, dim); }, x);
      }
    }
    expect_same(
        name_of(dtype) + " any", 0, 0, [&](const Tensor& v) { return any(v, {1}); }, x);
    expect_same(
        name_of(dtype) + " all", 0, 0,
        [&](const Tensor& v) {
          return all(v, {0, 2});
        },
        x);
  }
}

TEST_F(PluginKernels, LongReductions) {
  for (const Shape& shape : {Shape{300007}, Shape{100003, 3}, Shape{3, 100003}, Shape{37, 1001, 5}}) {
    const Tensor x = rand(shape, f32, {1, 1}), integers = numbers(shape, i32, -1000, 1000, 5);
    std::vector<Dims> all = {Dims{}};
    for (int dim = 0; dim < shape.rank(); ++dim) all.emplace_back(dim);
    for (const Dims& dims : all) {
      // A sum of f32 made in f64 is as good as exact.
      const Tensor exact = cast(sum(cast(x, f64), dims), f32);
      expect_close(to_string(shape), unit_of(f32), 0, sum(x | device, dims) | cpu_device(), exact);
      expect_same(
          "integers", 0, 0, [&](const Tensor& v) { return sum(v, dims); }, integers);
    }
  }
}

// A long sum in plain floats would be off by far more than its last place.
TEST_F(PluginKernels, LongSumsKeepTheirLowBits) {
  std::vector<float> values(1 << 20, 0.1f);
  values[0] = 1e8f;
  double exact = 0;
  for (const float value : values) exact += static_cast<double>(value);
  EXPECT_EQ((sum(from(values) | device) | cpu_device()).item<float>(), static_cast<float>(exact));
}

TEST_F(PluginKernels, AMeanOfEqualNumbersIsThatNumber) {
  for (const std::int64_t count : {3, 7, 49, 1000, 4099}) {
    const Tensor x = full({count}, 0.1, f32, device);
    EXPECT_EQ((mean(x) | cpu_device()).item<float>(), 0.1f) << count;
  }
}

TEST_F(PluginKernels, ReductionsOfNothingAndOfOne) {
  for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{1}, Shape{1, 1, 1}}) {
    const Tensor x = numbers(shape, f32, 1, 2, 1);
    expect_same(
        "sum", 0, 0, [](const Tensor& v) { return sum(v, {0}); }, x);
    expect_same(
        "mean", 0, 0, [](const Tensor& v) { return mean(v); }, x);
    expect_same(
        "prod", 0, 0, [](const Tensor& v) { return prod(v); }, x);
  }
}

TEST_F(PluginKernels, SumsOfInfinitiesAndNaN) {
  const Tensor x = from(std::vector<float>{1, INFINITY, 2, -INFINITY, NAN, 5}, {2, 3});
  expect_same(
      "columns", 0, 0, [](const Tensor& v) { return sum(v, {0}); }, x);
  expect_same(
      "rows", 0, 0, [](const Tensor& v) { return sum(v, {1}); }, x);
  expect_same(
      "infinite", 0, 0, [](const Tensor& v) { return sum(v); }, from(std::vector<float>{1, INFINITY, 2}));
}
// ---- Along an axis.

TEST_F(PluginKernels, Softmax) {
  for (const DType dtype : kFloatingTypes) {
    for (const Shape& shape : {Shape{10, 7}, Shape{1, 3}, Shape{1000, 2}, Shape{3, 300, 5}}) {
      const Tensor x = numbers(shape, dtype, -10, 10, 1);
      for (int dim = 0; dim < shape.rank(); ++dim) {
        const double tolerance = order_of(dtype, 8);
        const std::string what = name_of(dtype) + " " + to_string(shape) + " along " + std::to_string(dim);
        expect_same(
            what, tolerance, 1e-37, [&](const Tensor& v) { return softmax(v, dim); }, x);
        expect_same(
            what, tolerance, order_of(dtype, 4), [&](const Tensor& v) { return logsoftmax(v, dim); }, x);
        expect_same(
            what, tolerance, 1e-6, [&](const Tensor& v) { return logsumexp(v, dim); }, x);
      }
    }
  }
}

TEST_F(PluginKernels, SoftmaxOfInfinities) {
  const Tensor x = from(
      std::vector<float>{1, INFINITY, 2, -INFINITY, 3, 4, NAN, 1, INFINITY, -INFINITY, -INFINITY, -INFINITY}, {3, 4});
  expect_same(
      "softmax", 1e-6, 0, [](const Tensor& v) { return softmax(v); }, x);
  expect_same(
      "logsoftmax", 1e-6, 0, [](const Tensor& v) { return logsoftmax(v); }, x);
}

TEST_F(PluginKernels, Moments) {
  for (const DType dtype : kAllTypes) {
    for (const Shape& shape : {Shape{10, 7}, Shape{300, 4}, Shape{3, 20, 50}, Shape{1, 5}}) {
      const Tensor x = numbers(shape, dtype, 50, 60, 1);
      for (int dim = 0; dim < shape.rank(); ++dim) {
        const std::string what = name_of(dtype) + " " + to_string(shape) + " along " + std::to_string(dim);
        const double tolerance = dtype == f64 ? 1e-12 : dtype == f16 || dtype == bf16 ? unit_of(dtype) : 1e-6;
        for (const int correction : {0, 1}) {
          expect_same(
              what, tolerance, 1e-7, [&](const Tensor& v) { return var(v, dim, correction); }, x);
        }
        expect_same(
            what, tolerance, 1e-7, [&](const Tensor& v) { return mean_var(v, dim).mean; }, x);
      }
    }
  }
}

// ---- By index.

TEST_F(PluginKernels, GatherAndScatter) {
  const Tensor indices = from(std::vector<std::int64_t>{3, 0, 3, 4, 3, 1}, {3, 2});
  for (const DType dtype : kAllTypes) {
    const Tensor columns = numbers({3, 2, 5}, dtype, -100, 100, 1), single = numbers({5}, dtype, -100, 100, 2);
    const auto pick = [](const Tensor& x, const Tensor& i) { return gather(x, i); };
    expect_same(name_of(dtype) + " columns", 0, 0, pick, columns, indices);
    expect_same(name_of(dtype) + " elements", 0, 0, pick, single, indices);
    const auto add = [](const Tensor& x, const Tensor& i) { return scatter_add(x, i, 6); };
    expect_same(name_of(dtype) + " columns", 0, 0, add, numbers({4, 3, 2}, dtype, -100, 100, 3), indices);
    expect_same(name_of(dtype) + " elements", 0, 0, add, numbers({3, 2}, dtype, -100, 100, 4), indices);
  }
  expect_same(
      "take_along", 0, 0, [](const Tensor& x, const Tensor& i) { return take_along(x, i, 1); },
      numbers({3, 5}, f32, -1, 1, 5), from(std::vector<std::int64_t>{4, 0, 2}, {3, 1}));
}

TEST_F(PluginKernels, IndicesOutOfRangeAreReported) {
  const auto message = [](auto&& call) {
    try {
      call();
    } catch (const IndexError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  const Tensor x = numbers({2, 5}, f32, -1, 1, 1);
  for (const std::int64_t wrong : {-1, 5, 1 << 30}) {
    const Tensor indices = from(std::vector<std::int64_t>{0, 4, wrong, -7});
    EXPECT_EQ(message([&] { gather(x | device, indices | device); }), message([&] { gather(x, indices); }));
    const Tensor updates = numbers({2, 4}, f32, -1, 1, 2);
    EXPECT_EQ(message([&] { scatter_add(updates | device, indices | device, 5); }),
              message([&] { scatter_add(updates, indices, 5); }));
  }
}

// ---- Products.

TEST_F(PluginKernels, Products) {
  for (const DType dtype : kAllTypes) {
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {5, 3, 7}, {64, 64, 8}, {65, 130, 33}, {200, 1, 300}}) {
      for (int form = 0; form < 4; ++form) {
        const bool ta = (form & 1) != 0, tb = (form & 2) != 0;
        const Tensor a = numbers(ta ? Shape{k, m} : Shape{m, k}, dtype, -3, 3, 1);
        const Tensor b = numbers(tb ? Shape{n, k} : Shape{k, n}, dtype, -3, 3, 2);
        const double size = std::sqrt(static_cast<double>(k)) * 9;
        expect_same(
            name_of(dtype) + " product " + std::to_string(form), unit_of(dtype), size * (dtype == f64 ? 1e-14 : 2e-6),
            [&](const Tensor& x, const Tensor& y) { return matmul(x, y, {.transpose_a = ta, .transpose_b = tb}); }, a,
            b);
      }
    }
  }
}

TEST_F(PluginKernels, BatchesOfProducts) {
  const auto product = [](const Tensor& x, const Tensor& y) { return matmul(x, y); };
  expect_same("batch", 1e-6, 1e-6, product, numbers({3, 4, 5}, f32, -1, 1, 1), numbers({4, 2, 5}, f32, -1, 1, 2));
  expect_same("one left", 1e-6, 1e-6, product, numbers({3, 4}, f32, -1, 1, 1), numbers({4, 2, 5}, f32, -1, 1, 2));
  expect_same("two batches", 1e-6, 1e-6, product, numbers({3, 4, 5, 1}, f32, -1, 1, 1),
              numbers({4, 2, 1, 3}, f32, -1, 1, 2));
  expect_same("vector", 1e-6, 1e-6, product, numbers({3, 4}, f32, -1, 1, 1), numbers({4}, f32, -1, 1, 2));
  expect_same("empty", 0, 0, product, numbers({3, 0}, f32, -1, 1, 1), numbers({0, 2}, f32, -1, 1, 2));
}

// ---- Random numbers.

TEST_F(PluginKernels, UniformsAreTheCpuOnesBitForBit) {
  for (const DType dtype : {f32, f64}) {
    for (const std::int64_t count : {1, 3, 4, 1025, 70001}) {
      const RandomKey key{0x123456789abcdef0, 0xfedcba9876543210};
      const Tensor there = detail::empty({count}, dtype, device.impl());
      device.impl()->uniform(detail::dense_operand(there), count, key);
      expect_close("uniforms", 0, 0, there | cpu_device(), rand({count}, dtype, key));
    }
  }
}

// ---- Gradients.

#define EXPECT_SAME_GRADIENT(tolerance, absolute, loss, ...)                                         \
  expect_same(                                                                                       \
      #loss, tolerance, absolute,                                                                    \
      [](const Tensor& x, const Tensor& y) {                                                         \
        (void)y;                                                                                     \
        const auto [dx, dy] = gradient([](const Tensor& x, const Tensor& y) { return loss; }, x, y); \
        return dx;                                                                                   \
      },                                                                                             \
      __VA_ARGS__)

TEST_F(PluginKernels, Gradients) {
  const Tensor a = numbers({6, 5}, f32, 0.5, 2, 1), b = numbers({6, 5}, f32, 0.5, 2, 2);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(tanh(x) * y) + sum(y), a, b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(x / y) + sum(y), numbers({6}, f32, 1, 2, 3), b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(pow(x, y)), numbers({1, 5}, f32, 1, 2, 3), b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(matmul(x, y, {.transpose_a = true})), a, b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(softmax(x) * y), a, b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(logsoftmax(x, 1) * y), a, b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(maximum(x * y, {1})), a, b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(var(x * y, {0})), a, b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(mean(x, {1}) * y), a, b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(prod(x, {0})) + sum(y), a, b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(transpose(x) * transpose(y)), a, b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(cat({slice(x, 0, 1, 4), y}, 0)) + sum(slice(x, 1, 0, 5, 2)), a, b);
  EXPECT_SAME_GRADIENT(1e-5, 1e-6, sum(logsumexp(x * y, 1)), a, b);
}

TEST_F(PluginKernels, GradientsThroughIndices) {
  const auto f = [](const Tensor& x, const Tensor& i) {
    return gradient([&](const Tensor& v) { return sum(gather(v, i) * gather(v, i)); }, x);
  };
  expect_same("gather", 1e-6, 0, f, numbers({3, 5}, f32, -1, 1, 1), from(std::vector<std::int64_t>{4, 0, 4, 2}));
}

}  // namespace
}  // namespace sluice
