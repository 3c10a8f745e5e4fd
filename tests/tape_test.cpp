#include "sluice/tape.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "finite_differences.hpp"
#include "sluice/ops.hpp"

namespace sluice {
namespace {

TEST(Tape, RecordsOnlyWhatATrackedInputReaches) {
  detail::Tape tape;
  Tensor x = ones({3});
  tape.track(x);
  const Tensor constant = ones({3}) * 2;
  EXPECT_FALSE(tape.tracks(constant));
  EXPECT_TRUE(tape.tracks(x * constant));
  EXPECT_FALSE(tape.tracks(detach(x) * constant));
  const Tensor outside = no_grad([&] { return x * 3; });
  EXPECT_FALSE(tape.tracks(outside));
}

TEST(Tape, TrainingIsTrueInsideOnly) {
  EXPECT_FALSE(training());
  {
    const detail::Tape tape;
    EXPECT_TRUE(training());
    no_grad([] { EXPECT_FALSE(training()); });
    EXPECT_TRUE(training());
  }
  EXPECT_FALSE(training());
}

TEST(Tape, AGradientInsideNoGradIsAGradient) {
  Tensor x = full({1}, 3.0);
  const NoGrad guard;
  {
    detail::Tape tape;
    tape.track(x);
    tape.backward(sum(x * x));
    EXPECT_EQ(tape.gradient(x).item<float>(), 6);
  }
  EXPECT_FALSE(training()) << "the guard is still in force";
}

TEST(Tape, AddsTheGradientsOfAllUses) {
  test::expect_gradients([](const std::vector<Tensor>& x) { return x[0] * x[0] + sin(x[0]) * x[1] - x[1]; },
                         {test::random_f64({3, 2}, 1), test::random_f64({3}, 2)});
}

TEST(Tape, ATensorThatOutlivesItsTapeIsAConstant) {
  Tensor survivor;
  {
    detail::Tape tape;
    Tensor x = ones({2});
    tape.track(x);
    survivor = x * 2;
  }
  detail::Tape tape;
  Tensor y = ones({2});
  tape.track(y);
  tape.backward(sum(survivor * y));
  EXPECT_TRUE(equal(tape.gradient(y), full({2}, 2.0)));
}

TEST(Tape, RefusesTensorsOfAnotherLiveTape) {
  detail::Tape outer;
  Tensor x = ones({2});
  outer.track(x);
  {
    detail::Tape inner;
    Tensor y = ones({2});
    inner.track(y);
    EXPECT_THROW(x * y, ArgumentError);
    EXPECT_THROW(inner.track(x), ArgumentError);
    EXPECT_NO_THROW(detach(x) * y);
  }
  EXPECT_NO_THROW(x * 2);
  bool refused = false;
  std::thread([&] {
    try {
      x * 2;
    } catch (const ArgumentError&) {
      refused = true;
    }
  }).join();
  EXPECT_TRUE(refused) << "a gradient lost in another thread must not pass silently";
}

TEST(Tape, EscapedTensorsOfOneThreadAreConstantsInAnother) {
  Tensor escaped;
  std::thread([&] {
    detail::Tape tape;
    Tensor x = full({1}, 3.0);
    tape.track(x);
    escaped = x * 2;
  }).join();
  detail::Tape tape;
  Tensor y = full({1}, 5.0);
  tape.track(y);
  tape.backward(sum(escaped * y));
  EXPECT_EQ(tape.gradient(y).item<float>(), 6);
}

TEST(Tape, ManyOperationsNeitherOverflowTheStackNorSlowDown) {
  detail::Tape tape;
  Tensor x = full({1}, 1.0);
  tape.track(x);
  Tensor y = x;
  for (int i = 0; i < 200000; ++i) y = y + x;
  tape.backward(sum(y));
  EXPECT_EQ(tape.gradient(x).item<float>(), 200001);
}

TEST(Record, MakesAUsersOperationDifferentiable) {
  const auto cube = [](const Tensor& x) {
    const Tensor value = detach(x);
    return record(value * value * value, {x},
                  [value](const Tensor& g) { return std::vector<Tensor>{g * value * value * 3}; });
  };
  test::expect_gradients([&](const std::vector<Tensor>& x) { return cube(x[0]) * x[1]; },
                         {test::random_f64({4}, 1), test::random_f64({4}, 2)});
}

TEST(Record, ChecksWhatThePullbackReturns) {
  Tensor x = ones({3});
  const auto run = [&](std::vector<Tensor> returned) {
    detail::Tape tape;
    Tensor tracked = x;
    tape.track(tracked);
    tape.backward(sum(record(detach(tracked), {tracked}, [=](const Tensor&) { return returned; })));
  };
  EXPECT_THROW(run({}), ArgumentError);
  EXPECT_THROW(run({ones({2})}), ShapeError);
  EXPECT_NO_THROW(run({Tensor()}));
}

TEST(Record, OutsideAGradientItIsThePlainResult) {
  bool called = false;
  const Tensor y = record(ones({2}), {ones({2})}, [&](const Tensor&) {
    called = true;
    return std::vector<Tensor>{Tensor()};
  });
  EXPECT_TRUE(equal(y, ones({2})));
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace sluice
