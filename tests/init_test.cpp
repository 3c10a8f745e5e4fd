#include "sluice/init.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

struct Statistics {
  double mean = 0, std = 0, least = 0, most = 0;
};

Statistics statistics(const Tensor& x) {
  Statistics result;
  const std::vector<float> values = x.to_vector<float>();
  const auto count = static_cast<double>(values.size());
  for (const float value : values) result.mean += static_cast<double>(value) / count;
  for (const float value : values) result.std += std::pow(static_cast<double>(value) - result.mean, 2) / count;
  result.std = std::sqrt(result.std);
  result.least = static_cast<double>(*std::ranges::min_element(values));
  result.most = static_cast<double>(*std::ranges::max_element(values));
  return result;
}

/// Uniform within +-bound: deviation bound / sqrt(3), extremes near the bound.
void expect_uniform(const Tensor& x, double bound) {
  const Statistics s = statistics(x);
  EXPECT_NEAR(s.mean, 0, 0.03 * bound);
  EXPECT_NEAR(s.std, bound / std::sqrt(3), 0.02 * bound);
  EXPECT_GE(s.least, -bound);
  EXPECT_LE(s.most, bound);
  EXPECT_GT(s.most, 0.99 * bound);
}

void expect_normal(const Tensor& x, double std) {
  const Statistics s = statistics(x);
  EXPECT_NEAR(s.mean, 0, 0.04 * std);
  EXPECT_NEAR(s.std, std, 0.03 * std);
  EXPECT_GT(s.most, 2.5 * std);
}

class Init : public ::testing::Test {
 protected:
  Generator generator{42};
  const Shape matrix{80, 120};     // fan in 120, fan out 80
  const Shape conv{3, 5, 16, 32};  // fan in 15 * 16, fan out 15 * 32
  const Shape vector{10000};       // fan in 1, fan out 10000
};

TEST_F(Init, GlorotDependsOnBothFans) {
  expect_uniform(glorot_uniform(matrix, generator), std::sqrt(6.0 / 200));
  expect_uniform(glorot_uniform(conv, generator, 2), 2 * std::sqrt(6.0 / (15 * 48)));
  expect_uniform(glorot_uniform(vector, generator), std::sqrt(6.0 / 10001));
  expect_normal(glorot_normal(matrix, generator), std::sqrt(2.0 / 200));
  expect_normal(glorot_normal(conv, generator, 3), 3 * std::sqrt(2.0 / (15 * 48)));
}

TEST_F(Init, KaimingDependsOnFanIn) {
  expect_uniform(kaiming_uniform(matrix, generator), std::sqrt(2.0) * std::sqrt(3.0 / 120));
  expect_uniform(kaiming_uniform(conv, generator, 1), std::sqrt(3.0 / 240));
  expect_normal(kaiming_normal(matrix, generator), std::sqrt(2.0 / 120));
  expect_normal(kaiming_normal(vector, generator, 1), 1);
}

TEST_F(Init, TruncatedNormalStaysWithinItsBounds) {
  const Statistics s = statistics(truncated_normal({10000}, generator));
  EXPECT_NEAR(s.mean, 0, 0.03);
  EXPECT_NEAR(s.std, 0.8796, 0.02);  // of a standard normal cut at 2
  EXPECT_GE(s.least, -2);
  EXPECT_LE(s.most, 2);
  EXPECT_GT(s.most, 1.95);
  const Statistics t = statistics(truncated_normal({10000}, generator, {.mean = 1, .std = 2, .low = 0, .high = 0.5}));
  EXPECT_GE(t.least, 0);
  EXPECT_LE(t.most, 0.5);
  EXPECT_NEAR(t.mean, 0.25, 0.02);  // nearly flat there
  EXPECT_THROW(truncated_normal({2}, generator, {.low = 1, .high = 1}), ArgumentError);
}

TEST_F(Init, LecunIsATruncatedNormalOfFanIn) {
  const Statistics s = statistics(lecun_normal(matrix, generator));
  EXPECT_NEAR(s.std, 0.8796 / std::sqrt(120), 0.003);
  EXPECT_LE(s.most, 2 / std::sqrt(120));
}

TEST_F(Init, OrthogonalHasOrthonormalColumnsOrRows) {
  for (const Shape& shape : {Shape{5, 3}, Shape{4, 4}, Shape{3, 5}, Shape{2, 3, 4}, Shape{1, 7}}) {
    const Tensor q = reshape(orthogonal(shape, generator, 2), {-1, shape.back()});
    const bool wide = q.size(0) < q.size(1);
    const Tensor product = wide ? matmul(q, q, {.transpose_b = true}) : matmul(q, q, {.transpose_a = true});
    EXPECT_TRUE(allclose(product, identity_init(product.shape(), 4), 0, 1e-5)) << shape << product;
  }
  EXPECT_THROW(orthogonal({3}), ShapeError);
  EXPECT_EQ(orthogonal({3, 0}).shape(), (Shape{3, 0}));
}

TEST_F(Init, IdentityDoesNothing) {
  EXPECT_TRUE(equal(identity_init({2, 3}), tensor({{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}})));
  EXPECT_TRUE(equal(identity_init({3}), zeros({3})));
  const Tensor kernel = identity_init({3, 2, 2, 3}, 5);
  EXPECT_EQ(sum(kernel).item<float>(), 10.0F);
  const std::vector<float> values = kernel.to_vector<float>();
  EXPECT_EQ(values[1 + 3 * (0 + 2 * (0 + 2 * 0))], 5.0F);
  EXPECT_EQ(values[1 + 3 * (0 + 2 * (1 + 2 * 1))], 5.0F);
}

TEST_F(Init, SparseHasItsShareOfZerosInEveryColumn) {
  const std::vector<float> values = sparse_init({10, 4}, generator, 0.25).to_vector<float>();
  for (std::size_t column = 0; column < 4; ++column) {
    EXPECT_EQ(std::count(&values[column * 10], &values[column * 10] + 10, 0.0F), 3);  // 2.5 rounded up
  }
  EXPECT_THROW(sparse_init({3}, generator, 0.5), ShapeError);
  EXPECT_THROW(sparse_init({3, 3}, generator, 1.5), ArgumentError);
}

TEST_F(Init, TheSeedDecides) {
  seed(11);
  const Tensor first = glorot_uniform({4, 4}), second = glorot_uniform({4, 4});
  seed(11);
  EXPECT_TRUE(equal(glorot_uniform({4, 4}), first));
  EXPECT_FALSE(equal(first, second));
  Generator copy = generator;
  EXPECT_TRUE(equal(kaiming_normal({4, 4}, generator), kaiming_normal({4, 4}, copy)));
}

TEST_F(Init, AnyFunctionOfAShapeIsAnInitialiser) {
  const float constant = 3;
  EXPECT_TRUE(equal(Initializer(zeros)({2}), zeros({2})));
  EXPECT_TRUE(equal(Initializer(ones)({2}), ones({2})));
  EXPECT_EQ(Initializer(randn)({2, 3}).shape(), (Shape{2, 3}));
  EXPECT_EQ(Initializer(orthogonal)({2, 3}).shape(), (Shape{2, 3}));
  const Initializer mine = [constant](const Shape& shape) { return full(shape, static_cast<double>(constant)); };
  EXPECT_EQ(mine({1}).item<float>(), 3.0F);
}

}  // namespace
}  // namespace sluice
