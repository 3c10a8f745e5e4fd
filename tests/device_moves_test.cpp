// Moving: every element type, every container, every pair of devices, bit for bit and with all ties.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "arbitrary.hpp"
#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"
#include "two_backends.hpp"

namespace sluice {
namespace {

using tests::arbitrary;
using tests::bytes_of;

/// Three CUDA devices and three of another backend.
class DeviceMoves : public ::testing::Test, public tests::TwoBackends {
 protected:
  /// The CPU and all the others.
  std::vector<Device> all_devices() const {
    std::vector<Device> all = {cpu_device()};
    for (const char* backend : {"CUDA", other}) {
      for (int n = 0; n < 3; ++n) all.push_back(get_device(backend, n));
    }
    return all;
  }
};

TEST_F(DeviceMoves, EveryTypeAndShapeComesBackBitForBitFromEveryPairOfDevices) {
  for (const DType dtype : tests::kAllTypes) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 0, 2}, Shape{1}, Shape{7}, Shape{4, 3, 2}, Shape{1000}}) {
      const Tensor original = arbitrary(shape, dtype, 1);
      for (const Device& from : all_devices()) {
        const Tensor there = from(original);
        EXPECT_EQ(there.device(), from);
        for (const Device& to : all_devices()) {
          const Tensor moved = there | to;
          EXPECT_EQ(moved.device(), to);
          EXPECT_EQ(moved.dtype(), dtype);
          EXPECT_EQ(moved.shape(), shape);
          EXPECT_EQ(bytes_of(moved), bytes_of(original)) << from << " -> " << to;
          EXPECT_EQ(moved.same_handle(there), from == to) << "what is there already is the same object";
        }
      }
    }
  }
}

TEST_F(DeviceMoves, LargeTensorsCrossBackendsInPieces) {
  const Tensor original = arbitrary({3'000'001}, f32, 2);
  const Tensor there = original | get_device("CUDA", 1) | get_device(other, 2) | get_device("CUDA", 0);
  EXPECT_EQ(bytes_of(there), bytes_of(original));
}

TEST_F(DeviceMoves, ASliceMovesItsOwnElements) {
  const Tensor whole = arbitrary({5, 8}, i16, 3);
  const Tensor part = slice(whole, 1, 2, 6);
  EXPECT_EQ(bytes_of(part | get_device("CUDA", 2)), bytes_of(part));
  EXPECT_EQ(bytes_of(part | get_device("CUDA", 2) | get_device(other)), bytes_of(part));
}

struct Inner {
  Tensor weight = randn({3, 2});
  Buffer mean = Buffer(randn({3}));
  double rate = 0.5;
  std::string name = "inner";
  SLUICE_FIELDS(weight, mean, rate, name)
};

enum class Colour { red, green };

struct Everything {
  Tensor a = randn({2, 2});
  Tensor tied = a;
  Tensor integers = tensor({1, 2, 3});
  std::vector<Tensor> list = {randn({2}), Tensor(), a};
  std::map<std::string, Tensor> dictionary = {{"x", randn({1})}, {"y", a}};
  std::tuple<Tensor, int, std::string> tuple = {randn({4}), 7, "seven"};
  std::optional<Inner> inner = Inner{};
  std::shared_ptr<Inner> shared = std::make_shared<Inner>();
  std::shared_ptr<Inner> again = shared;
  std::array<Dense, 2> layers = {Dense(2, 3), Dense(3, 1)};
  Chain<Dense, Dropout> chain{Dense(2, 2, tanh), Dropout(0.5)};
  Generator generator = Generator(5);
  Colour colour = Colour::green;
  Tensor (*function)(const Tensor&, int) = softmax;
  SLUICE_FIELDS(a, tied, integers, list, dictionary, tuple, inner, shared, again, layers, chain, generator, colour,
                function)
};

/// Visits two values alike and compares their tensors.
template <class M>
void expect_moved(const M& original, const M& moved, const Device& device) {
  const std::vector<Tensor*> before = detail::tensor_places(detail::model_ref(original));
  const std::vector<Tensor*> after = detail::tensor_places(detail::model_ref(moved));
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(static_cast<bool>(*before[i]), static_cast<bool>(*after[i]));
    if (!*before[i]) continue;
    EXPECT_EQ(after[i]->device(), device);
    EXPECT_EQ(bytes_of(*after[i]), bytes_of(*before[i]));
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_EQ(before[i]->same_handle(*before[j]), after[i]->same_handle(*after[j])) << "a tie, or none";
    }
  }
}

TEST_F(DeviceMoves, ContainersKeepStructureTiesAndWhatIsNoTensor) {
  const Everything original;
  for (const Device& device : all_devices()) {
    const Everything moved = device(original);
    expect_moved(original, moved, device);
    EXPECT_EQ(moved.inner->mean.get().device(), device);
    EXPECT_EQ(bytes_of(moved.inner->mean.get()), bytes_of(original.inner->mean.get()));
    EXPECT_EQ(moved.shared, moved.again) << "one pointee stays one";
    EXPECT_EQ(std::get<1>(moved.tuple), 7);
    EXPECT_EQ(std::get<2>(moved.tuple), "seven");
    EXPECT_EQ(moved.inner->rate, 0.5);
    EXPECT_EQ(moved.generator, original.generator);
    EXPECT_EQ(moved.colour, Colour::green);
    EXPECT_EQ(moved.function, original.function);
    EXPECT_EQ(device_of(moved), device);
    EXPECT_EQ(original.a.device(), cpu_device()) << "the source is left alone";
    EXPECT_EQ(original.shared->weight.device(), cpu_device()) << "also behind a pointer";
    expect_moved(original, cpu(moved), cpu_device());
  }
}

TEST_F(DeviceMoves, AMoveToWhereTheModelIsGivesTheSameHandles) {
  const Device device = get_device("CUDA", 1);
  const Everything there = device(Everything());
  const Everything again = device(there);
  const auto before = detail::tensor_places(detail::model_ref(there));
  const auto after = detail::tensor_places(detail::model_ref(again));
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i]->same_handle(*after[i]));
  EXPECT_EQ(there.shared, again.shared) << "and the same pointees";
}

TEST_F(DeviceMoves, AModelSpreadOverDevicesMovesLeafByLeaf) {
  struct Two {
    Tensor a, b;
    SLUICE_FIELDS(a, b)
  };
  const Two spread{randn({3}) | get_device("CUDA", 0), randn({3}) | get_device("CUDA", 1)};
  try {
    device_of(spread);
    FAIL() << "no device holds it all";
  } catch (const DeviceError& error) {
    const std::string message = error.what();
    for (const char* word : {"a", "b", "CUDA device 0", "CUDA device 1"}) {
      EXPECT_NE(message.find(word), std::string::npos) << message;
    }
  }
  const Two moved = spread | get_device("CUDA", 1);
  EXPECT_FALSE(moved.a.same_handle(spread.a));
  EXPECT_TRUE(moved.b.same_handle(spread.b));
}

TEST_F(DeviceMoves, GpuNarrowsDoublesAndNothingElse) {
  struct Data {
    Tensor d = arange(0, 3, 1, f64), f = ones({2}, f32), h = ones({2}, f16), i = tensor({1, 2}),
           b = zeros({2}, boolean);
    SLUICE_FIELDS(d, f, h, i, b)
  };
  const Data moved = gpu(Data());
  EXPECT_EQ(device_of(moved), get_device("CUDA", 0));
  EXPECT_EQ(moved.d.dtype(), f32);
  EXPECT_EQ(moved.f.dtype(), f32);
  EXPECT_EQ(moved.h.dtype(), f16);
  EXPECT_EQ(moved.i.dtype(), i32);
  EXPECT_EQ(moved.b.dtype(), boolean);
  EXPECT_EQ(cpu(moved.d).to_vector<float>(), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(cpu(moved).d.dtype(), f32) << "cpu never widens";
  EXPECT_EQ(device_of(cu(Data())), get_device("CUDA", 0));
  const Data same = gpu(moved);
  EXPECT_TRUE(same.d.same_handle(moved.d));
}

TEST_F(DeviceMoves, ADeviceKeepsTypesUnlessToldOtherwise) {
  const Tensor x = arange(0, 3, 1, f64);
  const Device device = get_device("CUDA", 2);
  EXPECT_EQ(device(x).dtype(), f64);
  EXPECT_EQ(device.as(f16)(x).dtype(), f16);
  EXPECT_EQ(device.as(f16)(tensor({1, 2})).dtype(), i32);
  EXPECT_THROW(device.as(i32), TypeError);
}

TEST_F(DeviceMoves, ATypeTheDeviceLacksThrowsAndNamesTheTensor) {
  if (is_simulated) GTEST_SKIP() << "every CUDA device has doubles";
  setenv("VIRTUAL_GPU_F64", "0", 1);
  struct Data {
    Tensor f = ones({2}), wide = ones({2}, f64);
    SLUICE_FIELDS(f, wide)
  };
  const Data data;
  try {
    get_device()(data);
    FAIL() << "doubles moved to a device that has none";
  } catch (const Unsupported& error) {
    const std::string message = error.what();
    for (const char* word : {"wide", "f64", "CUDA device 0", "f32("}) {
      EXPECT_NE(message.find(word), std::string::npos) << message;
    }
  }
  EXPECT_EQ(gpu(data).wide.dtype(), f32);
  EXPECT_THROW(zeros({2}, f64, get_device()), Unsupported);
}

TEST_F(DeviceMoves, DevicesServeAsFunctions) {
  const Device device = get_device(other, 1);
  const Chain model = Chain(Dense(2, 3), Dense(3, 1));
  EXPECT_EQ(device_of(fmap(device, model)), device);
  const auto data = mapobs(device, std::tuple(randn({2, 6}), randn({1, 6})));
  for (const auto& [x, y] : DataLoader(data, {.batchsize = 4})) {
    EXPECT_EQ(x.device(), device);
    EXPECT_EQ(y.device(), device);
  }
}

TEST_F(DeviceMoves, OptimiserStateFollowsOrTheUpdateThrows) {
  struct Net {
    Dense layer{2, 3};
    SLUICE_FIELDS(layer)
  };
  Net model;
  OptimiserState state = setup(Adam{}, model);
  const Device device = get_device("CUDA", 1);
  Net there = device(model);
  const Net gradient = device(model);
  EXPECT_THROW(update(state, there, gradient), DeviceError);
  const OptimiserState moved = device(state);
  EXPECT_EQ(device_of(moved), device);
  EXPECT_EQ(device_of(setup(Adam{}, there)), device);
  EXPECT_EQ(device_of(cpu(moved)), cpu_device());
}

TEST_F(DeviceMoves, AnOperationOnTwoDevicesNamesBothAndTheFix) {
  const Tensor a = randn({2}), b = randn({2}) | get_device("CUDA", 1);
  try {
    a + b;
    FAIL() << "two devices were added";
  } catch (const DeviceError& error) {
    const std::string message = error.what();
    for (const char* word : {"CPU", "CUDA device 1", "| "}) EXPECT_NE(message.find(word), std::string::npos) << message;
  }
}

TEST_F(DeviceMoves, GradientsFlowThroughMovesBackToWhereTheyBelong) {
  const Device device = get_device("CUDA", 1);
  const Tensor x = tensor({1.0, 2.0, 3.0});
  const Tensor g = gradient([&](const Tensor& t) { return sum(cpu(device(t * 2)) * tensor({1.0, 0.0, 0.0})); }, x);
  EXPECT_EQ(g.device(), cpu_device());
  EXPECT_EQ(g.to_vector<float>(), (std::vector<float>{2, 0, 0}));
}

TEST_F(DeviceMoves, TensorsAndModelsPrintWhereverTheyAre) {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  std::ostringstream here, there;
  here << x;
  there << (x | get_device("CUDA", 2));
  EXPECT_EQ(here.str().substr(0, 16), "2×2 Tensor i32:");
  EXPECT_EQ(there.str().substr(0, there.str().find('\n')), "2×2 Tensor i32 on CUDA device 2:");
  EXPECT_EQ(here.str().substr(here.str().find('\n')), there.str().substr(there.str().find('\n')));
  const Dense layer(2, 3);
  EXPECT_EQ(summary(layer), summary(layer | get_device("CUDA", 1)));
}

TEST_F(DeviceMoves, AFileHasTheSameBytesFromEveryDevice) {
  const tests::TemporaryFolder folder;
  const Chain model = Chain(Dense(4, 3), Dense(3, 2));
  const auto bytes_from = [&](const Device& device) {
    const std::string path = (folder / "model.safetensors");
    save(path, device(model));
    return tests::content_of(path);
  };
  const std::string expected = bytes_from(cpu_device());
  for (const Device& device : all_devices()) EXPECT_EQ(bytes_from(device), expected) << device;
  Chain other = Chain(Dense(4, 3), Dense(3, 2)) | get_device("CUDA", 2);
  load((folder / "model.safetensors"), other);
  EXPECT_EQ(device_of(other), get_device("CUDA", 2)) << "loading leaves a model where it is";
  expect_moved(model, cpu(other), cpu_device());
}

}  // namespace
}  // namespace sluice
