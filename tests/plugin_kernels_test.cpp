// The kernels that are not elementwise on devices behind a plug-in against the CPU: reductions, softmax, indices,
// products, random numbers, and gradients through all of them.
#include <gtest/gtest.h>

#include <limits>

#include "kernel_device.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice {
namespace {

using tests::name_of;
using tests::numbers;
using tests::order_of;
using tests::unit_of;

class PluginKernels : public tests::KernelDevice {};
SLUICE_INSTANTIATE_FOR_KERNEL_DEVICES(PluginKernels);

// ---- Reductions.

/// Dimensions to reduce; few, see KernelDevice::types.
const std::vector<Dims> kDims = {Dims{}, Dims{1}, Dims{0, 2}};

TEST_P(PluginKernels, SumsAndProducts) {
  // Without doubles every factor of a product rounds, by half a unit.
  const double product_units = device.impl()->has_f64() ? 4 : 9 * 5 * 11 / 2.0;
  for (const DType dtype : types()) {
    const Tensor x = numbers({9, 5, 11}, dtype, -3, 3, 1);
    for (const Dims& dims : kDims) {
      const double tolerance = order_of(dtype, 2);
      expect_same(
          name_of(dtype) + " sum", tolerance, 1e-6, [&](const Tensor& v) { return sum(v, dims); }, x);
      expect_same(
          name_of(dtype) + " mean", tolerance, 1e-6, [&](const Tensor& v) { return mean(v, dims); }, x);
      const Tensor near_one = dtype.is_floating() ? numbers({9, 5, 11}, dtype, 0.9, 1.1, 1) : x;
      expect_same(
          name_of(dtype) + " prod", order_of(dtype, product_units), 0, [&](const Tensor& v) { return prod(v, dims); },
          near_one);
    }
  }
}

TEST_P(PluginKernels, Extremes) {
  for (const DType dtype : types()) {
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

TEST_P(PluginKernels, LongReductions) {
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
TEST_P(PluginKernels, LongSumsKeepTheirLowBits) {
  std::vector<float> values(1 << 20, 0.1f);
  values[0] = 1e8f;
  double exact = 0;
  for (const float value : values) exact += static_cast<double>(value);
  EXPECT_EQ((sum(from(values) | device) | cpu_device()).item<float>(), static_cast<float>(exact));
}

TEST_P(PluginKernels, AMeanOfEqualNumbersIsThatNumber) {
  for (const std::int64_t count : {3, 7, 49, 1000, 4099}) {
    const Tensor x = full({count}, 0.1, f32, device);
    EXPECT_EQ((mean(x) | cpu_device()).item<float>(), 0.1f) << count;
  }
}

TEST_P(PluginKernels, ReductionsOfNothingAndOfOne) {
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

TEST_P(PluginKernels, SumsOfInfinitiesAndNaN) {
  const Tensor x = from(std::vector<float>{1, INFINITY, 2, -INFINITY, NAN, 5}, {2, 3});
  expect_same(
      "columns", 0, 0, [](const Tensor& v) { return sum(v, {0}); }, x);
  expect_same(
      "rows", 0, 0, [](const Tensor& v) { return sum(v, {1}); }, x);
  expect_same(
      "infinite", 0, 0, [](const Tensor& v) { return sum(v); }, from(std::vector<float>{1, INFINITY, 2}));
}

// ---- Along an axis.

TEST_P(PluginKernels, Softmax) {
  for (const DType dtype : floating_types()) {
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

TEST_P(PluginKernels, SoftmaxOfInfinities) {
  const Tensor x = from(
      std::vector<float>{1, INFINITY, 2, -INFINITY, 3, 4, NAN, 1, INFINITY, -INFINITY, -INFINITY, -INFINITY}, {3, 4});
  expect_same(
      "softmax", 1e-6, 0, [](const Tensor& v) { return softmax(v); }, x);
  expect_same(
      "logsoftmax", 1e-6, 0, [](const Tensor& v) { return logsoftmax(v); }, x);
}

TEST_P(PluginKernels, Moments) {
  for (const DType dtype : types()) {
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

TEST_P(PluginKernels, GatherAndScatter) {
  const Tensor indices = from(std::vector<std::int64_t>{3, 0, 3, 4, 3, 1}, {3, 2});
  for (const DType dtype : types()) {
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

TEST_P(PluginKernels, IndicesOutOfRangeAreReported) {
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

TEST_P(PluginKernels, Products) {
  for (const DType dtype : types()) {
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

TEST_P(PluginKernels, ProductsOfSeveralBlocks) {
  for (const DType dtype : supported({f32, f64})) {
    for (int form = 0; form < 4; ++form) {
      const bool ta = (form & 1) != 0, tb = (form & 2) != 0;
      const Tensor a = numbers(ta ? Shape{270, 197} : Shape{197, 270}, dtype, -3, 3, 1);
      const Tensor b = numbers(tb ? Shape{389, 270} : Shape{270, 389}, dtype, -3, 3, 2);
      expect_same(
          name_of(dtype) + " product " + std::to_string(form), unit_of(dtype), dtype == f64 ? 1e-11 : 5e-4,
          [&](const Tensor& x, const Tensor& y) { return matmul(x, y, {.transpose_a = ta, .transpose_b = tb}); }, a, b);
    }
  }
}

TEST_P(PluginKernels, BatchesOfProducts) {
  const auto product = [](const Tensor& x, const Tensor& y) { return matmul(x, y); };
  expect_same("batch", 1e-6, 1e-6, product, numbers({3, 4, 5}, f32, -1, 1, 1), numbers({4, 2, 5}, f32, -1, 1, 2));
  expect_same("one left", 1e-6, 1e-6, product, numbers({3, 4}, f32, -1, 1, 1), numbers({4, 2, 5}, f32, -1, 1, 2));
  expect_same("two batches", 1e-6, 1e-6, product, numbers({3, 4, 5, 1}, f32, -1, 1, 1),
              numbers({4, 2, 1, 3}, f32, -1, 1, 2));
  expect_same("vector", 1e-6, 1e-6, product, numbers({3, 4}, f32, -1, 1, 1), numbers({4}, f32, -1, 1, 2));
  expect_same("empty", 0, 0, product, numbers({3, 0}, f32, -1, 1, 1), numbers({0, 2}, f32, -1, 1, 2));
}

// ---- Random numbers.

TEST_P(PluginKernels, UniformsAreTheCpuOnesBitForBit) {
  for (const DType dtype : supported({f32, f64})) {
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

TEST_P(PluginKernels, Gradients) {
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

TEST_P(PluginKernels, GradientsThroughIndices) {
  const auto f = [](const Tensor& x, const Tensor& i) {
    return gradient([&](const Tensor& v) { return sum(gather(v, i) * gather(v, i)); }, x);
  };
  expect_same("gather", 1e-6, 0, f, numbers({3, 5}, f32, -1, 1, 1), from(std::vector<std::int64_t>{4, 0, 4, 2}));
}

}  // namespace
}  // namespace sluice
