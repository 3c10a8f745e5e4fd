// The state of an optimiser and the step as a whole: ties, skipped leaves, buffers in place, errors.
#include <gtest/gtest.h>

#include <optional>

#include "sluice/gradient.hpp"
#include "sluice/optimisers.hpp"
#include "src/core/program.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/device/allocator.hpp"
#include "tests/fake_device.hpp"
#include "tests/messages.hpp"

namespace sluice {
namespace {

using tests::expect_contains;
using tests::message_of;

struct Layer {
  Tensor weight;
  Tensor bias;
  SLUICE_FIELDS(weight, bias)
};

struct Net {
  Layer hidden{full({2, 3}, 1.0), full({2}, 1.0)};
  Layer out{full({1, 2}, 1.0), full({1}, 1.0)};
  Buffer mean = ones({2});
  Tensor labels = arange(3);  // integers are not trained
  SLUICE_FIELDS(hidden, out, mean, labels)
};

/// A gradient of ones for every parameter.
Net ones_gradient() {
  Net grads;
  grads.labels = {};
  return grads;
}

const void* data_of(const Tensor& x) { return x.bytes().data(); }
std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }

TEST(Setup, HasALeafForEveryParameter) {
  const OptimiserState state = setup(Adam{}, Net{});
  ASSERT_EQ(state.leaves().size(), 4u);
  EXPECT_EQ(state.leaves()[0].paths, std::vector<std::string>{"hidden.weight"});
  EXPECT_EQ(state.leaves()[3].paths, std::vector<std::string>{"out.bias"});
  const OptimiserLeaf& leaf = state.at("hidden.weight");
  ASSERT_EQ(leaf.tensors.size(), 2u);
  EXPECT_EQ(leaf.tensors[1].shape(), (Shape{2, 3}));
  EXPECT_EQ(leaf.step_count(), 0);
  expect_contains(message_of<ArgumentError>([&] { state.at("hidden"); }), {"\"hidden\"", "\"out.bias\""});
}

TEST(Setup, WarnsWhenThereIsNothingToTrain) {
  testing::internal::CaptureStderr();
  OptimiserState state = setup(Adam{}, arange(3));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[ Warning: setup found no trainable parameters in this model\n");
  adjust(state, 0.1);
  Tensor x = arange(3);
  update(state, x, Tensor());
}

TEST(Update, SkipsLeavesWithoutGradient) {
  Net net;
  const Net before = net;
  OptimiserState state = setup(Momentum{.eta = 0.5}, net);
  Net grads = ones_gradient();
  grads.hidden = {};
  update(state, net, grads);
  EXPECT_TRUE(net.hidden.weight.same_handle(before.hidden.weight));
  EXPECT_EQ(state.at("hidden.weight").step_count(), 0);
  EXPECT_EQ(floats(state.at("hidden.bias").tensors[0]), (std::vector<float>{0, 0}));
  EXPECT_EQ(floats(net.out.weight), (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(state.at("out.weight").step_count(), 1);
  EXPECT_TRUE(net.labels.same_handle(before.labels));
}

TEST(Update, StepsTiedParametersOnceAndWritesEveryPlace) {
  struct Tied {
    Tensor a = ones({2});
    Tensor b = a;
    std::vector<Tensor> more{a, ones({2})};
    SLUICE_FIELDS(a, b, more)
  } net, grads;
  OptimiserState state = setup(OptimiserChain(Descent{1}), net);
  ASSERT_EQ(state.leaves().size(), 2u);
  EXPECT_EQ(state.leaves()[0].paths, (std::vector<std::string>{"a", "b", "more.0"}));
  grads.a = full({2}, 0.25);
  grads.b = full({2}, 0.5);  // gradients of several places are summed
  grads.more = {Tensor(), Tensor()};
  const void* data = data_of(net.a);
  update(state, net, grads);
  EXPECT_EQ(floats(net.a), (std::vector<float>{0.25f, 0.25f}));
  EXPECT_TRUE(net.a.same_handle(net.b));
  EXPECT_TRUE(net.a.same_handle(net.more[0]));
  EXPECT_EQ(data_of(net.a), data);  // all owners are places of the model
  freeze(state, "more.0");
  update(state, net, grads);
  EXPECT_EQ(floats(net.b), (std::vector<float>{0.25f, 0.25f}));
}

TEST(Update, WorksInPlaceOnlyWhenNobodyElseHoldsTheBuffer) {
  Net net;
  const Net grads = ones_gradient();
  OptimiserState state = setup(Adam{.eta = 0.5}, net);
  const void* weight = data_of(net.hidden.weight);
  const void* moment = data_of(state.at("hidden.weight").tensors[1]);
  update(state, net, grads);
  EXPECT_EQ(data_of(net.hidden.weight), weight);
  EXPECT_EQ(data_of(state.at("hidden.weight").tensors[1]), moment);

  const Net best = net;
  const OptimiserState saved = state;
  const std::vector<float> values = floats(best.hidden.weight);
  const std::vector<float> moments = floats(saved.at("hidden.weight").tensors[0]);
  update(state, net, grads);
  update(state, net, grads);
  EXPECT_EQ(floats(best.hidden.weight), values);
  EXPECT_EQ(floats(saved.at("hidden.weight").tensors[0]), moments);
  EXPECT_EQ(saved.at("hidden.weight").step_count(), 1);
  EXPECT_EQ(state.at("hidden.weight").step_count(), 3);
  EXPECT_NE(floats(net.hidden.weight), values);
  EXPECT_EQ(floats(grads.hidden.weight), std::vector<float>(6, 1.f));
}

TEST(Update, DoesNotWriteIntoViewsOfASharedBuffer) {
  const Tensor whole = full({2, 2}, 1.0);
  Tensor column = slice(whole, 1, 0, 1);
  OptimiserState state = setup(Descent{1}, column);
  update(state, column, full({2, 1}, 3.0));
  EXPECT_EQ(floats(column), (std::vector<float>{-2, -2}));
  EXPECT_EQ(floats(whole), (std::vector<float>{1, 1, 1, 1}));
}

TEST(Update, TakesTheModelItselfAsGradient) {
  Net net;
  OptimiserState state = setup(Descent{0.25}, net);
  update(state, net, net);
  EXPECT_EQ(floats(net.out.bias), (std::vector<float>{0.75f}));
}

TEST(Update, ErrorsNameThePathAndChangeNothing) {
  Net net;
  const Net before = net;
  OptimiserState state = setup(Adam{}, net);
  Net grads = ones_gradient();
  grads.out.weight = ones({2, 1});
  expect_contains(message_of<ShapeError>([&] { update(state, net, grads); }), {"out.weight", "(2, 1)", "(1, 2)"});
  grads = ones_gradient();
  grads.out.bias = arange(1);
  expect_contains(message_of<TypeError>([&] { update(state, net, grads); }), {"out.bias", "i64"});
  EXPECT_TRUE(net.hidden.weight.same_handle(before.hidden.weight));

  Net other = net;
  other.hidden.bias = {};
  expect_contains(message_of<ArgumentError>([&] { update(state, other, grads); }),
                  {"\"hidden.bias\"", "\"out.weight\"", "setup"});
  other = net;
  other.hidden.weight = ones({5, 5});
  grads = ones_gradient();
  grads.hidden.weight = ones({5, 5});
  expect_contains(message_of<ShapeError>([&] { update(state, other, grads); }), {"hidden.weight", "(5, 5)", "(2, 3)"});
  EXPECT_EQ(state.at("hidden.weight").step_count(), 0);

  std::vector<Tensor> list{ones({1}), ones({1})};
  OptimiserState of_list = setup(Descent{}, list);
  expect_contains(message_of<ArgumentError>([&] { update(of_list, list, std::vector<Tensor>{ones({1})}); }),
                  {"2", "1"});
}

TEST(Update, FollowsAChangeOfPrecisionOrSaysHow) {
  Net net;
  OptimiserState state = setup(Momentum{.eta = 0.5}, net);
  net = f16(net);  // f32 states are what f16 parameters have
  update(state, net, f16(ones_gradient()));
  EXPECT_EQ(net.out.bias.dtype(), f16);
  net = f64(net);
  expect_contains(message_of<TypeError>([&] { update(state, net, f64(ones_gradient())); }),
                  {"hidden.weight", "f64(state)"});
  state = f64(state);
  update(state, net, f64(ones_gradient()));
  EXPECT_EQ(net.out.bias.to_vector<double>()[0], 0.5 - 0.95);
}

TEST(Update, AModelMovedAfterSetupThrowsWithTheFix) {
  tests::FakeDevice device;
  Tensor x = ones({2});
  OptimiserState state = setup(Adam{}, x);
  x = detail::empty({2}, f32, &device);
  const std::string text = message_of<DeviceError>([&] { update(state, x, Tensor(x)); });
  expect_contains(text, {"on CUDA device 0", "on CPU", "device(state)", "setup"});
  expect_contains(message_of<DeviceError>([&] { update(state, x, ones({2})); }), {"gradient", "CUDA device 0", "CPU"});
}

TEST(Update, TheStateIsMovedLikeAModel) {
  Net net;
  OptimiserState state = setup(Adam{}, net);
  update(state, net, ones_gradient());
  const OptimiserState moved = cpu_device()(state);
  EXPECT_EQ(moved.at("out.bias").step_count(), 1);
  EXPECT_TRUE(moved.at("out.bias").tensors[0].same_handle(state.at("out.bias").tensors[0]));
  const NamedTensors named = named_trainables(state);
  ASSERT_EQ(named.size(), 8u);
  EXPECT_EQ(named[1].first, "hidden.weight.tensors.1");
}

TEST(Adjust, ChangesNumbersOfAllOrSome) {
  Net net;
  const auto value = [](const OptimiserState& state, const char* path, std::size_t field) {
    return state.at(path).rule.fields()[field].second;
  };
  OptimiserState state = setup(Adam{}, net);
  adjust(state, 0.01);
  EXPECT_EQ(value(state, "hidden.weight", 0), 0.01);
  adjust(state, "beta1", 0.8);
  EXPECT_EQ(value(state, "out.bias", 1), 0.8);
  EXPECT_EQ(value(state, "out.bias", 0), 0.01);
  adjust(state, "hidden", "eta", 0.5);
  EXPECT_EQ(value(state, "hidden.bias", 0), 0.5);
  EXPECT_EQ(value(state, "out.bias", 0), 0.01);
  EXPECT_TRUE(state.at("hidden.bias").rule.same(state.at("hidden.weight").rule));

  expect_contains(message_of<ArgumentError>([&] { adjust(state, "gamma", 1); }), {"gamma", "beta1", "epsilon"});
  expect_contains(message_of<ArgumentError>([&] { adjust(state, "hid", "eta", 1); }), {"\"hid\"", "hidden.weight"});
  expect_contains(message_of<ArgumentError>([&] { adjust(state, -1); }), {"the learning rate cannot be negative"});
  EXPECT_EQ(value(state, "out.bias", 0), 0.01);

  OptimiserState chain = setup(OptimiserChain(WeightDecay{}, Descent{}, Momentum{}), net);
  adjust(chain, 0.125);
  const auto fields = chain.leaves()[0].rule.fields();
  EXPECT_EQ(fields[0].second, 5e-4);
  EXPECT_EQ(fields[1].second, 0.125);
  EXPECT_EQ(fields[2].second, 0.125);
}

TEST(Adjust, TakesEffectAndKeepsTheState) {
  Tensor x = zeros({1});
  OptimiserState state = setup(Momentum{.eta = 1, .rho = 0.5}, x);
  update(state, x, ones({1}));  // v = 1
  adjust(state, 2);
  update(state, x, ones({1}));  // v = 0.5 + 2
  EXPECT_EQ(floats(x), (std::vector<float>{-3.5f}));
}

TEST(Adjust, AndANewStepUseTheSameProgram) {
  // A program is never made anew for another learning rate or step: equal structures are the same object.
  const auto program_at = [](double eta, std::int64_t step) {
    return trace<4>([&](Expr x, Expr g, Expr m, Expr v) {
             std::array<Expr, 2> s{m, v};
             const Expr dx = Adam{.eta = eta}.step(x, g, s, {.step = step});
             return std::tuple(x - dx, s[0], s[1]);
           })
        .program();
  };
  EXPECT_EQ(program_at(0.1, 1), program_at(0.003, 17));
}

TEST(Freeze, StopsTheSteps) {
  Net net;
  const Net grads = ones_gradient();
  OptimiserState state = setup(Descent{0.5}, net);
  freeze(state, "hidden");
  update(state, net, grads);
  EXPECT_EQ(floats(net.hidden.bias), (std::vector<float>{1, 1}));
  EXPECT_EQ(floats(net.out.bias), (std::vector<float>{0.5f}));
  thaw(state, "hidden.bias");
  update(state, net, grads);
  EXPECT_EQ(floats(net.hidden.bias), (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(floats(net.hidden.weight), std::vector<float>(6, 1.f));
  freeze(state);
  update(state, net, grads);
  EXPECT_EQ(floats(net.out.bias), (std::vector<float>{0}));
  thaw(state);
  update(state, net, grads);
  EXPECT_EQ(floats(net.out.bias), (std::vector<float>{-0.5f}));
  expect_contains(message_of<ArgumentError>([&] { freeze(state, "hidde"); }), {"\"hidde\"", "\"hidden.weight\""});
  expect_contains(message_of<ArgumentError>([&] { thaw(state, "out.bias.x"); }), {"out.bias.x"});
}

TEST(Memory, IsFlatOverSteps) {
  if (!detail::kCachesMemory) GTEST_SKIP() << "nothing is cached under AddressSanitizer";
  std::vector<Tensor> model{full({256, 256}, 1.0), full({512, 128}, 1.0)};
  OptimiserState state = setup(OptimiserChain(ClipNorm{}, AdamW{}), model);
  const auto step = [&] {
    auto [loss, grads] = withgradient([](auto& m) { return sum(m[0] * m[0]) + sum(m[1] * m[1]); }, model);
    update(state, model, grads);
  };
  for (int i = 0; i < 10; ++i) step();
  const auto before = detail::host_allocator().stats();
  for (int i = 0; i < 200; ++i) step();
  const auto after = detail::host_allocator().stats();
  EXPECT_EQ(after.in_use, before.in_use);
  EXPECT_EQ(after.peak, before.peak);
  EXPECT_EQ(after.misses, before.misses);
}

TEST(Memory, RunningOutLeavesTheOldTensorsInPlace) {
  if (!detail::kCachesMemory) GTEST_SKIP() << "the limit holds for cached memory";
  Tensor x = full({256, 256}, 1.0);
  const Tensor gradient = full({256, 256}, 1.0);
  OptimiserState state = setup(Momentum{.eta = 1}, x);
  const Tensor kept = x;
  const Tensor velocity = state.leaves()[0].tensors[0];  // both are held here as well, so the step needs memory
  detail::host_allocator().set_limit(1);
  EXPECT_THROW(update(state, x, gradient), OutOfMemory);
  detail::host_allocator().set_limit(detail::CachingAllocator::kNoLimit);
  EXPECT_TRUE(x.same_handle(kept));
  EXPECT_TRUE(state.leaves()[0].tensors[0].same_handle(velocity));
  EXPECT_EQ(state.leaves()[0].step_count(), 0);
  update(state, x, gradient);
  EXPECT_EQ(floats(x)[0], 0);
  EXPECT_EQ(floats(kept)[0], 1);
}

}  // namespace
}  // namespace sluice
