// Loaders whose batches are made on a device.
#include <gtest/gtest.h>

#include <cstdlib>

#include "sluice/sluice.hpp"
#include "two_backends.hpp"

namespace sluice {
namespace {

class DeviceLoader : public ::testing::Test, public tests::TwoBackends {};

/// All elements of the batches of an epoch, in order.
template <class Loader>
std::vector<std::vector<double>> epoch(Loader& loader) {
  std::vector<std::vector<double>> batches;
  for (const auto& [x, y] : loader) batches.push_back(cast(cpu(x), f64).template to_vector<double>());
  return batches;
}

DataLoader<std::tuple<Tensor, Tensor>> pair_loader(LoaderOptions options) {
  return DataLoader(std::tuple(reshape(arange(0, 99, 1, f64), {3, 33}), arange(33)), options);
}

TEST_F(DeviceLoader, GivesTheSameBatchesOnTheDeviceForAnyNumberOfWorkers) {
  for (const int workers : {0, 1, 8}) {
    for (const bool shuffle : {false, true}) {
      const LoaderOptions options{.batchsize = 13, .shuffle = shuffle, .seed = 7, .workers = workers};
      auto plain = pair_loader(options);
      auto moved = get_device("CUDA", 1)(pair_loader(options));
      static_assert(std::is_same_v<decltype(plain), decltype(moved)>, "moving keeps the type");
      EXPECT_EQ(moved.size(), 3);
      const auto first = epoch(plain), second = epoch(plain);
      EXPECT_EQ(epoch(moved), first);
      EXPECT_EQ(epoch(moved), second);
      if (shuffle) {
        EXPECT_NE(first, second) << "a new order each epoch";
      }
    }
  }
}

TEST_F(DeviceLoader, GpuNarrowsDoublesAndKeepsIntegersAndHalves) {
  auto loader = gpu(DataLoader(std::tuple(reshape(arange(0, 99, 1, f64), {3, 33}), arange(33), ones({1, 33}, f16)),
                               {.batchsize = 13}));
  for (const auto& [wide, integers, half] : loader) {
    EXPECT_EQ(wide.dtype(), f32);
    EXPECT_EQ(integers.dtype(), i64);
    EXPECT_EQ(half.dtype(), f16);
    EXPECT_EQ(wide.device(), get_device("CUDA"));
  }
  auto kept = get_device("CUDA", 2)(pair_loader({.batchsize = 13}));
  for (const auto& [wide, integers] : kept) EXPECT_EQ(wide.dtype(), f64) << "a device keeps types";
  auto back = cpu(gpu(pair_loader({.batchsize = 13})));
  for (const auto& [wide, integers] : back) {
    EXPECT_EQ(wide.device(), cpu_device());
    EXPECT_EQ(wide.dtype(), f64);
  }
}

TEST_F(DeviceLoader, KeptBatchesStayValid) {
  auto plain = pair_loader({.batchsize = 5});
  auto loader = get_device("CUDA", 2)(pair_loader({.batchsize = 5}));
  std::vector<Tensor> kept;
  for (const auto& [x, y] : loader) kept.push_back(x);
  const auto expected = epoch(plain);
  ASSERT_EQ(kept.size(), expected.size());
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(cpu(kept[i]).to_vector<double>(), expected[i]);
}

TEST_F(DeviceLoader, HoldsAboutTwoBatchesWhenNoneIsKept) {
  for (const int workers : {0, 4}) {
    const Device device = get_device("CUDA", workers == 0 ? 0 : 1);
    const std::size_t batch = std::size_t{1} << 20;
    auto loader =
        device(DataLoader(zeros({static_cast<std::int64_t>(batch / 4), 40}), {.batchsize = 1, .workers = workers}));
    for (const Tensor& x : loader) EXPECT_EQ(x.device(), device);
    EXPECT_EQ(memory_stats(device).in_use, 0U);
    EXPECT_LE(memory_stats(device).peak, batch * 9 / 4);
    EXPECT_GE(memory_stats(device).peak, batch);
  }
}

TEST_F(DeviceLoader, AContainerThatHoldsALoaderMovesItToo) {
  struct Job {
    Dense model{3, 2};
    DataLoader<std::tuple<Tensor, Tensor>> loader = pair_loader({.batchsize = 10});
    SLUICE_FIELDS(model, loader)
  };
  const Device device = get_device(other, 1);
  Job job = device(Job());
  EXPECT_EQ(device_of(job.model), device);
  for (const auto& [x, y] : job.loader) EXPECT_EQ(y.device(), device);
}

TEST_F(DeviceLoader, AnErrorWhileMovingReachesTheLoopWithTheBatch) {
  if (is_simulated) GTEST_SKIP() << "every CUDA device has doubles";
  setenv("VIRTUAL_GPU_F64", "0", 1);
  auto loader = get_device("CUDA")(pair_loader({.batchsize = 10}));
  try {
    for (const auto& batch : loader) (void)batch;
    FAIL() << "doubles moved to a device that has none";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("batch 0"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("f64"), std::string::npos) << error.what();
  }
}

TEST_F(DeviceLoader, AnErrorOfAnItemReachesTheLoop) {
  for (const int workers : {0, 3}) {
    const auto data = mapobs(
        [](const Tensor& x) {
          if (x.item<std::int64_t>() == 5) throw std::runtime_error("item five is bad");
          return x;
        },
        arange(8));
    auto loader = get_device("CUDA")(DataLoader(data, {.batchsize = 1, .workers = workers}));
    int seen = 0;
    try {
      for (const Tensor& x : loader) seen += x.numel() == 1 ? 1 : 0;
      FAIL() << "the error was swallowed";
    } catch (const std::exception& error) {
      EXPECT_EQ(seen, 5);
      const std::string message = error.what();
      EXPECT_NE(message.find("item five is bad"), std::string::npos) << message;
      EXPECT_EQ(message.find("batch 5"), message.rfind("batch 5")) << "said once: " << message;
    }
  }
}

TEST_F(DeviceLoader, LeavingEarlyLeaksNothing) {
  const Device device = get_device("CUDA", 1);
  auto loader = device(DataLoader(zeros({50000, 20}), {.batchsize = 1, .workers = 2}));
  for (const Tensor& x : loader) {
    if (x.numel() > 0) break;
  }
  EXPECT_EQ(memory_stats(device).in_use, 0U);
}

TEST_F(DeviceLoader, DeviceIteratorMovesAnyRangeAndLetsGoFirst) {
  const Device device = get_device("CUDA", 1);
  const std::vector<Tensor> batches(10, zeros({1 << 18}));  // 1 MiB each
  std::vector<Tensor> kept;
  int count = 0;
  for (Tensor& x : device_iterator(device, batches)) {
    EXPECT_EQ(x.device(), device);
    if (++count == 3) kept.push_back(x);
  }
  EXPECT_EQ(count, 10);
  EXPECT_LE(memory_stats(device).peak, std::size_t{9} << 18) << "one at a time, and the kept one";
  EXPECT_EQ(cpu(kept.front()).to_vector<float>(), std::vector<float>(1 << 18, 0.0F));
}

}  // namespace
}  // namespace sluice
