#include "sluice/train.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <list>

namespace sluice {
namespace {

struct Line {
  Tensor slope = zeros({1, 1});
  Tensor offset = zeros({1});
  Mode mode = Mode::automatic;
  Tensor operator()(const Tensor& x) const { return matmul(slope, x) + offset; }
  SLUICE_FIELDS(slope, offset, mode)
};

using Batch = std::array<Tensor, 2>;

/// y = 2 x - 3 in batches of four.
std::vector<Batch> line_data() {
  std::vector<Batch> batches;
  for (int i = 0; i < 8; ++i) {
    const Tensor x = reshape(cast(arange(4), f32) * 0.5 + (i % 3 - 1.5), {1, 4});
    batches.push_back({x, x * 2 - 3});
  }
  return batches;
}

Tensor squared_error(const Line& line, const Tensor& x, const Tensor& y) {
  const Tensor difference = line(x) - y;
  return mean(difference * difference);
}

const TrainOptions kQuiet{.progress = Progress::none};

TEST(Train, FindsALine) {
  Line line;
  auto state = setup(Adam{.eta = 0.1}, line);
  std::vector<double> losses;
  const double last = train(squared_error, line, line_data(), state,
                            {.epochs = 60, .progress = Progress::none, .on_epoch = [&](const Epoch& epoch) {
                               EXPECT_EQ(epoch.number, static_cast<int>(losses.size()));
                               EXPECT_EQ(epoch.items, 8);
                               losses.push_back(epoch.loss);
                             }});
  EXPECT_NEAR(line.slope.item<float>(), 2, 1e-2);
  EXPECT_NEAR(line.offset.item<float>(), -3, 1e-2);
  ASSERT_EQ(losses.size(), 60u);
  EXPECT_EQ(losses.back(), last);
  EXPECT_LT(last, 1e-3);
  EXPECT_LT(losses[30], losses[0]);
}

TEST(Train, TakesTheSameStepsAsALoopByHand) {
  const std::vector<Batch> data = line_data();
  Line by_hand, by_train;
  auto state = setup(Momentum{.eta = 0.05}, by_hand);
  for (const Batch& batch : data) {
    auto [loss, grads] = withgradient([&](auto& m) { return squared_error(m, batch[0], batch[1]); }, by_hand);
    update(state, by_hand, grads);
  }
  auto other = setup(Momentum{.eta = 0.05}, by_train);
  train(squared_error, by_train, data, other, kQuiet);
  EXPECT_TRUE(equal(by_hand.slope, by_train.slope));
  EXPECT_TRUE(equal(by_hand.offset, by_train.offset));
}

TEST(Train, SpreadsTuplesAndTakesOtherBatchesWhole) {
  Line line;
  auto state = setup(Descent{0.01}, line);
  const Tensor x = ones({1, 2});
  std::list<std::pair<Tensor, double>> pairs{{x, 1.5}};  // a range without random access, a batch of two types
  train([](auto& m, const Tensor& a, double y) { return mean(m(a) - y); }, line, pairs, state, kQuiet);
  const std::vector<Tensor> tensors{x, x};
  int calls = 0;
  train([&](auto& m, const Tensor& a) { return ++calls, mean(m(a)); }, line, tensors, state, kQuiet);
  EXPECT_EQ(calls, 2);
  EXPECT_NEAR(line.offset.item<float>(), -0.03, 1e-6);
}

TEST(Train, StopsAtALossThatIsNotFinite) {
  Line line;
  auto state = setup(Descent{0.25}, line);
  const auto run = [&](double bad) {
    const std::vector<double> data{1, 1, bad, 1};
    train([](auto& m, double factor) { return sum(m.offset) * factor; }, line, data, state, kQuiet);
  };
  const auto message = [&](double bad) -> std::string {
    try {
      run(bad);
    } catch (const ArgumentError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(std::nan("")), "Loss is NaN on data item 3, stopping training");
  EXPECT_EQ(line.offset.item<float>(), -0.5f);  // two steps; the third did not happen
  EXPECT_EQ(state.at("offset").step_count(), 2);
  EXPECT_EQ(message(std::numeric_limits<double>::infinity()), "Loss is -Inf on data item 3, stopping training");
}

TEST(Train, SwitchesTheModelToTrainMode) {
  Line line;
  testmode(line);
  auto state = setup(Descent{}, line);
  train(squared_error, line, line_data(), state, kQuiet);
  EXPECT_EQ(line.mode, Mode::train);
}

TEST(Train, TheLossMayReturnMore) {
  Line line;
  auto state = setup(Descent{0.5}, line);
  const auto loss = [](auto& m, const Tensor& x) { return std::tuple(mean(m(x)), 42); };
  auto [value, more] = trainstep(loss, line, ones({1, 2}), state);
  EXPECT_EQ(value.template item<float>(), 0.f);
  EXPECT_EQ(more, 42);
  EXPECT_EQ(line.offset.item<float>(), -0.5f);
  EXPECT_NEAR(train(loss, line, std::vector<Tensor>{ones({1, 2})}, state, kQuiet), -1, 1e-6);
}

TEST(Train, OfNothing) {
  Line line;
  auto state = setup(Descent{}, line);
  EXPECT_TRUE(std::isnan(train(squared_error, line, std::vector<Batch>{}, state, kQuiet)));
  EXPECT_THROW(train(squared_error, line, line_data(), state, {.epochs = -1}), ArgumentError);
}

TEST(Train, SaysNothingUnlessAskedOrOnATerminal) {
  Line line;
  auto state = setup(Descent{}, line);
  testing::internal::CaptureStderr();
  train(squared_error, line, line_data(), state);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  train(squared_error, line, line_data(), state, {.epochs = 2, .progress = Progress::lines});
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("epoch 1/2: 8 items, loss "), 0u) << text;
  EXPECT_NE(text.find("epoch 2/2: 8 items, loss "), std::string::npos) << text;
}

}  // namespace
}  // namespace sluice
