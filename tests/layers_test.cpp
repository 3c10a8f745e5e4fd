#include "sluice/layers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sluice/losses.hpp"
#include "tests/finite_differences.hpp"

namespace sluice {
namespace {

/// activation(W x + b) by loops.
Tensor dense_by_loops(const Dense& layer, const Tensor& x, double (*activation)(double)) {
  const std::int64_t in = layer.weight.size(1), out = layer.weight.size(0), columns = x.numel() / in;
  const std::vector<double> w = f64(layer.weight).to_vector<double>(), values = f64(x).to_vector<double>();
  const std::vector<double> b = layer.bias ? f64(layer.bias).to_vector<double>() : std::vector<double>(w.size());
  std::vector<double> result;
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t o = 0; o < out; ++o) {
      double total = b[static_cast<std::size_t>(o)];
      for (std::int64_t i = 0; i < in; ++i) {
        total += w[static_cast<std::size_t>(o + out * i)] * values[static_cast<std::size_t>(i + in * c)];
      }
      result.push_back(activation(total));
    }
  }
  return from(result, x.shape().with(0, out));
}

TEST(Dense, MultipliesAddsAndActivates) {
  Dense layer(5, 3, tanh);
  layer.bias = randn({3});
  for (const Shape& shape : {Shape{5}, Shape{5, 4}, Shape{5, 2, 3}, Shape{5, 2, 1, 3}}) {
    const Tensor x = randn(shape), y = layer(x);
    EXPECT_EQ(y.shape(), shape.with(0, 3));
    EXPECT_TRUE(allclose(f64(y), dense_by_loops(layer, x, std::tanh), 1e-5, 1e-6)) << shape;
  }
}

TEST(Dense, StartsWithGlorotWeightsAndZeroBias) {
  seed(5);
  const Dense layer(4, 3);
  seed(5);
  EXPECT_TRUE(equal(layer.weight, glorot_uniform({3, 4})));
  EXPECT_TRUE(equal(layer.bias, zeros({3})));
  EXPECT_TRUE(equal(Dense(4, 3, relu, {.init = ones}).weight, ones({3, 4})));
  EXPECT_FALSE(Dense(4, 3, {.bias = false}).bias);
}

TEST(Dense, WithoutABias) {
  const Dense layer(5, 3, relu, {.bias = false});
  const Tensor x = randn({5, 4});
  EXPECT_TRUE(allclose(f64(layer(x)), dense_by_loops(layer, x, [](double v) { return v > 0 ? v : 0; }), 1e-5, 1e-6));
}

TEST(Dense, FromGivenTensors) {
  const Dense layer(tensor({{1.0, 2.0}}), tensor({3.0}));
  EXPECT_EQ(layer(tensor({10.0, 100.0})).to_vector<float>(), std::vector<float>{213});
  EXPECT_THROW(Dense(ones({2})), ShapeError);
  EXPECT_THROW(Dense(ones({2, 3}), ones({3})), ShapeError);
  EXPECT_THROW(Dense(-1, 3), ShapeError);
  EXPECT_THROW(Dense()(ones({2})), ArgumentError);
}

TEST(Dense, SaysWhatDoesNotFit) {
  const Dense layer(10, 5);
  try {
    layer(ones({7, 3}));
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "Dense(10 => 5): input has size 7 in dimension 0, expected 10; got (7, 3)");
  }
  EXPECT_THROW(layer(scalar(1.0F)), ShapeError);
}

TEST(Dense, ConvertsFloatingInputToItsOwnType) {
  const Dense layer(2, 2), half = f16(layer);
  EXPECT_EQ(layer(f64(ones({2, 3}))).dtype(), f32);
  EXPECT_EQ(half(ones({2, 3})).dtype(), f16);
  const Tensor onehot = tensor({{1, 0}, {0, 1}}) == 1;
  EXPECT_TRUE(allclose(layer(onehot), layer.weight));
}

TEST(Dense, TakesEmptyBatches) {
  const Dense layer(3, 2, relu);
  const Tensor x = zeros({3, 0});
  EXPECT_EQ(layer(x).shape(), (Shape{2, 0}));
  EXPECT_EQ(layer(zeros({3, 4, 0})).shape(), (Shape{2, 4, 0}));
  auto [grads, input] = gradient([](auto& m, const Tensor& t) { return sum(m(t)); }, layer, x);
  EXPECT_TRUE(equal(grads.weight, zeros({2, 3})));
  EXPECT_TRUE(equal(grads.bias, zeros({2})));
  EXPECT_EQ(input.shape(), x.shape());
}

TEST(Dense, GradientsAreRight) {
  const Tensor w = test::random_f64({3, 4}, 1), b = test::random_f64({3}, 2), x = test::random_f64({4, 2, 3}, 3);
  test::expect_gradients([](const std::vector<Tensor>& v) { return Dense(v[0], v[1], sigmoid)(v[2]); }, {w, b, x});
}

TEST(Scale, MultipliesAndAddsAlongTheFirstDimensions) {
  Scale layer(2);
  EXPECT_TRUE(equal(layer.scale, ones({2})));
  layer.scale = tensor({2.0, 3.0});
  layer.bias = tensor({1.0, -1.0});
  EXPECT_TRUE(equal(layer(tensor({{1.0, 2.0}, {10.0, 20.0}})), tensor({{3.0, 5.0}, {29.0, 59.0}})));
  Scale plain({2}, relu, {.bias = false, .init = zeros});
  plain.scale = tensor({-1.0, 1.0});
  EXPECT_TRUE(equal(plain(tensor({5.0, 6.0})), tensor({0.0, 6.0})));
  EXPECT_EQ(plain(zeros({2, 0})).shape(), (Shape{2, 0}));
  EXPECT_THROW(Scale()(ones({2})), ArgumentError);
}

TEST(Dropout, IsTheIdentityOutsideTraining) {
  const Dropout layer(0.5);
  const Tensor x = randn({10, 10});
  EXPECT_TRUE(layer(x).same_handle(x));
}

TEST(Dropout, KeepsTheMeanInTraining) {
  Dropout layer(0.3, {.mode = Mode::train});
  const Tensor y = layer(ones({100, 200}));
  const std::vector<float> values = y.to_vector<float>();
  const auto kept = std::ranges::count_if(values, [](float v) { return v != 0; });
  EXPECT_NEAR(static_cast<double>(kept) / 20000, 0.7, 0.015);
  for (const float value : values) ASSERT_TRUE(value == 0 || std::abs(value - 1 / 0.7F) < 1e-6F);
}

TEST(Dropout, TheMaskIsThatOfTheUniforms) {
  const Dropout layer(0.4, {.mode = Mode::train});
  const Generator generator = layer.counter.get();
  const std::vector<float> u = rand({7, 9}, f32, generator.peek()).to_vector<float>();
  const std::vector<float> y = layer(ones({7, 9})).to_vector<float>();
  for (std::size_t i = 0; i < u.size(); ++i) EXPECT_EQ(y[i] != 0, u[i] > 0.4F) << i;
  EXPECT_EQ(layer.counter.get().peek().call, generator.peek().call + 1);
}

TEST(Dropout, TheSeedDecidesForAnyNumberOfThreads) {
  const Tensor x = ones({1000, 100});
  const int threads = num_threads();
  std::vector<Tensor> masks;
  for (const int count : {1, 2, 5}) {
    set_num_threads(count);
    seed(8);
    masks.push_back(Dropout(0.5, {.mode = Mode::train})(x));
  }
  set_num_threads(threads);
  EXPECT_TRUE(equal(masks[0], masks[1]));
  EXPECT_TRUE(equal(masks[0], masks[2]));
}

TEST(Dropout, EveryCallAndEveryLayerHasItsOwnMask) {
  const Dropout layer(0.5, {.mode = Mode::train}), other(0.5, {.mode = Mode::train});
  const Dropout copy = layer;
  const Tensor x = ones({50});
  const Tensor first = layer(x);
  EXPECT_TRUE(equal(first, copy(x)));
  EXPECT_FALSE(equal(first, layer(x)));
  EXPECT_FALSE(equal(first, other(x)));
}

TEST(Dropout, TheEndsOfTheRange) {
  const Tensor x = randn({5, 5});
  EXPECT_TRUE(Dropout(0, {.mode = Mode::train})(x).same_handle(x));
  const Dropout all(1, {.mode = Mode::train});
  EXPECT_TRUE(equal(all(x), zeros({5, 5})));
  EXPECT_TRUE(equal(gradient([&](const Tensor& t) { return sum(all(t)); }, x), zeros({5, 5})));
  EXPECT_THROW(Dropout(-0.1), ArgumentError);
  EXPECT_THROW(Dropout(1.1), ArgumentError);
  EXPECT_THROW(Dropout(std::nan("")), ArgumentError);
  EXPECT_THROW(Dropout(0.5, {.dims = {-1}}), IndexError);
}

TEST(Dropout, AlongSomeDimensions) {
  const Dropout layer(0.5, {.dims = {1}, .mode = Mode::train});
  const Tensor y = layer(ones({4, 50}));
  for (int row = 1; row < 4; ++row) EXPECT_TRUE(equal(slice(y, 0, row, row + 1), slice(y, 0, 0, 1)));
  EXPECT_TRUE(any(y == 0).item<bool>());
  EXPECT_TRUE(any(y != 0).item<bool>());
}

TEST(Dropout, GradientsPassWhereTheMaskDoes) {
  const Dropout layer(0.5, {.mode = Mode::train});
  const Dropout copy = layer;
  const Tensor x = ones({6, 6});
  EXPECT_TRUE(equal(gradient([&](const Tensor& t) { return sum(layer(t)); }, x), copy(x)));
  const Tensor half = f16(x);
  EXPECT_EQ(layer(half).dtype(), f16);
  EXPECT_EQ(layer(zeros({3, 0})).shape(), (Shape{3, 0}));
}

TEST(Dropout, AModelThatIsNotConstGoesOn) {
  Dropout layer(0.5);
  const auto loss = [](auto& m) { return sum(m(ones({100}))); };
  const auto& constant = layer;
  const float first = withgradient(loss, constant).value.item<float>();
  EXPECT_EQ(withgradient(loss, constant).value.item<float>(), first);
  EXPECT_EQ(withgradient(loss, layer).value.item<float>(), first);
  EXPECT_EQ(layer.counter.get().peek().call, 1U);
}

TEST(Chain, CallsItsLayersInOrder) {
  const Chain model(
      Dense(3, 4, relu), [](const Tensor& x) { return x * 2; }, softmax, flatten);
  const Tensor x = randn({3, 5});
  const Tensor expected = softmax(model.get<0>()(x) * 2);
  EXPECT_TRUE(equal(model(x), expected));
  EXPECT_TRUE(equal(Chain()(x), x));
}

TEST(Chain, MayChangeTheTypeOnTheWay) {
  const auto split = [](const Tensor& x) { return std::pair(x, x * 2); };
  const auto join = [](const std::pair<Tensor, Tensor>& two) { return two.first + two.second; };
  EXPECT_TRUE(equal(Chain(split, join)(ones({2})), full({2}, 3.0)));
}

TEST(Chain, SaysWhichLayerFailed) {
  const Chain model(relu, Chain(Dense(3, 2), Dense(5, 1)));
  try {
    model(ones({3, 2}));
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "layer 1 of Chain: layer 1 of Chain: Dense(5 => 1): input has size 2 in dimension 0, expected 5; got "
                 "(2, 2)");
  }
}

TEST(Sequential, IsPutTogetherAtRunTime) {
  Sequential model;
  for (int i = 0; i < 3; ++i) model.push_back(Dense(4, 4, tanh));
  model.push_back(softmax);
  model.push_back(Chain(Dense(4, 2)));
  EXPECT_EQ(model.size(), 5U);
  const Tensor x = randn({4, 3});
  Tensor expected = x;
  for (std::size_t i = 0; i < 5; ++i) expected = model[i](expected);
  EXPECT_TRUE(equal(model(x), expected));
  EXPECT_EQ(named_trainables(model)[7].first, "layers.4.layers.0.bias");
  ASSERT_NE(model[0].as<Dense>(), nullptr);
  EXPECT_EQ(model[0].as<Dropout>(), nullptr);
}

TEST(Sequential, IsAValueAndTrains) {
  Sequential model({Dense(2, 3, tanh), Dense(3, 1)});
  const Sequential before = model;
  const Tensor x = randn({2, 8}), y = randn({1, 8});
  auto [loss, grads] = withgradient([&](auto& m) { return mse(m(x), y); }, model);
  const std::vector<Tensor*> places = detail::tensor_places(detail::model_ref(model));
  const std::vector<Tensor*> steps = detail::tensor_places(detail::model_ref(grads));
  ASSERT_EQ(places.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) *places[i] = *places[i] - *steps[i] * 0.1;
  EXPECT_LT(mse(model(x), y).item<float>(), loss.item<float>());
  EXPECT_EQ(mse(before(x), y).item<float>(), loss.item<float>());
  try {
    model(ones({3, 1}));
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(std::string(error.what()).find("layer 0 of Sequential: Dense(2 => 3, tanh)"), 0U);
  }
}

TEST(Layers, AConstModelInTestModeIsLeftAlone) {
  const Chain model(Dense(2, 2), Dropout(0.5));
  model(ones({2, 2}));
  EXPECT_EQ(model.get<1>().counter.get().peek().call, 0U);
}

}  // namespace
}  // namespace sluice
