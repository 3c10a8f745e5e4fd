#include "sluice/functions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "sluice/layers.hpp"

namespace sluice {
namespace {

using Real = double;

Real sigma(Real x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  const char* name;
  std::function<Tensor(const Tensor&)> function;
  Real (*value)(Real);
  bool smooth_at_0;
};

template <class F>
Case of(const Pointwise<F>& f, Real (*value)(Real), bool smooth_at_0 = true) {
  return {f.label, [&f](const Tensor& x) { return f(x); }, value, smooth_at_0};
}

const std::vector<Case>& cases() {
  static const std::vector<Case> list{
      of(identity, [](Real x) { return x; }),
      of(sigmoid, sigma),
      of(hardsigmoid, [](Real x) { return std::clamp((x + 3) / 6, 0.0, 1.0); }),
      of(logsigmoid, [](Real x) { return x < -700 ? x : -std::log1p(std::exp(-x)); }),
      of(hardtanh, [](Real x) { return std::clamp(x, -1.0, 1.0); }),
      of(
          relu, [](Real x) { return x > 0 ? x : 0; }, false),
      of(
          leakyrelu, [](Real x) { return x > 0 ? x : 0.01 * x; }, false),
      of(
          relu6, [](Real x) { return std::clamp(x, 0.0, 6.0); }, false),
      of(elu, [](Real x) { return x > 0 ? x : std::expm1(x); }),
      of(gelu, [](Real x) { return x * sigma(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)); }),
      of(gelu_erf, [](Real x) { return x / 2 * std::erfc(-x / std::sqrt(2)); }),
      of(swish, [](Real x) { return x * sigma(x); }),
      of(hardswish, [](Real x) { return x * std::clamp((x + 3) / 6, 0.0, 1.0); }),
      of(lisht, [](Real x) { return x * std::tanh(x); }),
      of(
          selu, [](Real x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }, false),
      of(celu, [](Real x) { return x > 0 ? x : std::expm1(x); }),
      of(trelu, [](Real x) { return x > 1 ? x : 0; }),
      of(softsign, [](Real x) { return x / (1 + std::abs(x)); }),
      of(softplus, [](Real x) { return x > 700 ? x : std::log1p(std::exp(x)); }),
      of(logcosh, [](Real x) { return std::abs(x) > 300 ? std::abs(x) - std::log(2) : std::log(std::cosh(x)); }),
      of(mish, [](Real x) { return x * std::tanh(x > 700 ? x : std::log1p(std::exp(x))); }),
      of(tanhshrink, [](Real x) { return x - std::tanh(x); }),
      of(softshrink, [](Real x) { return x > 0.5    ? x - 0.5
                                         : x < -0.5 ? x + 0.5
                                                    : 0; }),
  };
  return list;
}

const std::vector<Real> kArguments{-1000, -90, -30, -8.1, -5.5, -2.7, -1.3, -0.7, -0.1, -1e-3,
                                   1e-3,  0.2, 0.8, 1.4,  2.6,  4.5,  7.2,  20,   89,   1000};

Tensor derivative_of(const Case& each, const Tensor& x) {
  return gradient([&](const Tensor& t) { return sum(each.function(t)); }, x);
}

TEST(Functions, ValuesInDouble) {
  for (const Case& each : cases()) {
    const std::vector<Real> values = each.function(from(kArguments)).to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Real expected = each.value(kArguments[i]);
      EXPECT_NEAR(values[i], expected, 1e-13 * (1 + std::abs(expected))) << each.name << "(" << kArguments[i] << ")";
    }
  }
}

TEST(Functions, ValuesInFloat) {
  for (const Case& each : cases()) {
    const std::vector<float> values = each.function(f32(from(kArguments))).to_vector<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Real x = static_cast<Real>(static_cast<float>(kArguments[i])), expected = each.value(x);
      EXPECT_NEAR(static_cast<Real>(values[i]), expected, 1e-6 * (0.3 + std::abs(expected)))
          << each.name << "(" << x << ")";
    }
  }
}

TEST(Functions, DerivativesInDouble) {
  for (const Case& each : cases()) {
    const std::vector<Real> values = derivative_of(each, from(kArguments)).to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Real x = kArguments[i], h = 1e-6 * std::max(1.0, std::abs(x));
      const Real expected = (each.value(x + h) - each.value(x - h)) / (2 * h);
      EXPECT_NEAR(values[i], expected, 2e-8 * (1 + std::abs(expected))) << each.name << "'(" << x << ")";
    }
  }
}

TEST(Functions, DerivativesAtZero) {
  for (const Case& each : cases()) {
    const Real got = derivative_of(each, tensor({0.0})).item<float>();
    if (!each.smooth_at_0) continue;
    const Real h = 1e-5, expected = (each.value(h) - each.value(-h)) / (2 * h);
    EXPECT_NEAR(got, expected, 1e-5) << each.name;
  }
  EXPECT_EQ(gradient([](const Tensor& t) { return sum(relu(t)); }, scalar(0.0F)).item<float>(), 0.0F);
  EXPECT_EQ(gradient([](const Tensor& t) { return sum(leakyrelu(t)); }, scalar(0.0F)).item<float>(), 0.01F);
}

TEST(Functions, NothingOverflowsInFloat) {
  const Tensor x = tensor({-1e30, -1e20, -1e10, -1e4, -200.0, 200.0, 1e4, 1e10, 1e18});
  for (const Case& each : cases()) {
    EXPECT_FALSE(any(isnan(each.function(x))).item<bool>()) << each.name << each.function(x);
    const Tensor slope = derivative_of(each, x);
    EXPECT_FALSE(any(isnan(slope)).item<bool>()) << each.name << slope;
    EXPECT_TRUE(all(abs(slope) <= 1.2).item<bool>()) << each.name << slope;
  }
}

TEST(Functions, NanIsPassedOn) {
  const Tensor x = tensor({std::numeric_limits<double>::quiet_NaN()});
  for (const Case& each : cases()) EXPECT_TRUE(isnan(each.function(x)).item<bool>()) << each.name;
}

TEST(Functions, InfinityWhereTheLimitIsKnown) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor ends = tensor({-inf, inf});
  const auto expect = [&](const Tensor& y, double low, double high) {
    EXPECT_EQ(f64(y).to_vector<double>(), (std::vector<double>{low, high}));
  };
  expect(sigmoid(ends), 0, 1);
  expect(softplus(ends), 0, inf);
  expect(logsigmoid(ends), -inf, 0);
  expect(swish(ends), 0, inf);
  expect(gelu(ends), 0, inf);
  expect(gelu_erf(ends), 0, inf);
  expect(mish(ends), 0, inf);
  expect(hardswish(ends), 0, inf);
  expect(elu(ends), -1, inf);
  expect(logcosh(ends), inf, inf);
}

TEST(Functions, SmallResultsAreRightRelatively) {
  EXPECT_NEAR(sigmoid(scalar(-50.0F)).item<float>() / std::exp(-50.0), 1, 1e-6);
  EXPECT_NEAR(softplus(scalar(-50.0F)).item<float>() / std::exp(-50.0), 1, 1e-6);
  EXPECT_NEAR(logcosh(scalar(0.01F)).item<float>() / 4.99991667e-5, 1, 1e-4);
}

TEST(Functions, TakeTheirParameters) {
  const Tensor x = tensor({-2.0, 0.7, 3.0});
  EXPECT_TRUE(allclose(map([](Expr v) { return leakyrelu(v, 0.5); }, x), tensor({-1.0, 0.7, 3.0})));
  EXPECT_TRUE(allclose(map([](Expr v) { return trelu(v, 2); }, x), tensor({0.0, 0.0, 3.0})));
  EXPECT_TRUE(allclose(map([](Expr v) { return softshrink(v, 1); }, x), tensor({-1.0, 0.0, 2.0})));
  EXPECT_TRUE(allclose(map([](Expr v) { return elu(v, 2); }, x), tensor({2 * std::expm1(-2.0), 0.7, 3.0})));
  EXPECT_TRUE(allclose(map([](Expr v) { return celu(v, 2); }, x), tensor({2 * std::expm1(-1.0), 0.7, 3.0})));
}

TEST(RandomRelu, HasTheMeanSlopeOutsideTraining) {
  EXPECT_TRUE(allclose(rrelu(tensor({-48.0, 2.0})), tensor({-11.0, 2.0})));
}

TEST(RandomRelu, DrawsSlopesInTraining) {
  const Tensor x = full({1000}, -1.0);
  auto [value, slope] = withgradient([](const Tensor& t) { return std::tuple(sum(rrelu(t)), rrelu(t)); }, x);
  EXPECT_TRUE(all(slope > 0.125 - 1e-6).item<bool>());
  EXPECT_TRUE(all(slope <= 1.0 / 3).item<bool>());
  EXPECT_NEAR(mean(slope).item<float>(), 11.0 / 48, 0.01);
  EXPECT_GT(stddev(slope).item<float>(), 0.04F);
}

TEST(Glu, GatesTheFirstHalf) {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}, {0.0, 1.0}, {0.5, -1.0}});
  const Tensor expected = tensor({{0.5, 2 * sigma(1)}, {3 * sigma(0.5), 4 * sigma(-1)}});
  EXPECT_TRUE(allclose(glu(x), expected));
  EXPECT_TRUE(allclose(glu(transpose(x), 1), transpose(expected)));
  EXPECT_THROW(glu(tensor({1.0, 2.0, 3.0})), ShapeError);
  EXPECT_THROW(glu(x, 2), ShapeError);
}

TEST(Activation, IsMadeFromAnyScalarFunction) {
  const Tensor x = tensor({-1.0, 0.5});
  EXPECT_EQ(Activation(relu).name(), "relu");
  EXPECT_EQ(Activation(tanh).name(), "tanh");
  EXPECT_EQ(Activation(exp).name(), "exp");
  EXPECT_EQ(Activation(rrelu).name(), "rrelu");
  EXPECT_EQ(Activation().name(), "identity");
  const double slope = 0.3;
  const Activation mine([slope](auto v) { return where(v > 0, v * 2, v * slope + exp(v) / 5); });
  EXPECT_EQ(mine.name(), "<function>");
  EXPECT_TRUE(allclose(mine(x), tensor({-0.3 + std::exp(-1.0) / 5, 1.0})));
  EXPECT_TRUE(allclose(Activation(tanh)(x), tanh(x)));
}

TEST(Activation, BecomesPartOfAProgram) {
  const Activation swished(swish);
  const Tensor x = tensor({-1.0, 0.5}), b = tensor({0.25, 3.0});
  const Tensor fused = map([&](Expr v, Expr w) { return 2 * swished(v + w) - swished(w); }, x, b);
  EXPECT_TRUE(allclose(fused, swish(x + b) * 2 - swish(b)));
}

}  // namespace
}  // namespace sluice
