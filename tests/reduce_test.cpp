#include <algorithm>
#include <limits>

#include "src/core/map.hpp"
#include "src/device/reduce_kernels.hpp"
#include "tests/reduce_reference.hpp"

namespace sluice {
namespace {

using namespace testing;  // NOLINT

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

double greater(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double lesser(double a, double b) { return std::isnan(a) || a < b ? a : b; }

/// Every reduction of `x` over the dimensions in `mask` against the loop; the values are such that sums are exact.
void check_all(const Tensor& x, int mask) {
  const std::vector<double> values = doubles(x);
  const Shape& shape = x.shape();
  const Dims dims(dims_of(mask, shape.rank()));
  const Shape kept = kept_shape(shape, mask);
  const std::vector<std::size_t> target = targets(shape, mask);
  const std::int64_t length = kept.numel() == 0 ? 1 : shape.numel() / kept.numel();
  const std::string what = to_string(shape) + " " + std::string(x.dtype().name()) + " dims " + std::to_string(mask);
  const DType summed = x.dtype().is_floating() ? x.dtype() : i64;
  const double tolerance = x.dtype() == f16 ? 1e-3 : x.dtype() == bf16 ? 8e-3 : x.dtype() == f32 ? 1e-6 : 1e-15;

  const std::vector<double> sums = folded(values, target, kept, 0, std::plus<>());
  const Tensor s = sum(x, dims);
  EXPECT_EQ(s.shape(), kept) << what;
  EXPECT_EQ(s.dtype(), summed) << what;
  expect_close(doubles(s), sums, tolerance, "sum " + what);

  std::vector<double> means = sums;
  for (double& v : means) v = shape.numel() == 0 ? kNan : v / static_cast<double>(length);
  const Tensor m = mean(x, dims);
  EXPECT_EQ(m.dtype(), x.dtype().is_floating() ? x.dtype() : f32) << what;
  expect_close(doubles(m), means, std::max(tolerance, x.dtype() == f64 ? 0.0 : 1e-6), "mean " + what);

  if (length <= 20) {
    expect_close(doubles(prod(x, dims)), folded(values, target, kept, 1, std::multiplies<>()), tolerance,
                 "prod " + what);
  }
  if (shape.numel() == 0) return;
  const Tensor greatest = maximum(x, dims);
  EXPECT_EQ(greatest.dtype(), x.dtype()) << what;
  expect_close(doubles(greatest), folded(values, target, kept, -kInf, greater), 0, "max " + what);
  expect_close(doubles(minimum(x, dims)), folded(values, target, kept, kInf, lesser), 0, "min " + what);
  std::vector<double> truths = folded(values, target, kept, 1, [](double a, double b) { return a * (b != 0); });
  expect_close(doubles(all(x, dims)), truths, 0, "all " + what);
  truths = folded(values, target, kept, 0, [](double a, double b) { return a + (b != 0) > 0; });
  expect_close(doubles(any(x, dims)), truths, 0, "any " + what);
}

TEST(Reduce, AgreesWithALoopForAllShapesDimensionsAndTypes) {
  std::mt19937 random(1);
  for (int rank = 0; rank <= 4; ++rank) {
    for (int trial = 0; trial < 6; ++trial) {
      const Shape shape = random_shape(rank, random);
      for (const DType dtype : kAllTypes) {
        const Tensor x = small_numbers(shape, dtype, random, 0.5);
        for (int mask = 0; mask < 1 << rank; ++mask) check_all(x, mask);
      }
    }
  }
}

TEST(Reduce, AgreesWithALoopForLargeTensors) {
  std::mt19937 random(2);
  const Shape shapes[] = {{200003},    {3, 70001},   {70001, 3},   {1500, 130},
                          {130, 1500}, {7, 9, 2003}, {2003, 3, 7}, {2, 3000, 2, 21}};
  for (const Shape& shape : shapes) {
    for (const DType dtype : {f32, f64, i64, f16, i32}) {
      // Halves would overflow or round their sums; a few non-zero elements keep those exact.
      Tensor x = small_numbers(shape, dtype, random);
      if (dtype == f16) x = cast(x * cast(rand(shape, f32, {3, 4}) < 0.01, f16), f16);
      for (int mask = 0; mask < 1 << shape.rank(); ++mask) check_all(x, mask);
    }
  }
}

TEST(Reduce, RunsAProgramOfBroadcastOperands) {
  std::mt19937 random(3);
  const Shape shapes[] = {{5, 7}, {600, 40}, {3, 4, 5}, {10, 3000}, {3, 2, 700}, {2000, 3, 2}};
  for (const Shape& shape : shapes) {
    const Tensor x = small_numbers(shape, f32, random);
    for (int b_mask = 0; b_mask < 1 << shape.rank(); ++b_mask) {
      const Tensor b = small_numbers(kept_shape(shape, b_mask), i32, random);
      const std::vector<double> xs = doubles(x), bs = doubles(b);
      const std::vector<std::size_t> where_b = targets(shape, b_mask);
      std::vector<double> products(xs.size());
      for (std::size_t i = 0; i < xs.size(); ++i) products[i] = (xs[i] - bs[where_b[i]]) * xs[i];
      for (int mask = 0; mask < 1 << shape.rank(); ++mask) {
        const Dims dims(dims_of(mask, shape.rank()));
        const auto program = [](auto v, auto w) { return (v - w) * v; };
        const std::string what = to_string(shape) + " by " + to_string(b.shape()) + " dims " + std::to_string(mask);
        expect_close(doubles(map_reduce(program, Combine::sum, dims, x, b)),
                     folded(products, shape, mask, 0, std::plus<>()), 1e-6, "sum " + what);
        expect_close(doubles(map_reduce(program, Combine::max, dims, x, b)),
                     folded(products, shape, mask, -kInf, greater), 0, "max " + what);
      }
    }
  }
}

TEST(Reduce, ShapesOfTheResult) {
  const Tensor x = ones({2, 3, 4});
  EXPECT_EQ(sum(x).shape(), Shape());
  EXPECT_EQ(sum(x, {}, {.keepdims = false}).shape(), Shape());
  EXPECT_EQ(sum(x, {0, 2}).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(sum(x, {0, 2}, {.keepdims = false}).shape(), Shape{3});
  EXPECT_EQ(sum(x, 1, {.keepdims = false}).shape(), (Shape{2, 4}));
  EXPECT_EQ(maximum(x, {0, 1, 2}, {.keepdims = false}).shape(), Shape());
  EXPECT_EQ(sum(x).item<float>(), 24);
}

TEST(Reduce, TypesCanBeChosen) {
  const Tensor x = tensor({200, 100, -50});
  EXPECT_EQ(sum(x, {}, {.dtype = f32}).item<float>(), 250);
  EXPECT_EQ(sum(x, {}, {.dtype = f64}).item<double>(), 250);
  EXPECT_EQ(sum(x, {}, {.dtype = i16}).item<std::int16_t>(), 250);
  EXPECT_EQ(mean(x, {}, {.dtype = f64}).item<double>(), 250.0 / 3);
  EXPECT_EQ(maximum(x, {}, {.dtype = f32}).item<float>(), 200);
  EXPECT_EQ(all(x, {}, {.dtype = i32}).item<std::int32_t>(), 1);
  const Tensor halves = full({4096}, 8.0, f16);
  EXPECT_EQ(sum(halves, {}, {.dtype = f32}).item<float>(), 32768);
  EXPECT_EQ(static_cast<float>(mean(halves).item<Float16>()), 8);
  EXPECT_EQ(sum(cast(tensor({255, 255}), u8)).item<std::int64_t>(), 510);
}

TEST(Reduce, MeanOfEqualValuesIsExact) {
  for (const std::int64_t n : {3, 49, 1000, 1001}) {
    EXPECT_EQ(mean(full({n}, 0.1, f64)).item<double>(),
              sum(full({n}, 0.1, f64)).item<double>() / static_cast<double>(n));
    EXPECT_EQ(mean(ones({n}, f64)).item<double>(), 1.0) << n;
    EXPECT_EQ(mean(full({n}, 0.75)).item<float>(), 0.75f) << n;
  }
}

TEST(Reduce, IntegersWrapAndKeepAllBits) {
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ(sum(tensor({big, std::int64_t{1}})).item<std::int64_t>(), big + 1);
  EXPECT_EQ(maximum(tensor({big, big - 1})).item<std::int64_t>(), big);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(sum(tensor({most, std::int64_t{1}})).item<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(minimum(tensor({most, -most - 1})).item<std::int64_t>(), -most - 1);
}

TEST(Reduce, NanWins) {
  for (const std::int64_t n : {1, 5, 40, 1000, 100000}) {
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      for (const DType dtype : {f16, bf16, f32, f64}) {
        std::vector<double> values(static_cast<std::size_t>(n), 1);
        values[static_cast<std::size_t>(at)] = kNan;
        const Tensor x = from_doubles(values, {n}, dtype);
        EXPECT_TRUE(std::isnan(doubles(maximum(x))[0])) << n << " " << at;
        EXPECT_TRUE(std::isnan(doubles(minimum(x))[0])) << n << " " << at;
        const Tensor row = reshape(x, Shape{1, n});
        EXPECT_TRUE(std::isnan(doubles(maximum(row, 1))[0])) << n << " " << at;
        const Tensor rows = expand(row, Shape{3, n});
        for (const double v : doubles(minimum(rows, 1))) EXPECT_TRUE(std::isnan(v)) << n << " " << at;
        EXPECT_TRUE(all(x).item<bool>());  // NaN is not 0
      }
    }
  }
}

TEST(Reduce, InfinitiesStay) {
  EXPECT_EQ(maximum(full({100}, -kInf)).item<float>(), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(minimum(full({3, 100}, kInf), 1).to_vector<float>()[2], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(sum(tensor({kInf, -kInf})).item<float>()));
}

TEST(Reduce, OfNothing) {
  for (const DType dtype : kAllTypes) {
    const Tensor x = zeros({3, 0}, dtype);
    EXPECT_EQ(doubles(sum(x, 1)), (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(doubles(prod(x, 1)), (std::vector<double>{1, 1, 1}));
    for (const double v : doubles(mean(x, 1))) EXPECT_TRUE(std::isnan(v));
    EXPECT_EQ(doubles(all(x, 1)), (std::vector<double>{1, 1, 1}));
    EXPECT_EQ(doubles(any(x, 1)), (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(sum(x, 0).shape(), (Shape{1, 0}));
    EXPECT_EQ(maximum(x, 0).shape(), (Shape{1, 0}));
    EXPECT_THROW(maximum(x, 1), ArgumentError);
    EXPECT_THROW(minimum(x), ArgumentError);
  }
  EXPECT_TRUE(std::isnan(mean(zeros({0})).item<float>()));
}

TEST(Reduce, SaysWhatIsWrong) {
  const Tensor x = ones({2, 3});
  EXPECT_THROW(sum(x, 2), IndexError);
  EXPECT_THROW(sum(x, -1), IndexError);
  EXPECT_THROW(sum(scalar(1.0f), 0), IndexError);
  EXPECT_THROW(sum(x, {0, 0}), ArgumentError);
  EXPECT_THROW(sum(Tensor()), ArgumentError);
  EXPECT_THROW(mean(x, {}, {.dtype = i32}), TypeError);
  EXPECT_THROW(map_reduce([](auto a, auto b) { return a * b; }, Combine::sum, {}, x, ones({3, 2})), ShapeError);
  try {
    maximum(x, {1, 1});
    FAIL();
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("maximum: dimension 1 is given twice"), std::string::npos) << error.what();
  }
}

TEST(Reduce, SumOfMillionsIsAsGoodAsADoubleSum) {
  const std::int64_t n = 8 << 20;
  const Tensor x = rand({n}, f32, {11, 0});
  double expected = 0;
  for (const float v : x.span<float>()) expected += static_cast<double>(v);
  EXPECT_NEAR(sum(x).item<float>(), expected, 1e-7 * expected);
  const Tensor columns = reshape(x, Shape{8, n / 8});
  std::vector<double> rows(8, 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) rows[i % 8] += static_cast<double>(x.span<float>()[i]);
  const std::vector<float> got = sum(columns, 1).to_vector<float>();
  for (std::size_t j = 0; j < 8; ++j) EXPECT_NEAR(got[j], rows[j], 1e-7 * rows[j]);
}

TEST(Reduce, ProductsOverflowOnlyWhenTheResultDoes) {
  std::vector<float> values(64, 1e-30f);
  for (std::size_t i = 0; i < 32; ++i) values[i] = 1e30f;
  EXPECT_NEAR(prod(from(values)).item<float>(), 1, 1e-4);
}

TEST(Reduce, AnyNumberOfThreadsGivesTheSameBits) {
  std::mt19937 random(5);
  const Shape shapes[] = {{3000001}, {1000, 2000}, {10, 200000}, {200000, 10}, {64, 16, 2000}};
  const int before = num_threads();
  for (const Shape& shape : shapes) {
    const Tensor x = rand(shape, f32, {5, 1});
    const Tensor b = rand({shape[0]}, f32, {5, 2});
    for (int mask = 1; mask < 1 << shape.rank(); ++mask) {
      const Dims dims(dims_of(mask, shape.rank()));
      const auto all_bits = [&](int threads) {
        set_num_threads(threads);
        const Tensor fused = map_reduce([](auto v, auto w) { return v * w; }, Combine::sum, dims, x, b);
        return std::pair(sum(x, dims).to_vector<float>(), fused.to_vector<float>());
      };
      const auto one = all_bits(1);
      EXPECT_EQ(one, all_bits(2)) << to_string(shape) << " " << mask;
      EXPECT_EQ(one, all_bits(5)) << to_string(shape) << " " << mask;
    }
  }
  set_num_threads(before);
}

TEST(Reduce, EveryInstructionSetGivesTheSameBits) {
  const Tensor x = rand({5000}, f32, {6, 0});
  const float* values = x.span<float>().data();
  for (int combine = 0; combine < detail::ReduceLoops::kCombines; ++combine) {
    for (const long n : {1, 7, 32, 33, 511, 513, 5000}) {
      double plain = combine == 1 ? 1 : 0, here = plain;
      detail::baseline::kReduceLoops.runs[0][combine](values, n, 1, &plain);
      detail::reduce_loops().runs[0][combine](values, n, 1, &here);
      EXPECT_EQ(plain, here) << combine << " " << n;
    }
    for (const long width : {1, 10, 63, 64, 200}) {
      std::vector<double> plain(static_cast<std::size_t>(width), 1), here = plain;
      detail::baseline::kReduceLoops.rows[0][combine](values, width, width, 5000 / width, plain.data());
      detail::reduce_loops().rows[0][combine](values, width, width, 5000 / width, here.data());
      EXPECT_EQ(plain, here) << combine << " " << width;
    }
  }
}

TEST(Reduce, SumToShape) {
  const Tensor x = reshape(arange(0, 24), {2, 3, 4});
  EXPECT_TRUE(equal(detail::sum_to_shape(x, {2, 1, 4}), sum(x, 1)));
  EXPECT_TRUE(equal(detail::sum_to_shape(x, {2}), reshape(sum(x, {1, 2}), {2})));
  EXPECT_TRUE(equal(detail::sum_to_shape(x, Shape()), sum(x)));
  EXPECT_TRUE(detail::sum_to_shape(x, x.shape()).same_handle(x));
  EXPECT_EQ(detail::sum_to_shape(ones({2, 1}), Shape{2}).shape(), Shape{2});
  EXPECT_EQ(detail::sum_to_shape(ones({2, 3}, f16), Shape{2}).dtype(), f16);
}

// ---- Gradients.

TEST(ReduceGradient, OfEveryReductionOverEveryDimension) {
  std::mt19937 random(6);
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{3, 4}, Shape{2, 3, 4}, Shape{3, 1, 4}, Shape{2, 3, 2, 2}}) {
    const Tensor x = normal_numbers(shape, f64, random);
    for (int mask = 0; mask < 1 << shape.rank(); ++mask) {
      const Dims dims(dims_of(mask, shape.rank()));
      const std::string what = to_string(shape) + " dims " + std::to_string(mask);
      for (const bool keep : {true, false}) {
        const ReduceOptions options{.keepdims = keep};
        expect_gradient([&](const Tensor& v) { return sum(v, dims, options); }, x, "sum " + what);
        expect_gradient([&](const Tensor& v) { return mean(v, dims, options); }, x, "mean " + what);
        expect_gradient([&](const Tensor& v) { return prod(v, dims, options); }, x, "prod " + what);
        expect_gradient([&](const Tensor& v) { return maximum(v, dims, options); }, x, "maximum " + what);
        expect_gradient([&](const Tensor& v) { return minimum(v, dims, options); }, x, "minimum " + what);
      }
      expect_gradient([&](const Tensor& v) { return norm(v, dims); }, x, "norm " + what);
    }
  }
}

TEST(ReduceGradient, OfProgramsWithBroadcastOperands) {
  std::mt19937 random(7);
  const Tensor x = normal_numbers({3, 4}, f64, random);
  const Tensor bias = normal_numbers({3}, f64, random);
  const Tensor row = normal_numbers({1, 4}, f64, random);
  for (int mask = 0; mask < 4; ++mask) {
    const Dims dims(dims_of(mask, 2));
    const auto square = [](auto a, auto b) { return (a - b) * (a - b); };
    const auto plus = [](auto a, auto b) { return a + b; };
    for (const Tensor& other : {bias, row, scalar(0.5)}) {
      expect_gradient([&](const Tensor& v) { return map_reduce(square, Combine::sum, dims, v, other); }, x, "left");
      expect_gradient([&](const Tensor& v) { return map_reduce(square, Combine::sum, dims, x, v); }, other, "right");
      expect_gradient([&](const Tensor& v) { return map_reduce(plus, Combine::sum, dims, x, v); }, other, "plus");
      expect_gradient([&](const Tensor& v) { return map_reduce(square, Combine::max, dims, v, other); }, x, "max");
      expect_gradient([&](const Tensor& v) { return map_reduce(square, Combine::prod, dims, x, v); }, other, "prod");
    }
    // Only the broadcast operands are there to span the space.
    expect_gradient([&](const Tensor& v) { return map_reduce(plus, Combine::sum, dims, v, row); }, bias, "outer sum");
    expect_gradient([&](const Tensor& v) { return map_reduce(square, Combine::sum, dims, v, v * 2); }, x, "twice");
  }
}

TEST(ReduceGradient, ScaledSums) {
  std::mt19937 random(8);
  const Function cube = trace<1>([](Expr v) { return v * v * v; });
  const auto f = [&](const Tensor& v) {
    return detail::map_reduce_program(cube.program(), cube.params(), {&v, 1}, Combine::sum, 0, {}, 0.25);
  };
  expect_gradient(f, normal_numbers({4, 3}, f64, random), "scaled");
}

TEST(ReduceGradient, OfAProductWithZeros) {
  const auto gradient = [](const Tensor& v) {
    return gradient_at([](const Tensor& at) { return sum(prod(at, 0)); }, v).to_vector<float>();
  };
  EXPECT_EQ(gradient(tensor({2.0, 3.0, 4.0})), (std::vector<float>{12, 8, 6}));
  EXPECT_EQ(gradient(tensor({2.0, 0.0, 4.0})), (std::vector<float>{0, 8, 0}));
  EXPECT_EQ(gradient(tensor({0.0, 0.0, 4.0})), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(gradient(tensor({{2.0, 0.0}, {0.0, 5.0}})), (std::vector<float>{0, 2, 5, 0}));
}

TEST(ReduceGradient, OfAMaximumGoesToTheFirstOfEquals) {
  const auto gradient = [](const Tensor& v, const Dims& dims) {
    return gradient_at([&](const Tensor& at) { return sum(maximum(at, dims)); }, v).to_vector<float>();
  };
  EXPECT_EQ(gradient(tensor({1.0, 3.0, 3.0, 2.0}), {}), (std::vector<float>{0, 1, 0, 0}));
  EXPECT_EQ(gradient(tensor({1.0, kNan, 3.0, kNan}), {}), (std::vector<float>{0, 1, 0, 0}));
  const Tensor x = ones({2, 3, 2});
  EXPECT_EQ(gradient(x, {0, 2}), (std::vector<float>{1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(gradient(x, {1, 2}), (std::vector<float>{1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(ReduceGradient, KeepsTheTypeOfTheInput) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    const Tensor x = cast(tensor({{1.0, 2.0}, {3.0, 4.0}}), dtype);
    const ReduceOptions wide{.dtype = f32};
    const std::function<Tensor(const Tensor&)> functions[] = {
        [&](const Tensor& v) { return sum(v, {}, wide); },     [&](const Tensor& v) { return mean(v, {}, wide); },
        [&](const Tensor& v) { return sum(v * v, {}, wide); }, [&](const Tensor& v) { return prod(v, {}, wide); },
        [&](const Tensor& v) { return maximum(v, {}, wide); }, [&](const Tensor& v) { return norm(v); }};
    for (const auto& f : functions) EXPECT_EQ(gradient_at(f, x).dtype(), dtype);
  }
  EXPECT_EQ(doubles(gradient_at([](const Tensor& v) { return sum(v, {}, {.dtype = f32}); }, ones({2}, f16))),
            (std::vector<double>{1, 1}));
}

TEST(ReduceGradient, OfNothing) {
  const auto f = [](const Tensor& v) { return sum(v) + sum(prod(v, 1)); };
  EXPECT_EQ(gradient_at(f, zeros({3, 0})).shape(), (Shape{3, 0}));
  EXPECT_EQ(gradient_at([](const Tensor& v) { return sum(maximum(v, 0)); }, zeros({3, 0})).shape(), (Shape{3, 0}));
}

TEST(Norm, IsTheRootOfTheSumOfSquares) {
  EXPECT_EQ(norm(tensor({3.0, 4.0})).item<float>(), 5);
  EXPECT_EQ(norm(tensor({3, 4})).item<float>(), 5);
  EXPECT_EQ(norm(tensor({{3.0, 0.0}, {4.0, 2.0}}), 0).to_vector<float>(), (std::vector<float>{5, 2}));
  EXPECT_EQ(static_cast<float>(norm(full({4}, 300.0, f16)).item<Float16>()), 600);
  EXPECT_EQ(gradient_at([](const Tensor& v) { return norm(v); }, zeros({3})).to_vector<float>(),
            (std::vector<float>{0, 0, 0}));
}

TEST(Compare, EqualAndClose) {
  const Tensor x = tensor({1.0, 2.0});
  EXPECT_TRUE(equal(x, tensor({1.0, 2.0})));
  EXPECT_FALSE(equal(x, tensor({1.0, 2.5})));
  EXPECT_FALSE(equal(x, reshape(x, {1, 2})));
  EXPECT_FALSE(equal(x, cast(x, f64)));
  EXPECT_FALSE(equal(tensor({kNan}), tensor({kNan})));
  EXPECT_TRUE(equal(zeros({0}), zeros({0})));
  EXPECT_TRUE(equal(tensor({true, false}), tensor({true, false})));
  EXPECT_TRUE(allclose(x, x + 1e-6f));
  EXPECT_FALSE(allclose(x, x + 1e-3f));
  EXPECT_TRUE(allclose(x, x + 1e-3f, 0, 2e-3));
  EXPECT_FALSE(allclose(tensor({kNan}), tensor({kNan})));
  EXPECT_TRUE(allclose(tensor({kInf}), tensor({kInf})));
  EXPECT_FALSE(allclose(tensor({kInf}), tensor({1.0})));
  EXPECT_TRUE(allclose(cast(tensor({1, 2}), u8), cast(tensor({2, 1}), u8), 0, 1));
  EXPECT_FALSE(allclose(x, ones({3})));
}

}  // namespace
}  // namespace sluice
