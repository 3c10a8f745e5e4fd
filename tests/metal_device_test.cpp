// The Metal backend under the library, on the stand-in with two devices: one that shares the host's memory and one that
// does not.
#include <gtest/gtest.h>

#if defined(SLUICE_METAL_PLUGIN) && defined(SLUICE_TEST_SIMULATED_METAL)
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "sluice/sluice.hpp"
#include "src/device/plugin_device.hpp"
#include "temporary_folder.hpp"
#include "tests/simulated_driver.hpp"
#include "tests/simulated_metal.hpp"

namespace sluice {
namespace {

/// The library with all backends of this build.
class Metal : public ::testing::Test {
 protected:
  Metal() {
    setenv("VIRTUAL_METAL_COUNT", "2", 1);
    setenv("VIRTUAL_METAL_KIND", "integrated,discrete", 1);
    setenv("VIRTUAL_CUDA_COUNT", "1", 1);
    setenv("SLUICE_BACKEND_PATH", std::filesystem::path(SLUICE_METAL_PLUGIN).parent_path().c_str(), 1);
    unsetenv("SLUICE_BACKENDS");
    unsetenv("SLUICE_GPU_BACKEND");
    tests::use_simulated_metal();
  }
  static std::vector<Device> both() { return {get_device("Metal", 0), get_device("Metal", 1)}; }
};

TEST_F(Metal, IsChosenWhereItIsTheBest) {
  EXPECT_TRUE(functional("Metal")) << why("Metal");
  EXPECT_EQ(devices("Metal").size(), 2U);
  EXPECT_EQ(get_device(), get_device("Metal", 1)) << "a discrete device comes before an integrated one";
  EXPECT_EQ(get_device("Metal").name(), "Simulated GPU 0");
  EXPECT_NE(get_device("Metal").native_handle(), 0U);
}

/// Whether two tensors on the CPU have the same bits.
bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

/// Many of the bit patterns that an element can have.
Tensor patterns(DType dtype, std::int64_t size) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size) * dtype.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(dtype == boolean ? i * 7 / 3 % 2 : i * 31 % 251);
  }
  return from_bytes(bytes.data(), bytes.size(), {size}, dtype);
}

// OpenCL takes part where the machine has it.
TEST_F(Metal, MovesEveryTypeBetweenEveryPairOfBackends) {
#ifdef SLUICE_TEST_SIMULATED
  tests::use_simulated_cuda();
#endif
  std::vector<Device> all = both();
  all.push_back(cpu_device());
  for (const char* const other : {"CUDA", "OpenCL"}) {
    if (functional(other)) all.push_back(get_device(other));
  }
  EXPECT_GE(all.size(), 3U);
  for (const DType dtype : {boolean, u8, i8, i16, i32, i64, f16, bf16, f32}) {
    for (const std::int64_t size : {0, 1, 255, 4099}) {
      const Tensor source = patterns(dtype, size);
      for (const Device& from : all) {
        const Tensor there = from(source);
        for (const Device& to : all) {
          const Tensor further = to(there);
          EXPECT_EQ(further.device(), to);
          EXPECT_TRUE(same_bits(cpu(further), source)) << dtype.name() << " x " << size << ", " << from << " to " << to;
        }
      }
    }
  }
}

TEST_F(Metal, MovesLargeTensorsInPieces) {
  const Tensor source = patterns(f32, (std::int64_t{9} << 20) / 4 + 3);
  EXPECT_TRUE(same_bits(cpu(both()[1](both()[0](source))), source));
  EXPECT_TRUE(same_bits(cpu(both()[0](both()[1](source))), source));
}

struct Net {
  Dense hidden{64, 32, relu};
  Dense out{32, 10};
  Tensor operator()(const Tensor& x) const { return out(hidden(x)); }
  SLUICE_FIELDS(hidden, out)
};

TEST_F(Metal, DoublesAreRefusedAtTheMoveWithTheTensorsName) {
  for (const Device& device : both()) {
    Net net;
    net.out = f64(net.out);
    try {
      (void)device(net);
      FAIL() << "doubles moved to " << device;
    } catch (const Unsupported& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("out.weight"), std::string::npos) << message;
      EXPECT_NE(message.find("has no f64; convert first, for example f32(model)"), std::string::npos) << message;
    }
    EXPECT_EQ(device(f32(net)).out.weight.dtype(), f32);
  }
  EXPECT_EQ(gpu(f64(Net{})).out.weight.dtype(), f32) << "gpu narrows";
}

TEST_F(Metal, SaysThatMemoryIsOut) {
  for (const Device& device : both()) {
    try {
      device.impl()->free(device.impl()->allocate(std::size_t{1} << 31));
      FAIL() << "a device with so much memory";
    } catch (const OutOfMemory& error) {
      EXPECT_NE(std::string(error.what()).find("the largest that Metal gives"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(same_bits(cpu(device(patterns(f32, 10))), patterns(f32, 10))) << "and goes on";
  }
}

TEST_F(Metal, LoadersMakeTheirBatchesThere) {
  const Tensor x = reshape(arange(0, 99, 1, f32), {3, 33}), y = arange(33);
  for (const Device& device : both()) {
    for (const int workers : {0, 3}) {
      const LoaderOptions options{.batchsize = 7, .shuffle = true, .seed = 5, .workers = workers};
      auto plain = DataLoader(std::tuple(x, y), options);
      auto moved = device(DataLoader(std::tuple(x, y), options));
      for (int epoch = 0; epoch < 2; ++epoch) {
        std::vector<Tensor> kept;
        for (const auto& [a, b] : moved) {
          EXPECT_EQ(b.device(), device);
          kept.push_back(a + 1);
        }
        std::size_t batch = 0;
        for (const auto& [a, b] : plain) EXPECT_TRUE(same_bits(cpu(kept.at(batch++)), a + 1));
        EXPECT_EQ(batch, kept.size());
      }
    }
  }
}

TEST_F(Metal, WhatIsSavedThereIsReadAnywhere) {
  const tests::TemporaryFolder folder;
  const std::string file = (folder.path() / "net.safetensors").string();
  const Net net;
  save(file, both()[1](net));
  Net here, there = both()[0](Net{});
  load(file, here);
  load(file, there);
  EXPECT_EQ(device_of(here), cpu_device());
  EXPECT_EQ(device_of(there), both()[0]) << "a model stays where it is";
  EXPECT_TRUE(same_bits(here.hidden.weight, net.hidden.weight));
  EXPECT_TRUE(same_bits(cpu(there.out.weight), net.out.weight));
}

/// The mean loss of an epoch over the digits.
double train_digits(const Device& device) {
  const Tensor table = read_csv(SLUICE_SOURCE_FOLDER "/data/digits.csv.gz");
  const Tensor images = slice(table, 0, 0, 64) / 16, labels = cast(reshape(slice(table, 0, 64, 65), {-1}), i64);
  seed(42);
  Net model = Net{} | device;
  auto loader = DataLoader({images, labels}, {.batchsize = 128, .shuffle = true}) | device;
  auto state = setup(Adam{.eta = 1e-3}, model);
  const auto loss = [](const auto& m, const Tensor& x, const Tensor& y) { return logitcrossentropy(m(x), y); };
  return train(loss, model, loader, state, {.epochs = 1, .progress = Progress::none});
}

TEST_F(Metal, AnEpochOfDigitsIsTheCpuOne) {
  const double expected = train_digits(cpu_device());
  EXPECT_GT(expected, 0.5);
  EXPECT_LT(expected, 2.5);
  for (const Device& device : both()) EXPECT_NEAR(train_digits(device), expected, 1e-4) << device;
}

}  // namespace
}  // namespace sluice
#else
TEST(Metal, Device) { GTEST_SKIP() << "built without the backends, or where nothing stands in for Metal"; }
#endif
