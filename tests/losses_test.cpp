#include "sluice/losses.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sluice/model.hpp"
#include "tests/finite_differences.hpp"

namespace sluice {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double value(const Tensor& x) { return f64 == x.dtype() ? x.item<double>() : static_cast<double>(x.item<float>()); }

Tensor gradient_of(const std::function<Tensor(const Tensor&)>& f, Tensor x) {
  detail::Tape tape;
  tape.track(x);
  tape.backward(f(x));
  return tape.gradient(x);
}

// Values computed by hand or with the reference's formulas in double.

const Tensor& predicted() {
  static const Tensor x = tensor({{0.1, 0.6}, {0.7, 0.3}, {0.2, 0.1}});
  return x;
}
const Tensor& wanted() {
  static const Tensor y = tensor({{0.0, 1.0}, {1.0, 0.0}, {0.0, 0.0}});
  return y;
}

TEST(Losses, OfDifferences) {
  const Tensor p = tensor({1.0, 2.0, 4.0}), t = tensor({1.5, 2.0, 1.0});
  EXPECT_NEAR(value(mae(p, t)), 3.5 / 3, 1e-6);
  EXPECT_NEAR(value(mse(p, t)), 9.25 / 3, 1e-6);
  EXPECT_NEAR(value(mse(p, t, {.agg = Aggregate::sum})), 9.25, 1e-6);
  EXPECT_TRUE(allclose(mse(p, t, {.agg = Aggregate::none}), tensor({0.25, 0.0, 9.0})));
  EXPECT_NEAR(value(huber_loss(p, t)), (0.125 + 2.5) / 3, 1e-6);
  EXPECT_NEAR(value(huber_loss(p, t, {.delta = 4})), (0.125 + 4.5) / 3, 1e-6);
  EXPECT_NEAR(value(msle(p, t)), (std::pow(std::log(1 / 1.5), 2) + std::pow(std::log(4.0), 2)) / 3, 1e-6);
}

TEST(Losses, OfProbabilities) {
  EXPECT_NEAR(value(crossentropy(predicted(), wanted())), -(std::log(0.7) + std::log(0.6)) / 2, 1e-6);
  EXPECT_NEAR(value(crossentropy(predicted(), wanted(), {.agg = Aggregate::sum})), -std::log(0.42), 1e-6);
  EXPECT_TRUE(allclose(crossentropy(predicted(), wanted(), {.agg = Aggregate::none}),
                       tensor({{-std::log(0.7), -std::log(0.6)}}), 1e-5));
  const Tensor turned = crossentropy(transpose(predicted()), transpose(wanted()), {.dim = 1});
  EXPECT_NEAR(value(turned), -std::log(0.42) / 2, 1e-6);
  const Tensor p = tensor({0.2, 0.9}), t = tensor({0.0, 1.0});
  EXPECT_NEAR(value(binarycrossentropy(p, t)), -(std::log(0.8) + std::log(0.9)) / 2, 1e-6);
  EXPECT_NEAR(value(kldivergence(predicted(), tensor({{0.1, 0.6}, {0.7, 0.3}, {0.2, 0.1}}))), 0, 1e-6);
  const Tensor q = tensor({{0.5, 0.5}, {0.5, 0.25}, {0.0, 0.25}});
  const double divergence = 0.5 * std::log(0.5 / 0.1) + 0.5 * std::log(0.5 / 0.7) + 0.5 * std::log(0.5 / 0.6) +
                            0.25 * std::log(0.25 / 0.3) + 0.25 * std::log(0.25 / 0.1);
  EXPECT_NEAR(value(kldivergence(predicted(), q)), divergence / 2, 1e-5);
}

TEST(Losses, OthersOfTheReference) {
  const Tensor p = tensor({0.5, 2.0}), t = tensor({1.0, 0.0});
  EXPECT_NEAR(value(poisson_loss(p, t)), (0.5 - std::log(0.5) + 2) / 2, 1e-6);
  const Tensor s = tensor({0.5, 2.0, -0.5}), sign = tensor({1.0, 1.0, 1.0});
  EXPECT_NEAR(value(hinge_loss(s, sign)), 2.0 / 3, 1e-6);
  EXPECT_NEAR(value(squared_hinge_loss(s, sign)), 2.5 / 3, 1e-6);
  EXPECT_TRUE(allclose(label_smoothing(tensor({{1.0}, {0.0}}), 0.2), tensor({{0.9}, {0.1}})));
  EXPECT_TRUE(allclose(label_smoothing(tensor({{1.0}, {0.0}}), 0.2, 1), tensor({{1.0}, {0.2}})));
  EXPECT_THROW(label_smoothing(p, 1.5), ArgumentError);
}

TEST(Losses, EpsilonKeepsLogarithmsFinite) {
  const Tensor p = tensor({{0.0}, {1.0}}), t = tensor({{1.0}, {0.0}});
  EXPECT_NEAR(value(crossentropy(p, t)), -std::log(std::numeric_limits<float>::epsilon()), 1e-4);
  EXPECT_EQ(value(crossentropy(p, t, {.eps = 0})), kInf);
  EXPECT_EQ(value(crossentropy(p, tensor({{0.0}, {1.0}}), {.eps = 0})), 0);  // 0 log 0 = 0
  EXPECT_TRUE(equal(gradient_of(
                        [](const Tensor& x) {
                          return crossentropy(x, tensor({{0.0}, {1.0}}), {.eps = 0});
                        },
                        p),
                    tensor({{0.0}, {-1.0}})));
  EXPECT_NEAR(value(crossentropy(f64(p), f64(t))), -std::log(std::numeric_limits<double>::epsilon()), 1e-9);
  EXPECT_NEAR(value(crossentropy(f16(p), f16(t))), -std::log(0x1p-10), 1e-2);
}

TEST(LogitCrossEntropy, AgreesWithItsDefinition) {
  const Tensor x = test::random_f64({4, 3, 2}, 1), y = softmax(test::random_f64({4, 3, 2}, 2) * 3);
  const Tensor expected = mean(sum(-y * logsoftmax(x), 0));
  EXPECT_NEAR(value(logitcrossentropy(x, y)), value(expected), 1e-12);
  EXPECT_EQ(logitcrossentropy(x, y, {.agg = Aggregate::none}).shape(), (Shape{1, 3, 2}));
  EXPECT_NEAR(value(logitcrossentropy(x, y, {.agg = Aggregate::sum})), 6 * value(expected), 1e-11);
  EXPECT_NEAR(value(logitcrossentropy(x, y, {.dim = 1})), value(mean(sum(-y * logsoftmax(x, 1), 1))), 1e-12);
}

TEST(LogitCrossEntropy, IsRightForLogitsOfAnySize) {
  const Tensor x = tensor({{1e4, -1e4, 1e4}, {-1e4, -1e4, 0.0}, {0.0, -1e4, -1e4}});
  const Tensor y = tensor({{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}});
  EXPECT_TRUE(allclose(logitcrossentropy(x, y, {.agg = Aggregate::none}), tensor({{0.0, std::log(3.0), 2e4}})));
  const Tensor slope =
      gradient_of([&](const Tensor& t) { return logitcrossentropy(t, y, {.agg = Aggregate::sum}); }, x);
  const double third = 1.0 / 3;
  EXPECT_TRUE(allclose(slope, tensor({{0.0, third, 1.0}, {0.0, third - 1, 0.0}, {0.0, third, -1.0}}), 1e-5, 1e-6));
}

TEST(LogitCrossEntropy, MinusInfinityCountsOnlyWhereTheLabelIs) {
  const Tensor x = tensor({{1.0}, {-kInf}, {0.0}});
  const double expected = std::log(1 + std::exp(-1.0));
  const auto right = [](const Tensor& t) { return logitcrossentropy(t, tensor({{1.0}, {0.0}, {0.0}})); };
  EXPECT_NEAR(value(right(x)), expected, 1e-6);
  const double share = 1 / (1 + std::exp(-1.0));
  EXPECT_TRUE(allclose(gradient_of(right, x), tensor({{share - 1}, {0.0}, {1 - share}}), 1e-5));
  EXPECT_EQ(value(logitcrossentropy(x, tensor({{0.0}, {1.0}, {0.0}}))), kInf);
  EXPECT_NEAR(value(logitcrossentropy(x, tensor({0}))), expected, 1e-6);
  EXPECT_EQ(value(logitcrossentropy(x, tensor({1}))), kInf);
  // Smoothed labels ask for a share of every class.
  EXPECT_EQ(value(logitcrossentropy(x, label_smoothing(tensor({{1.0}, {0.0}, {0.0}}), 0.1))), kInf);
}

TEST(LogitCrossEntropy, TakesClassNumbers) {
  const Tensor x = test::random_f64({3, 4}, 5);
  const Tensor classes = tensor({2, 0, 1, 2});
  const Tensor onehot = f64(cast(arange(3) == reshape(classes, {1, 4}), f64));
  ASSERT_EQ(onehot.shape(), (Shape{3, 4}));
  const double expected = value(logitcrossentropy(x, onehot));
  EXPECT_NEAR(value(logitcrossentropy(x, classes)), expected, 1e-12);
  EXPECT_NEAR(value(logitcrossentropy(x, cast(classes, i64))), expected, 1e-12);
  EXPECT_NEAR(value(logitcrossentropy(x, reshape(classes, {1, 4}))), expected, 1e-12);
  EXPECT_NEAR(value(logitcrossentropy(transpose(x), classes, {.dim = 1})), expected, 1e-12);
  EXPECT_NEAR(value(logitcrossentropy(x, onehot == 1)), expected, 1e-12);  // bool
  EXPECT_EQ(logitcrossentropy(x, classes, {.agg = Aggregate::none}).shape(), (Shape{1, 4}));
  EXPECT_NEAR(value(crossentropy(softmax(x), classes, {.eps = 0})), expected, 1e-9);
  EXPECT_TRUE(allclose(gradient_of([&](const Tensor& t) { return logitcrossentropy(t, classes); }, x),
                       gradient_of([&](const Tensor& t) { return logitcrossentropy(t, onehot); }, x), 1e-9));
}

TEST(LogitCrossEntropy, RefusesClassNumbersOutOfRange) {
  const Tensor x = zeros({3, 2});
  for (const int wrong : {3, -1}) {
    EXPECT_THROW(logitcrossentropy(x, tensor({0, wrong})), IndexError);
    EXPECT_THROW(crossentropy(x, tensor({wrong, 0})), IndexError);
  }
  EXPECT_NEAR(value(logitcrossentropy(x, tensor({0, 1}))), std::log(3.0), 1e-6);  // and still works
}

TEST(LogitBinaryCrossEntropy, IsRightForLogitsOfAnySize) {
  const Tensor x = tensor({0.0, 2.0, 1e4, 1e4, -1e4, -1e4, kInf, -kInf});
  const Tensor t = tensor({1.0, 0.25, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0});
  const double middle = -0.25 * std::log(1 / (1 + std::exp(-2.0))) - 0.75 * std::log(1 - 1 / (1 + std::exp(-2.0)));
  EXPECT_TRUE(allclose(logitbinarycrossentropy(x, t, {.agg = Aggregate::none}),
                       tensor({std::log(2.0), middle, 0.0, 1e4, 1e4, 0.0, 0.0, 0.0}), 1e-5));
  const Tensor slope =
      gradient_of([&](const Tensor& v) { return logitbinarycrossentropy(v, t, {.agg = Aggregate::sum}); }, x);
  const double share = 1 / (1 + std::exp(-2.0));
  EXPECT_TRUE(allclose(slope, tensor({-0.5, share - 0.25, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0}), 1e-5, 1e-6)) << slope;
}

TEST(Losses, GradientsAreRight) {
  const Tensor x = test::random_f64({3, 4}, 7), y = softmax(test::random_f64({3, 4}, 8));
  const Tensor p = softmax(x);
  using Loss = std::function<Tensor(const Tensor&)>;
  const std::vector<std::pair<Loss, Tensor>> losses{
      {[&](const Tensor& v) { return mae(v, y); }, x},
      {[&](const Tensor& v) { return mse(v, y); }, x},
      {[&](const Tensor& v) { return msle(v, y); }, p},
      {[&](const Tensor& v) { return huber_loss(v, y, {.delta = 0.5}); }, x},
      {[&](const Tensor& v) { return crossentropy(v, y); }, p},
      {[&](const Tensor& v) { return logitcrossentropy(v, y); }, x},
      {[&](const Tensor& v) { return logitcrossentropy(v, y, {.agg = Aggregate::none}); }, x},
      {[&](const Tensor& v) { return binarycrossentropy(v, y); }, p},
      {[&](const Tensor& v) { return logitbinarycrossentropy(v, y); }, x},
      {[&](const Tensor& v) { return kldivergence(v, y); }, p},
      {[&](const Tensor& v) { return poisson_loss(v, y); }, p},
      {[&](const Tensor& v) { return hinge_loss(v, y); }, x},
      {[&](const Tensor& v) { return squared_hinge_loss(v, y); }, x},
  };
  for (const auto& [loss, at] : losses) {
    test::expect_gradients([&f = loss](const std::vector<Tensor>& v) { return f(v[0]); }, {at});
  }
  test::expect_gradients([](const std::vector<Tensor>& v) { return mse(v[0], v[1]); }, {x, y});
}

TEST(Losses, NeverBroadcast) {
  const Tensor a = ones({3, 2}), b = ones({3, 1});
  const auto all = {mae, mse, logitbinarycrossentropy, poisson_loss, hinge_loss, squared_hinge_loss};
  for (const auto& loss : all) EXPECT_THROW(loss(a, b, {}), ShapeError);
  EXPECT_THROW(msle(a, b), ShapeError);
  EXPECT_THROW(huber_loss(a, b), ShapeError);
  EXPECT_THROW(binarycrossentropy(a, b), ShapeError);
  EXPECT_THROW(crossentropy(a, b), ShapeError);
  EXPECT_THROW(kldivergence(a, b), ShapeError);
  EXPECT_THROW(logitcrossentropy(a, b), ShapeError);
  EXPECT_THROW(logitcrossentropy(a, ones({2})), ShapeError);          // labels are integers
  EXPECT_THROW(logitcrossentropy(a, tensor({0, 1, 2})), ShapeError);  // one per column
  EXPECT_THROW(logitcrossentropy(a, tensor({0, 1}), {.dim = 2}), IndexError);
}

TEST(Losses, AreF32OrF64) {
  EXPECT_EQ(mse(f16(ones({2})), f16(zeros({2}))).dtype(), f32);
  EXPECT_EQ(mse(f64(ones({2})), zeros({2})).dtype(), f64);
  EXPECT_EQ(mse(tensor({1, 2}), tensor({3, 5})).item<float>(), 6.5F);
  EXPECT_EQ(logitcrossentropy(bf16(ones({2, 3})), tensor({0, 1, 0})).dtype(), f32);
}

TEST(Losses, OfNothingAreNan) {
  EXPECT_TRUE(std::isnan(value(mse(zeros({2, 0}), zeros({2, 0})))));
  EXPECT_TRUE(std::isnan(value(logitcrossentropy(zeros({2, 0}), zeros({2, 0})))));
  EXPECT_EQ(value(mse(zeros({2, 0}), zeros({2, 0}), {.agg = Aggregate::sum})), 0);
}

}  // namespace
}  // namespace sluice
