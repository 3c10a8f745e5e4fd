#include "sluice/gradient.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <thread>

#include "sluice/layers.hpp"
#include "sluice/losses.hpp"
#include "tests/finite_differences.hpp"

namespace sluice {
namespace {

struct Affine {
  Tensor weight, bias;
  Tensor operator()(const Tensor& x) const { return matmul(weight, x) + bias; }
  SLUICE_FIELDS(weight, bias)
};

Affine affine() { return {tensor({{1.0, 2.0}, {3.0, 4.0}}), tensor({0.5, -0.5})}; }

TEST(Gradient, OfATensor) {
  const Tensor x = tensor({1.0, 2.0, 3.0});
  auto [value, grad] = withgradient([](const Tensor& t) { return sum(t * t); }, x);
  EXPECT_EQ(value.item<float>(), 14.0F);
  EXPECT_EQ(value.slot().tape, 0U);
  EXPECT_EQ(grad.to_vector<float>(), (std::vector<float>{2, 4, 6}));
}

TEST(Gradient, HasTheTypeOfTheModel) {
  const Affine model = affine();
  const Tensor x = tensor({1.0, 10.0});
  const Affine grads = gradient([&](const Affine& m) { return sum(m(x)); }, model);
  EXPECT_EQ(grads.weight.to_vector<float>(), (std::vector<float>{1, 1, 10, 10}));
  EXPECT_EQ(grads.bias.to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(model.weight.slot().tape, 0U);
}

TEST(Gradient, IsEmptyWhereNothingFlows) {
  const Affine model = affine();
  const Affine grads = gradient([](auto& m) { return sum(m.bias); }, model);
  EXPECT_FALSE(grads.weight);
  EXPECT_TRUE(grads.bias);
}

TEST(Gradient, OfSeveralModelsIsATuple) {
  const Affine model = affine();
  const Tensor x = tensor({1.0, 10.0});
  auto [grads, input] = gradient([](auto& m, const Tensor& t) { return sum(m(t)); }, model, x);
  static_assert(std::is_same_v<decltype(grads), Affine>);
  EXPECT_EQ(input.to_vector<float>(), (std::vector<float>{4, 6}));
  EXPECT_TRUE(grads.bias);
  // Each argument has its own derivative even when both are one tensor.
  auto [a, b] = gradient([](const Tensor& u, const Tensor& v) { return sum(u * v * v); }, x, x);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{1, 100}));
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{2, 200}));
}

TEST(Gradient, OfTiedTensorsStandsAtTheFirstPlace) {
  struct Tied {
    Tensor a, b;
    std::vector<Tensor> more;
  };
  const Tensor w = tensor({2.0, 3.0});
  const Tied model{w, w, {w, tensor({1.0, 1.0})}};
  const Tied grads = gradient([](auto& m) { return sum(m.a * m.b * m.more[0] * m.more[1]); }, model);
  EXPECT_EQ(grads.a.to_vector<float>(), (std::vector<float>{12, 27}));  // 3 w^2
  EXPECT_FALSE(grads.b);
  EXPECT_FALSE(grads.more[0]);
  EXPECT_EQ(grads.more[1].to_vector<float>(), (std::vector<float>{8, 27}));
}

TEST(Gradient, FollowsSharedPointersWithoutWritingToThem) {
  struct Shared {
    std::shared_ptr<Affine> first, second;
    SLUICE_FIELDS(first, second)
  };
  Shared model;
  model.first = std::make_shared<Affine>(affine());
  model.second = model.first;
  const Tensor before = model.first->weight;
  const Tensor x = tensor({1.0, 1.0});
  const Shared grads = gradient([&](auto& m) { return sum((*m.second)((*m.first)(x))); }, model);
  EXPECT_TRUE(model.first->weight.same_handle(before));
  EXPECT_EQ(model.first->weight.slot().tape, 0U);
  EXPECT_EQ(grads.first, grads.second);
  EXPECT_TRUE(grads.first->weight);
}

TEST(Gradient, IntegersAndBoolsAreNotTracked) {
  struct Model {
    Tensor labels, weight;
  };
  const Model model{tensor({1, 2}), tensor({1.0, 2.0})};
  const Model grads = gradient([](auto& m) { return sum(m.weight * m.labels); }, model);
  EXPECT_FALSE(grads.labels);
  EXPECT_EQ(grads.weight.to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Gradient, ATupleBeginsWithTheLoss) {
  const Affine model = affine();
  const Tensor x = tensor({1.0, 10.0});
  auto [value, grads] = withgradient(
      [&](auto& m) {
        const Tensor y = m(x);
        return std::tuple(sum(y), y, 7, std::vector<Tensor>{y});
      },
      model);
  EXPECT_EQ(std::get<2>(value), 7);
  EXPECT_EQ(std::get<1>(value).slot().tape, 0U);
  EXPECT_EQ(std::get<3>(value)[0].slot().tape, 0U);
  EXPECT_EQ(std::get<1>(value).to_vector<float>(), (std::vector<float>{21.5F, 42.5F}));
  EXPECT_EQ(grads.bias.to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Gradient, OfAnArrayIsRefused) {
  const Tensor x = tensor({1.0, 2.0});
  try {
    gradient([](const Tensor& t) { return t * t; }, x);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(std::string(error.what()).find("Output is an array, so the gradient is not defined."), 0U);
    EXPECT_NE(std::string(error.what()).find("(2)"), std::string::npos);
  }
  EXPECT_THROW(gradient([](const Tensor&) { return Tensor(); }, x), ArgumentError);
}

TEST(Gradient, OfAConstantIsEmpty) {
  const Tensor x = tensor({1.0, 2.0});
  auto [value, grad] = withgradient([](const Tensor&) { return scalar(3.0F); }, x);
  EXPECT_EQ(value.item<float>(), 3.0F);
  EXPECT_FALSE(grad);
}

struct Running {
  Tensor weight = tensor({2.0});
  Buffer mean = tensor({0.0});
  Counter counter;
  Tensor operator()(const Tensor& x) const {
    if (training()) {
      mean.set(mean.get() + 1.0);
      counter.next();
    }
    return weight * x;
  }
  SLUICE_FIELDS(weight, mean, counter)
};

TEST(Gradient, BuffersReturnToAModelThatIsNotConst) {
  Running model;
  const Tensor x = tensor({3.0});
  const auto loss = [&](auto& m) { return sum(m(x)); };
  const Running grads = gradient(loss, model);
  EXPECT_EQ(model.mean.get().item<float>(), 1.0F);
  EXPECT_EQ(model.counter.get().peek().call, 1U);
  EXPECT_FALSE(grads.mean.get());

  const Running& constant = model;
  gradient(loss, constant);
  gradient(loss, std::as_const(model));
  EXPECT_EQ(model.mean.get().item<float>(), 1.0F);
  EXPECT_EQ(model.counter.get().peek().call, 1U);
}

TEST(Gradient, AThrowLeavesTheModelAsItWas) {
  Running model;
  const auto failing = [&](auto& m) -> Tensor {
    m(tensor({3.0}));
    throw std::runtime_error("no");
  };
  EXPECT_THROW(gradient(failing, model), std::runtime_error);
  EXPECT_EQ(model.mean.get().item<float>(), 0.0F);
  EXPECT_FALSE(training());
}

TEST(Gradient, OfAGradientIsRefused) {
  const Tensor x = tensor({1.0, 2.0});
  const auto inner = [](const Tensor& t) { return sum(t * t); };
  const auto outer = [&](const Tensor& t) { return sum(gradient(inner, t)); };
  EXPECT_THROW(gradient(outer, x), ArgumentError);
  // A gradient of something else inside is fine.
  const auto detached = [&](const Tensor& t) { return sum(t * gradient(inner, detach(t))); };
  EXPECT_EQ(gradient(detached, x).to_vector<float>(), (std::vector<float>{2, 4}));
}

TEST(Gradient, OfANetAgreesWithFiniteDifferences) {
  seed(3);
  const Chain model = f64(Chain(Dense(3, 5, tanh), Dense(5, 4, softplus), Dense(4, 2)));
  const Tensor x = test::random_f64({3, 6}, 1), y = test::random_f64({2, 6}, 2);
  const auto [flat, rebuild] = destructure(model);
  const auto loss = [&](const Tensor& v) { return mse(rebuild(v)(x), y); };
  test::expect_gradients([&](const std::vector<Tensor>& v) { return loss(v[0]); }, {flat});
  // The gradient of the model is that of its flat vector.
  const auto grads = gradient([&](auto& m) { return mse(m(x), y); }, model);
  EXPECT_TRUE(allclose(destructure(grads).flat, gradient(loss, flat), 1e-12));
}

TEST(Gradient, AConstModelIsDifferentiatedByManyThreads) {
  seed(4);
  const Chain model(Dense(8, 16, relu), Dropout(0.5), Dense(16, 4));
  const Tensor x = randn({8, 32}), y = randn({4, 32});
  const auto loss = [&](auto& m) { return mse(m(x), y); };
  const Tensor expected = destructure(gradient(loss, model)).flat;
  std::vector<std::thread> threads;
  std::vector<int> right(8, 0);
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) right[t] += equal(destructure(gradient(loss, model)).flat, expected) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(8, 20));
}

TEST(WithDerivative, UsesTheDerivativeGiven) {
  const auto through = with_derivative([](auto x) { return sign(x); }, [](auto) { return 1; });
  const Tensor x = tensor({-2.0, 0.5});
  EXPECT_EQ(through(x).to_vector<float>(), (std::vector<float>{-1, 1}));
  EXPECT_EQ(gradient([&](const Tensor& t) { return sum(through(t) * 3); }, x).to_vector<float>(),
            (std::vector<float>{3, 3}));
  const auto root = with_derivative([](auto v) { return sqrt(v); }, [](auto, auto y) { return 0.5 / y; });
  const Tensor z = tensor({4.0, 9.0});
  EXPECT_TRUE(allclose(gradient([&](const Tensor& t) { return sum(root(t)); }, z), tensor({0.25, 1.0 / 6})));
}

TEST(WithDerivative, IsALayer) {
  const Chain model(Dense(2, 2), with_derivative([](auto x) { return sign(x); }, [](auto) { return 1; }));
  EXPECT_EQ(parameter_count(model), 6);
  const auto grads = gradient([](auto& m) { return sum(m(tensor({1.0, 2.0}))); }, model);
  EXPECT_EQ(grads.get<0>().bias.template to_vector<float>(), (std::vector<float>{1, 1}));
}

}  // namespace
}  // namespace sluice
