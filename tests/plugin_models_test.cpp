// Models on devices: printing, conversion, ties after a step, threads, memory over many steps, training on one device
// and going on with it on another. PoCL gives two devices.
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "kernel_device.hpp"
#include "src/device/allocator.hpp"

namespace sluice {
namespace {

class PluginModels : public tests::KernelDevice {
 protected:
  void SetUp() override {
    setenv("POCL_DEVICES", "pthread pthread", 0);
    setenv("VIRTUAL_GPU_DEVICES", "2", 0);
    KernelDevice::SetUp();
  }
  /// A second device of the backend, or the only one.
  Device other() const {
    const std::vector<Device> all = devices(GetParam());
    return all.size() < 2 ? device : all[1];
  }
};
SLUICE_INSTANTIATE_FOR_KERNEL_DEVICES(PluginModels);

struct Net {
  Dense hidden{8, 16, relu};
  Dropout dropout{0.2};
  Dense out{16, 3};
  Tensor operator()(const Tensor& x) const { return out(dropout(hidden(x))); }
  SLUICE_FIELDS(hidden, dropout, out)
};

struct Batch {
  Tensor x, y;
};

Batch batch_on(const Device& device) {
  std::vector<std::int64_t> classes;
  for (std::int64_t i = 0; i < 32; ++i) classes.push_back(i * i % 3);
  return {rand({8, 32}, f32, {5, 5}) | device, from(classes) | device};
}

template <class State>
float step(Net& model, State& state, const Batch& batch) {
  const auto loss = [&](const Net& m) { return logitcrossentropy(m(batch.x), batch.y); };
  const auto [value, gradients] = withgradient(loss, model);
  update(state, model, gradients);
  return value.template item<float>();
}

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST_P(PluginModels, PrintingMarksWhatTheCpuMarks) {
  seed(1);
  Dense zero(8, 16), infinite(16, 3), nan(3, 2);
  zero.weight = zeros({16, 8});
  infinite.bias = from(std::vector<float>{1, INFINITY, 3});
  nan.weight = full({2, 3}, NAN);
  const std::pair<Dense, const char*> cases[] = {{zero, "(all zero)"}, {infinite, "(some Inf)"}, {nan, "(some NaN)"}};
  for (const auto& [layer, mark] : cases) {
    EXPECT_NE(printed(layer).find(mark), std::string::npos);
    EXPECT_EQ(printed(layer | device), printed(layer));
    EXPECT_EQ(printed(f16(layer | device)), printed(f16(layer)));
  }
  const Chain all(zero, infinite, nan);
  EXPECT_NE(printed(all).find("(some NaN)"), std::string::npos);
  EXPECT_EQ(printed(all | device), printed(all));
  EXPECT_EQ(printed(Dense(3, 3) | device), "Dense(3 => 3)       # 12 parameters");
}

TEST_P(PluginModels, DropoutMasksAreThoseOfTheCpu) {
  Dropout dropout(0.4);
  trainmode(dropout);
  const Tensor x = rand({37, 11}, f32, {3, 3});
  seed(9);
  const Dropout here = dropout, there = dropout;
  expect_close("mask", 0, 0, there(x | device) | cpu_device(), here(x));
  for (const DType dtype : supported({f16, bf16, f32, f64})) {
    expect_close("rand", 0, 0, rand({1001}, dtype, {1, 2}, device) | cpu_device(), rand({1001}, dtype, {1, 2}));
  }
}

TEST_P(PluginModels, ConversionHappensWhereTheModelIs) {
  seed(2);
  const Net model;
  for (const DType dtype : supported({f16, bf16, f64})) {
    const Net there = device.as(dtype)(model);
    const Net converted = dtype == f16    ? f16(model | device)
                          : dtype == bf16 ? bf16(model | device)
                                          : f64(model | device);
    EXPECT_EQ(converted.hidden.weight.device(), device);
    EXPECT_EQ(converted.hidden.weight.dtype(), dtype);
    const Tensor a = cast(converted.hidden.weight | cpu_device(), f64),
                 b = cast(there.hidden.weight | cpu_device(), f64);
    EXPECT_EQ(a.to_vector<double>(), b.to_vector<double>());
    EXPECT_EQ(a.to_vector<double>(), cast(cast(model.hidden.weight, dtype), f64).to_vector<double>());
  }
}

struct Tied {
  Tensor weight = rand({8, 8}, f32, {1, 1});
  Tensor again = weight;
  SLUICE_FIELDS(weight, again)
};

TEST_P(PluginModels, TiesLastThroughMovesAndSteps) {
  Tied model = Tied{} | device;
  ASSERT_TRUE(model.weight.same_handle(model.again));
  auto state = setup(Adam{}, model);
  const auto loss = [](const Tied& m) { return sum(m.weight * m.again * m.again); };
  update(state, model, gradient(loss, model));
  EXPECT_TRUE(model.weight.same_handle(model.again));
  const Tied back = model | cpu_device();
  EXPECT_TRUE(back.weight.same_handle(back.again));
  Tied here;
  auto state_here = setup(Adam{}, here);
  update(state_here, here, gradient(loss, here));
  expect_close("after a step", 1e-5, 1e-7, back.weight, here.weight);
}

TEST_P(PluginModels, AnyThreadMayUseAnyDevice) {
  const Device second = other();
  if (second == device) GTEST_SKIP() << "there is only one device";
  const Tensor x = rand({64, 64}, f32, {1, 1}) | device, y = rand({64, 64}, f32, {1, 1}) | second;
  std::string text_x, text_y;
  std::vector<float> product_x, product_y;
  std::thread([&] {
    product_x = matmul(x, x).to_vector<float>();
    text_x = printed(x);
  }).join();
  std::thread([&] {
    product_y = matmul(y, y).to_vector<float>();
    text_y = printed(y);
  }).join();
  EXPECT_EQ(product_x, product_y);
  EXPECT_NE(text_x, text_y);  // a tensor says on which device it is
}

TEST_P(PluginModels, MemoryInUseIsFlatOverTenThousandSteps) {
  seed(3);
  Net model = Net{} | device;
  auto state = setup(Adam{}, model);
  const Batch batch = batch_on(device);
  for (int i = 0; i < 10; ++i) step(model, state, batch);
  const MemoryStats before = memory_stats(device);
  const int steps = GetParam() == std::string("OpenCL") ? 10000 : 200;
  for (int i = 10; i < steps; ++i) step(model, state, batch);
  const MemoryStats after = memory_stats(device);
  EXPECT_EQ(after.in_use, before.in_use);
  EXPECT_EQ(after.peak, before.peak);
  EXPECT_EQ(after.cached, before.cached);
  if (detail::kCachesMemory) {
    EXPECT_EQ(after.misses, before.misses);
  }
}

TEST_P(PluginModels, TrainingGoesOnOnAnotherDevice) {
  if (other() == device) GTEST_SKIP() << "there is only one device";
  std::vector<float> losses[2];
  for (const bool moves : {false, true}) {
    seed(4);
    Net model;
    if (moves) model = model | device;
    auto state = setup(Adam{.eta = 1e-2}, model);
    for (int i = 0; i < 30; ++i) {
      if (moves && i == 10) {
        model = model | other();
        state = state | other();
      }
      if (moves && i == 20) {
        model = model | cpu_device();
        state = state | cpu_device();
      }
      losses[moves ? 1 : 0].push_back(step(model, state, batch_on(model.out.weight.device())));
    }
  }
  EXPECT_LT(losses[0].back(), 0.9F * losses[0].front());
  for (std::size_t i = 0; i < losses[0].size(); ++i) EXPECT_NEAR(losses[1][i], losses[0][i], 1e-4) << i;
}

TEST_P(PluginModels, ADeviceRunsOutOfMemoryAndGoesOn) {
  set_memory_limit(device, memory_stats(device).in_use + (8u << 20));
  const Tensor x = rand({1024, 1024}, f32, {1, 1}) | device;  // 4 MiB
  EXPECT_THROW(cat({x, x, x}, 1), OutOfMemory);
  EXPECT_NO_THROW((x + 1).to_vector<float>());
  set_memory_limit(device, std::nullopt);
  EXPECT_NO_THROW(cat({x, x, x}, 1));
}

}  // namespace
}  // namespace sluice
