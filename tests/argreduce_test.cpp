#include <limits>

#include "tests/reduce_reference.hpp"

namespace sluice {
namespace {

using namespace testing;  // NOLINT

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Places along `dim`: a NaN beats everything, then the greatest or least, then the first.
std::vector<std::int64_t> expected_places(const Tensor& x, int dim, bool greatest) {
  const Shape kept = x.shape().with(dim, 1);
  const std::vector<double> values = doubles(x);
  const std::vector<std::size_t> target = targets(x.shape(), 1 << dim);
  std::int64_t stride = 1;
  for (int d = 0; d < dim; ++d) stride *= x.size(d);
  std::vector<std::int64_t> places(static_cast<std::size_t>(kept.numel()), -1);
  std::vector<double> best(places.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& b = best[target[i]];
    std::int64_t& place = places[target[i]];
    const bool better = greatest ? values[i] > b : values[i] < b;
    if (place >= 0 && (std::isnan(b) || !(better || std::isnan(values[i])))) continue;
    b = values[i];
    place = static_cast<std::int64_t>(i) / stride % x.size(dim);
  }
  return places;
}

void check(const Tensor& x) {
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (x.numel() == 0) continue;
    const std::string what = to_string(x.shape()) + " " + std::string(x.dtype().name()) + " dim " + std::to_string(dim);
    const Tensor most = argmax(x, dim);
    EXPECT_EQ(most.dtype(), i64) << what;
    EXPECT_EQ(most.shape(), x.shape().with(dim, 1)) << what;
    EXPECT_EQ(most.to_vector<std::int64_t>(), expected_places(x, dim, true)) << what;
    EXPECT_EQ(argmin(x, dim).to_vector<std::int64_t>(), expected_places(x, dim, false)) << what;
  }
}

TEST(Argreduce, AgreesWithALoop) {
  std::mt19937 random(1);
  for (int rank = 1; rank <= 4; ++rank) {
    for (int trial = 0; trial < 8; ++trial) {
      for (const DType dtype : kAllTypes) check(small_numbers(random_shape(rank, random), dtype, random));
    }
  }
  for (const Shape& shape : {Shape{1000, 3}, Shape{3, 1000}, Shape{300, 200}, Shape{2, 70, 300}, Shape{100000}}) {
    for (const DType dtype : {f32, f64, f16, i32}) {
      check(small_numbers(shape, dtype, random));
      check(normal_numbers(shape, dtype, random));
    }
  }
}

TEST(Argreduce, TheFirstNanWins) {
  for (const std::int64_t n : {3, 100, 5000}) {
    for (const DType dtype : {f16, bf16, f32, f64}) {
      std::vector<double> values(static_cast<std::size_t>(n), 5);
      values[static_cast<std::size_t>(n - 1)] = kNan;
      values[static_cast<std::size_t>(n / 2)] = kNan;
      const Tensor x = from_doubles(values, {n}, dtype);
      EXPECT_EQ(argmax(x).item<std::int64_t>(), n / 2);
      EXPECT_EQ(argmin(x).item<std::int64_t>(), n / 2);
      EXPECT_EQ(argmax(reshape(x, Shape{1, n}), 1).item<std::int64_t>(), n / 2);
      EXPECT_EQ(argmin(expand(reshape(x, Shape{1, n}), Shape{2, n}), 1).to_vector<std::int64_t>()[1], n / 2);
    }
  }
}

TEST(Argreduce, InfinitiesAreOrdinary) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(argmax(full({100}, -inf)).item<std::int64_t>(), 0);
  EXPECT_EQ(argmin(tensor({inf, inf})).item<std::int64_t>(), 0);
  EXPECT_EQ(argmax(tensor({1.0, inf, inf})).item<std::int64_t>(), 1);
}

TEST(Argreduce, ShapesAndTypes) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(argmax(x, 1).shape(), (Shape{2, 1}));
  EXPECT_EQ(argmax(x, 1, {.keepdims = false}).shape(), Shape{2});
  EXPECT_EQ(argmax(x, 0, {.dtype = i32}).dtype(), i32);
  EXPECT_EQ(argmax(zeros({3, 0}), 0).shape(), (Shape{1, 0}));
}

TEST(Argreduce, SaysWhatIsWrong) {
  EXPECT_THROW(argmax(zeros({0})), ArgumentError);
  EXPECT_THROW(argmin(zeros({3, 0}), 1), ArgumentError);
  EXPECT_THROW(argmax(ones({2}), 1), IndexError);
  EXPECT_THROW(argmax(scalar(1.0f)), IndexError);
  EXPECT_THROW(argmax(Tensor()), ArgumentError);
}

}  // namespace
}  // namespace sluice
