#include "sluice/model.hpp"

#include <gtest/gtest.h>

#include "sluice/layers.hpp"
#include "tests/fake_device.hpp"

namespace sluice {
namespace {

struct Net {
  Dense hidden{3, 4, relu};
  Dense out{4, 2};
  Buffer running = ones({4});
  Tensor labels = tensor({1, 2, 3});
  double rate = 0.1;
  SLUICE_FIELDS(hidden, out, running, labels)
};

Device fake_device(int id = 0) {
  static auto* devices = new std::array<tests::FakeDevice, 2>{tests::FakeDevice(0), tests::FakeDevice(1)};
  return Device(&(*devices)[static_cast<std::size_t>(id)]);
}

TEST(Model, TrainablesAreFloatingTensorsOutsideBuffers) {
  const Net model;
  const NamedTensors named = named_trainables(model);
  ASSERT_EQ(named.size(), 4U);
  EXPECT_EQ(named[0].first, "hidden.weight");
  EXPECT_EQ(named[3].first, "out.bias");
  EXPECT_TRUE(trainables(model)[1].same_handle(model.hidden.bias));
  EXPECT_EQ(parameter_count(model), 12 + 4 + 8 + 2);
}

TEST(Model, TiedTensorsCountOnce) {
  Net model;
  model.out.weight = model.hidden.weight;
  EXPECT_EQ(trainables(model).size(), 3U);
  EXPECT_EQ(parameter_count(model), 12 + 4 + 2);
}

TEST(Model, ChainPathsAreNumbered) {
  const Chain model(Dense(2, 3), relu, Chain(Dense(3, 1)));
  const NamedTensors named = named_trainables(model);
  ASSERT_EQ(named.size(), 4U);
  EXPECT_EQ(named[1].first, "layers.0.bias");
  EXPECT_EQ(named[2].first, "layers.2.layers.0.weight");
}

TEST(Fmap, CallsOncePerHandleAndKeepsTies) {
  Net model;
  model.out.weight = model.hidden.weight;
  model.running.set(model.hidden.bias);
  int calls = 0;
  const Net twice = fmap(
      [&](const Tensor& x) {
        ++calls;
        return x * 2;
      },
      model);
  EXPECT_EQ(calls, 4);  // weight, bias, the other bias, labels
  EXPECT_TRUE(twice.out.weight.same_handle(twice.hidden.weight));
  EXPECT_TRUE(twice.running.get().same_handle(twice.hidden.bias));
  EXPECT_EQ(twice.labels.to_vector<std::int32_t>(), (std::vector<std::int32_t>{2, 4, 6}));
  EXPECT_EQ(model.labels.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 3}));
}

TEST(Fmap, EqualTensorsStayApart) {
  const std::vector<Tensor> two{ones({2}), ones({2})};
  const std::vector<Tensor> mapped = fmap([](const Tensor& x) { return x + 1; }, two);
  EXPECT_FALSE(mapped[0].same_handle(mapped[1]));
}

TEST(Fmap, DoesNotWriteThroughSharedPointers) {
  const std::vector<std::shared_ptr<Tensor>> model{std::make_shared<Tensor>(ones({1})), nullptr};
  const auto mapped = fmap([](const Tensor& x) { return x + 1; }, model);
  EXPECT_EQ(model[0]->item<float>(), 1.0F);
  EXPECT_EQ(mapped[0]->item<float>(), 2.0F);
}

TEST(Move, ToWhereItIsGivesTheSameObject) {
  const Net model;
  const Net moved = cpu_device()(model);
  EXPECT_TRUE(moved.hidden.weight.same_handle(model.hidden.weight));
  EXPECT_TRUE(moved.running.get().same_handle(model.running.get()));
  const Tensor x = ones({2});
  EXPECT_TRUE((x | cpu_device()).same_handle(x));
  EXPECT_TRUE(gpu(x).same_handle(x));
  EXPECT_TRUE(cpu(x).same_handle(x));
}

TEST(Move, ThereAndBackIsBitEqualInEveryType) {
  const Device device = fake_device();
  for (const DType dtype : {boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64}) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 0, 3}, Shape{5, 7}}) {
      const Tensor x = cast(arange(shape.numel()), dtype);
      const Tensor there = device(reshape(x, shape));
      EXPECT_EQ(there.device(), device);
      EXPECT_EQ(there.dtype(), dtype);
      const Tensor back = cpu(there);
      EXPECT_EQ(back.shape(), shape);
      EXPECT_TRUE(std::ranges::equal(back.bytes(), x.bytes())) << dtype.name() << shape;
    }
  }
}

TEST(Move, SlicesMoveTheirElementsOnly) {
  const Tensor x = slice(tensor({{1, 2, 3}, {4, 5, 6}}), 1, 1, 3);
  EXPECT_EQ(cpu(fake_device()(x)).to_vector<std::int32_t>(), x.to_vector<std::int32_t>());
}

TEST(Move, KeepsTiesBuffersAndIntegers) {
  Net model;
  model.out.weight = model.hidden.weight;
  const Net there = model | fake_device();
  EXPECT_TRUE(there.out.weight.same_handle(there.hidden.weight));
  EXPECT_EQ(there.running.get().device(), fake_device());
  EXPECT_EQ(there.labels.device(), fake_device());
  EXPECT_EQ(there.labels.dtype(), i32);
  EXPECT_EQ(model.running.get().device(), cpu_device());
  const Net other = there | fake_device(1);
  EXPECT_EQ(device_of(other), fake_device(1));
  EXPECT_EQ(cpu(other).hidden.bias.to_vector<float>(), model.hidden.bias.to_vector<float>());
}

TEST(Move, ContainersOfTensorsMove) {
  const std::tuple<Tensor, std::map<std::string, Tensor>, int> data{ones({2}), {{"a", tensor({1, 2})}}, 3};
  const auto there = fake_device()(data);
  EXPECT_EQ(std::get<1>(there).at("a").device(), fake_device());
  EXPECT_EQ(std::get<2>(there), 3);
}

TEST(Move, ATargetIsSetAndCleared) {
  const Target there = fake_device()(Target{});
  EXPECT_EQ(there.device, fake_device());
  EXPECT_FALSE(cpu(there).device);
  EXPECT_EQ(fake_device().as(f16)(Target{}).dtype, f16);
}

TEST(Move, IsDifferentiable) {
  // There and back inside a gradient: the gradient makes the same way.
  const Tensor x = tensor({1.0, 2.0});
  const Device device = fake_device();
  detail::Tape tape;
  Tensor tracked = x;
  tape.track(tracked);
  tape.backward(sum(cpu(device(tracked)) * 3));
  EXPECT_EQ(tape.gradient(tracked).to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(tape.gradient(tracked).device(), cpu_device());
}

TEST(Cast, ConvertsFloatingTensorsAlone) {
  Net model;
  model.out.weight = model.hidden.weight;
  const Net half = f16(model);
  EXPECT_EQ(half.hidden.weight.dtype(), f16);
  EXPECT_EQ(half.running.get().dtype(), f16);
  EXPECT_EQ(half.labels.dtype(), i32);
  EXPECT_TRUE(half.out.weight.same_handle(half.hidden.weight));
  EXPECT_TRUE(f32(model).hidden.weight.same_handle(model.hidden.weight));
  EXPECT_THROW(i32(model), TypeError);
  EXPECT_EQ(cpu_device().as(f64)(model).out.bias.dtype(), f64);
}

TEST(DeviceOf, NamesTheTwoThatDisagree) {
  Net model;
  EXPECT_EQ(device_of(model), cpu_device());
  EXPECT_EQ(device_of(std::vector<Tensor>{}), cpu_device());
  model.out.bias = fake_device()(model.out.bias);
  try {
    device_of(model);
    FAIL();
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("\"hidden.weight\" is on CPU"), std::string::npos) << text;
    EXPECT_NE(text.find("\"out.bias\" on CUDA device 0"), std::string::npos) << text;
  }
}

TEST(Mode, IsSwitchedThroughoutAModel) {
  Chain model(Dense(2, 2), Dropout(0.5), Sequential({Layer(Dropout(0.1))}));
  const auto inner = [&]() -> Dropout& { return *model.get<2>()[0].as<Dropout>(); };
  trainmode(model);
  EXPECT_EQ(model.get<1>().mode, Mode::train);
  EXPECT_EQ(inner().mode, Mode::train);
  testmode(model);
  EXPECT_EQ(inner().mode, Mode::test);
  testmode(model, Mode::automatic);
  EXPECT_EQ(inner().mode, Mode::automatic);
}

}  // namespace
}  // namespace sluice
