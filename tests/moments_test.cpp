#include <limits>

#include "tests/reduce_reference.hpp"

namespace sluice {
namespace {

using namespace testing;  // NOLINT

/// Mean and variance by two passes in double.
std::pair<std::vector<double>, std::vector<double>> reference(const Tensor& x, int mask, int correction) {
  const std::vector<double> values = doubles(x);
  const std::vector<std::size_t> target = targets(x.shape(), mask);
  std::vector<double> mean = folded(values, x.shape(), mask, 0, std::plus<>());
  const double n = static_cast<double>(values.size()) / static_cast<double>(mean.size());
  for (double& m : mean) m /= n;
  std::vector<double> var(mean.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) var[target[i]] += std::pow(values[i] - mean[target[i]], 2);
  for (double& v : var) v = n > correction ? v / (n - correction) : std::numeric_limits<double>::quiet_NaN();
  return {mean, var};
}

void check(const Tensor& x) {
  const double tolerance = x.dtype() == f64 ? 1e-12 : 2e-6;
  const double stored = x.dtype() == f16 ? 1e-3 : x.dtype() == bf16 ? 8e-3 : tolerance;
  for (int mask = 0; mask < 1 << x.rank(); ++mask) {
    const Dims dims(dims_of(mask, x.rank()));
    for (const int correction : {0, 1}) {
      const std::string what = to_string(x.shape()) + " " + std::string(x.dtype().name()) + " dims " +
                               std::to_string(mask) + " correction " + std::to_string(correction);
      const auto [mean, variance] = reference(x, mask, correction);
      const MeanVar got = mean_var(x, dims, correction);
      EXPECT_EQ(got.mean.dtype(), x.dtype() == f64 ? f64 : f32) << what;
      EXPECT_EQ(got.var.shape(), kept_shape(x.shape(), mask)) << what;
      expect_close(doubles(got.mean), mean, tolerance, "mean " + what);
      expect_close(doubles(got.var), variance, tolerance, "var " + what);
      const Tensor v = var(x, dims, correction);
      EXPECT_EQ(v.dtype(), x.dtype().is_floating() ? x.dtype() : f32) << what;
      expect_close(doubles(v), variance, stored, "var alone " + what);
      std::vector<double> roots = variance;
      for (double& root : roots) root = std::sqrt(root);
      expect_close(doubles(stddev(x, dims, correction)), roots, stored, "stddev " + what);
    }
  }
}

TEST(Moments, AgreeWithALoop) {
  std::mt19937 random(1);
  for (int rank = 0; rank <= 4; ++rank) {
    for (int trial = 0; trial < 6; ++trial) {
      const Shape shape = random_shape(rank, random);
      if (shape.numel() == 0) continue;
      for (const DType dtype : kAllTypes) check(small_numbers(shape, dtype, random, 0.5));
    }
  }
  for (const Shape& shape : {Shape{512, 100}, Shape{100, 512}, Shape{1000, 300}, Shape{200000}, Shape{7, 9, 16, 33},
                             Shape{3, 4, 2000}, Shape{31, 1, 200}}) {
    for (const DType dtype : {f32, f64, f16}) check(normal_numbers(shape, dtype, random));
  }
}

TEST(Moments, AreRightFarFromZero) {
  const Tensor x = tensor({9999.0, 10000.0, 10001.0});
  EXPECT_EQ(mean_var(x).mean.item<float>(), 10000);
  EXPECT_EQ(var(x).item<float>(), 1);
  EXPECT_NEAR(var(x, {}, 0).item<float>(), 2.0 / 3, 1e-7);
  EXPECT_EQ(stddev(x).item<float>(), 1);
  // One unit in the last place apart, so that the mean is not a float.
  std::vector<float> values(1000, 10000.0f);
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] = std::nextafter(10000.0f, 20000.0f);
  const double step = static_cast<double>(values[0]) - 10000;
  EXPECT_NEAR(var(from(values), {}, 0).item<float>(), step * step / 4, 1e-4 * step * step);
  EXPECT_EQ(var(full({1000}, 0.1), {}, 0).item<float>(), 0);
}

TEST(Moments, CorrectionBeyondTheCountIsNan) {
  EXPECT_TRUE(std::isnan(var(tensor({3.0})).item<float>()));
  EXPECT_TRUE(std::isnan(mean_var(tensor({3.0, 4.0}), {}, 3).var.item<float>()));
  EXPECT_EQ(mean_var(tensor({3.0})).var.item<float>(), 0);
  for (const float v : var(ones({300, 1, 40}), 1).to_vector<float>()) EXPECT_TRUE(std::isnan(v));
}

TEST(Moments, OfNothing) {
  const MeanVar none = mean_var(zeros({0}));
  EXPECT_TRUE(std::isnan(none.mean.item<float>()));
  EXPECT_TRUE(std::isnan(none.var.item<float>()));
  EXPECT_EQ(mean_var(zeros({3, 0}), 0).mean.shape(), (Shape{1, 0}));
  EXPECT_EQ(mean_var(zeros({3, 0}), 1).mean.shape(), (Shape{3, 1}));
  const auto f = [](const Tensor& v) { return sum(mean_var(v, 0).var); };
  EXPECT_EQ(gradient_at(f, zeros({3, 0})).shape(), (Shape{3, 0}));
}

TEST(Moments, NanAndInfinityStayInTheirColumn) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const MeanVar got = mean_var(tensor({{1.0, nan, inf}, {3.0, 1.0, 1.0}}), 0);
  const std::vector<float> mean = got.mean.to_vector<float>(), variance = got.var.to_vector<float>();
  EXPECT_EQ(mean[0], 2);
  EXPECT_EQ(variance[0], 1);
  EXPECT_TRUE(std::isnan(mean[1]) && std::isnan(variance[1]));
  EXPECT_TRUE(std::isinf(mean[2]) && std::isnan(variance[2]));
}

TEST(Moments, SaysWhatIsWrong) {
  EXPECT_THROW(mean_var(ones({2}), 1), IndexError);
  EXPECT_THROW(var(ones({2}), {0, 0}), ArgumentError);
  EXPECT_THROW(stddev(ones({2}), 0, -1), ArgumentError);
  EXPECT_THROW(mean_var(Tensor()), ArgumentError);
}

TEST(Moments, AnyNumberOfThreadsGivesTheSameBits) {
  const int before = num_threads();
  for (const Shape& shape : {Shape{1000, 300}, Shape{300, 1000}, Shape{1000000}}) {
    const Tensor x = rand(shape, f32, {3, 3});
    for (int dim = 0; dim < shape.rank(); ++dim) {
      set_num_threads(1);
      const MeanVar one = mean_var(x, dim);
      set_num_threads(2);
      const MeanVar two = mean_var(x, dim);
      EXPECT_TRUE(equal(one.mean, two.mean) && equal(one.var, two.var));
    }
  }
  set_num_threads(before);
}

TEST(MomentsGradient, AgreesWithFiniteDifferences) {
  std::mt19937 random(2);
  for (const Shape& shape : {Shape{5}, Shape{3, 4}, Shape{2, 3, 4}, Shape{2, 3, 2, 2}}) {
    const Tensor x = normal_numbers(shape, f64, random);
    for (int mask = 1; mask < 1 << shape.rank(); ++mask) {
      const Dims dims(dims_of(mask, shape.rank()));
      expect_gradient([&](const Tensor& v) { return mean_var(v, dims).mean; }, x, "mean");
      expect_gradient([&](const Tensor& v) { return mean_var(v, dims, 1).var; }, x, "var");
      expect_gradient([&](const Tensor& v) { return stddev(v, dims); }, x, "stddev");
      const auto normalised = [&](const Tensor& v) {
        const MeanVar moments = mean_var(v, dims);
        return (v - moments.mean) / sqrt(moments.var + 1e-5);
      };
      expect_gradient(normalised, x, "normalised");
    }
    expect_gradient([&](const Tensor& v) { return var(v); }, x, "var of all");
  }
}

TEST(MomentsGradient, OfTheDeviationOfEqualValuesIsZero) {
  EXPECT_EQ(gradient_at([](const Tensor& v) { return stddev(v); }, ones({3})).to_vector<float>(),
            (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(gradient_at([](const Tensor& v) { return mean_var(v).mean; }, ones({4}, f16)).dtype(), f16);
}

}  // namespace
}  // namespace sluice
