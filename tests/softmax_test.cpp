#include <limits>

#include "tests/reduce_reference.hpp"

namespace sluice {
namespace {

using namespace testing;  // NOLINT

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

double greater(double a, double b) { return std::isnan(a) || a > b ? a : b; }

struct Reference {
  std::vector<double> softmax, logsoftmax, logsumexp;
};

/// By the formulas, in double, for finite values.
Reference reference(const Tensor& x, int dim) {
  const std::vector<double> values = doubles(x);
  const std::vector<std::size_t> target = targets(x.shape(), 1 << dim);
  const std::vector<double> maxima = folded(values, x.shape(), 1 << dim, -kInf, greater);
  Reference result;
  std::vector<double> sums(maxima.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) sums[target[i]] += std::exp(values[i] - maxima[target[i]]);
  for (std::size_t j = 0; j < sums.size(); ++j) result.logsumexp.push_back(maxima[j] + std::log(sums[j]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.softmax.push_back(std::exp(values[i] - maxima[target[i]]) / sums[target[i]]);
    result.logsoftmax.push_back(values[i] - maxima[target[i]] - std::log(sums[target[i]]));
  }
  return result;
}

void check(const Tensor& x) {
  const double tolerance = x.dtype() == f16 ? 1e-3 : x.dtype() == bf16 ? 8e-3 : x.dtype() == f64 ? 1e-14 : 1e-6;
  for (int dim = 0; dim < x.rank(); ++dim) {
    const Reference expected = reference(x, dim);
    const std::string what = to_string(x.shape()) + " " + std::string(x.dtype().name()) + " dim " + std::to_string(dim);
    const Tensor y = softmax(x, dim);
    EXPECT_EQ(y.dtype(), x.dtype().is_floating() ? x.dtype() : f32) << what;
    EXPECT_EQ(y.shape(), x.shape()) << what;
    expect_close(doubles(y), expected.softmax, tolerance, "softmax " + what);
    expect_close(doubles(logsoftmax(x, dim)), expected.logsoftmax, tolerance, "logsoftmax " + what);
    const Tensor l = logsumexp(x, dim);
    EXPECT_EQ(l.shape(), x.shape().with(dim, 1)) << what;
    expect_close(doubles(l), expected.logsumexp, tolerance, "logsumexp " + what);
    EXPECT_EQ(logsumexp(x, dim, {.keepdims = false}).shape(), x.shape().erased(dim)) << what;
  }
}

TEST(Softmax, AgreesWithTheFormulas) {
  std::mt19937 random(1);
  for (int rank = 1; rank <= 4; ++rank) {
    for (int trial = 0; trial < 8; ++trial) {
      for (const DType dtype : {f16, bf16, f32, f64, i32, u8}) {
        const Shape shape = random_shape(rank, random);
        check(dtype.is_floating() ? normal_numbers(shape, dtype, random) * 3 : small_numbers(shape, dtype, random));
      }
    }
  }
  for (const Shape& shape : {Shape{10, 500}, Shape{64, 20}, Shape{65, 20}, Shape{1024, 30}, Shape{3, 1000},
                             Shape{300, 200}, Shape{2, 70, 300}, Shape{50000}, Shape{5, 20000}}) {
    for (const DType dtype : {f16, bf16, f32, f64}) check(normal_numbers(shape, dtype, random) * 3);
  }
}

TEST(Softmax, RelativeErrorIsSmallForSmallProbabilities) {
  std::vector<double> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = -0.29 * static_cast<double>(i);
  const Tensor x = from_doubles(values, {300}, f32);
  const Reference expected = reference(x, 0);
  const std::vector<double> got = doubles(softmax(x));
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (expected.softmax[i] < 2e-38) continue;  // denormal
    EXPECT_NEAR(got[i] / expected.softmax[i], 1, 2e-6) << i;
  }
}

/// One column among ordinary ones, in every layout and length class.
void check_column(const std::vector<double>& special, const std::vector<double>& expected, bool is_log) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    for (const std::int64_t length :
         {static_cast<std::int64_t>(special.size()), std::int64_t{100}, std::int64_t{2000}}) {
      // Padding that changes nothing: -inf.
      std::vector<double> column(static_cast<std::size_t>(length), -kInf), result(column.size(), is_log ? -kInf : 0);
      std::copy(special.begin(), special.end(), column.begin());
      std::copy(expected.begin(), expected.end(), result.begin());
      if (!expected.empty() && std::isnan(expected[0])) result.assign(result.size(), kNan);
      const Tensor x = from_doubles(column, {length}, dtype);
      const Tensor pair = stack({x, zeros({length}, dtype)}, 1);
      for (const bool columns_first : {true, false}) {
        const Tensor both = columns_first ? pair : permute(pair, {1, 0});
        const int dim = columns_first ? 0 : 1;
        const Tensor y = is_log ? logsoftmax(both, dim) : softmax(both, dim);
        const std::vector<double> got = doubles(slice(y, 1 - dim, 0, 1));
        expect_close(got, result, 1e-2, std::string(dtype.name()) + " length " + std::to_string(length));
        const double other = 1.0 / static_cast<double>(length);
        for (const double v : doubles(slice(y, 1 - dim, 1, 2))) EXPECT_NEAR(v, is_log ? std::log(other) : other, 0.04);
      }
    }
  }
}

TEST(Softmax, InfinitiesAndNan) {
  check_column({1, kInf, 2}, {0, 1, 0}, false);
  check_column({-kInf, -kInf, -kInf}, {kNan, kNan, kNan}, false);
  check_column({1, kNan, kInf}, {kNan, kNan, kNan}, false);
  check_column({kInf, 3, kInf}, {0.5, 0, 0.5}, false);
  check_column({-kInf, 7}, {0, 1}, false);
  check_column({1e4, -1e4}, {1, 0}, false);
  check_column({1, kInf, 2}, {-kInf, 0, -kInf}, true);
  check_column({-kInf, -kInf, -kInf}, {kNan, kNan, kNan}, true);
  check_column({1, kNan, kInf}, {kNan, kNan, kNan}, true);
  check_column({7, -kInf}, {0, -kInf}, true);
}

TEST(Logsumexp, InfinitiesNanAndNothing) {
  const auto of = [](const Tensor& x) { return doubles(logsumexp(x))[0]; };
  for (const DType dtype : {f32, f64}) {
    EXPECT_EQ(of(full({5}, -kInf, dtype)), -kInf);
    EXPECT_EQ(of(from_doubles({1, kInf, kInf}, {3}, dtype)), kInf);
    EXPECT_TRUE(std::isnan(of(from_doubles({1, kNan, kInf}, {3}, dtype))));
    EXPECT_EQ(of(zeros({0}, dtype)), -kInf);
  }
  EXPECT_NEAR(of(tensor({1e4, 1e4})), 1e4 + std::log(2.0), 1e-3);
  EXPECT_NEAR(of(tensor({-1e4, -1e4})), -1e4 + std::log(2.0), 1e-3);
}

TEST(Softmax, OfNothing) {
  EXPECT_EQ(softmax(zeros({3, 0}), 0).shape(), (Shape{3, 0}));
  EXPECT_EQ(logsoftmax(zeros({0, 3}), 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(logsumexp(zeros({3, 0}), 0).shape(), (Shape{1, 0}));
  const auto f = [](const Tensor& v) { return sum(softmax(v) + logsoftmax(v)) + sum(logsumexp(v)); };
  EXPECT_EQ(gradient_at(f, zeros({3, 0})).shape(), (Shape{3, 0}));
}

TEST(Softmax, SaysWhatIsWrong) {
  EXPECT_THROW(softmax(ones({2}), 1), IndexError);
  EXPECT_THROW(logsoftmax(ones({2}), -1), IndexError);
  EXPECT_THROW(logsumexp(scalar(1.0f)), IndexError);
  EXPECT_THROW(softmax(Tensor()), ArgumentError);
}

TEST(Softmax, AnyNumberOfThreadsGivesTheSameBits) {
  const int before = num_threads();
  for (const Shape& shape : {Shape{1000, 300}, Shape{10, 30000}, Shape{300, 1000}}) {
    const Tensor x = rand(shape, f32, {9, 9});
    for (int dim = 0; dim < 2; ++dim) {
      set_num_threads(1);
      const Tensor one = softmax(x, dim), log_one = logsoftmax(x, dim);
      set_num_threads(2);
      EXPECT_TRUE(equal(one, softmax(x, dim)));
      EXPECT_TRUE(equal(log_one, logsoftmax(x, dim)));
    }
  }
  set_num_threads(before);
}

TEST(SoftmaxGradient, AgreesWithFiniteDifferences) {
  std::mt19937 random(2);
  for (const Shape& shape : {Shape{1}, Shape{5}, Shape{3, 4}, Shape{2, 3, 4}}) {
    const Tensor x = normal_numbers(shape, f64, random);
    for (int dim = 0; dim < shape.rank(); ++dim) {
      expect_gradient([&](const Tensor& v) { return softmax(v, dim); }, x, "softmax");
      expect_gradient([&](const Tensor& v) { return logsoftmax(v, dim); }, x, "logsoftmax");
      expect_gradient([&](const Tensor& v) { return logsumexp(v, dim); }, x, "logsumexp");
      expect_gradient([&](const Tensor& v) { return logsumexp(v, dim, {.keepdims = false}); }, x, "logsumexp");
    }
  }
}

TEST(SoftmaxGradient, StaysFiniteAtInfinities) {
  const auto gradient = [](const Tensor& x) {
    return gradient_at([](const Tensor& v) { return sum(logsumexp(v)); }, x).to_vector<float>();
  };
  EXPECT_EQ(gradient(full({2}, -kInf)), (std::vector<float>{0, 0}));
  EXPECT_EQ(gradient(tensor({-kInf, 0.0})), (std::vector<float>{0, 1}));
  EXPECT_EQ(gradient(tensor({1.0, kInf})), (std::vector<float>{0, 1}));
}

TEST(SoftmaxGradient, KeepsTheTypeOfTheInput) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    const Tensor x = cast(tensor({1.0, 2.0}), dtype);
    const auto f = [](const Tensor& v) { return sum(softmax(v) * logsoftmax(v) + logsumexp(v)); };
    EXPECT_EQ(gradient_at(f, x).dtype(), dtype);
  }
}

}  // namespace
}  // namespace sluice
