// Devices beside forks, exits, threads, faults and limits.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "processes.hpp"
#include "simulated/virtual_gpu_controls.h"
#include "sluice/sluice.hpp"

namespace sluice {
namespace {

constexpr const char* kPlugin = SLUICE_TEST_PLUGINS "/cuda/libsluice-cuda.so";

/// A control of the virtual CUDA driver, which is loaded already or is now.
template <class F>
F* control(const char* name) {
  void* const handle = dlopen(kPlugin, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<F*>(dlsym(handle, name));
}

virtual_gpu_counters counters() {
  virtual_gpu_counters result{};
  control<void(virtual_gpu_counters*)>("virtual_gpu_read_counters")(&result);
  return result;
}

void set_faults(const char* plan) { ASSERT_EQ(control<std::int32_t(const char*)>("virtual_gpu_set_faults")(plan), 0); }

std::uint64_t live_blocks(std::uint32_t device) {
  std::uint64_t blocks = 0, bytes = 0;
  control<void(std::uint32_t, std::uint64_t*, std::uint64_t*)>("virtual_gpu_live")(device, &blocks, &bytes);
  return blocks;
}

class DeviceProcess : public ::testing::Test {
 protected:
  DeviceProcess() {
    setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/cuda", 1);
    setenv("VIRTUAL_GPU_COUNT", "3", 1);
  }
};

// ---- What is called, and from where.

TEST_F(DeviceProcess, TheCpuMakesNoVendorCall) {
  const Tensor x = randn({10}) | cpu_device();
  EXPECT_EQ(device_of(cpu(x)), cpu_device());
  EXPECT_EQ(get_device("CPU"), cpu_device());
  EXPECT_EQ(counters().all, 0U);
}

TEST_F(DeviceProcess, EverythingWorksFromAFreshThreadWithAnotherCurrentDevice) {
  const Device device = get_device("CUDA", 2);
  Tensor x = device(arange(1000));
  std::thread([&] {
    control<void(std::int32_t)>("virtual_gpu_set_current")(1);
    EXPECT_EQ(cpu(x).to_vector<std::int64_t>()[999], 999);
    std::ostringstream text;
    text << x;
    EXPECT_NE(text.str().find("on CUDA device 2"), std::string::npos);
    Tensor y = x | get_device("CUDA", 0);
    EXPECT_EQ(cpu(y).to_vector<std::int64_t>()[7], 7);
    y = Tensor();
    x = Tensor();
    empty_cache(device);
    EXPECT_EQ(control<std::int32_t()>("virtual_gpu_get_current")(), 1) << "the thread's device is left as it was";
  }).join();
  EXPECT_EQ(counters().traps, 0U);
  EXPECT_EQ(counters().overlaps, 0U);
  EXPECT_EQ(live_blocks(2), 0U);
}

TEST_F(DeviceProcess, ManyThreadsShareADevice) {
  const Device one = get_device("CUDA", 1), two = get_device("CUDA", 2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        const Tensor x = full({64 + t}, static_cast<double>(i)) | (t % 2 == 0 ? one : two);
        const Tensor y = x | (t % 2 == 0 ? two : one);
        EXPECT_EQ(cpu(y).to_vector<float>(),
                  std::vector<float>(static_cast<std::size_t>(64 + t), static_cast<float>(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counters().overlaps, 0U);
  EXPECT_EQ(counters().traps, 0U);
}

// ---- Faults.

// Whatever fails at whichever call: a typed error or success, the current device as before, nothing leaked.
TEST_F(DeviceProcess, EveryFaultIsATypedErrorThatLeavesNothingBehind) {
  const Device device = get_device("CUDA", 1), other = get_device("CUDA", 2);
  std::vector<float> numbers(3000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const Tensor x = from(numbers);
  control<void(std::int32_t)>("virtual_gpu_set_current")(0);
  int failures = 0;
  for (const char* kind : {"alloc", "write", "read", "peer-copy", "free", "copy", "throw"}) {
    for (int n = 1; n <= 4; ++n) {
      empty_cache(device);
      empty_cache(other);
      set_faults((std::string(kind) + ":" + std::to_string(n)).c_str());
      try {
        const Tensor there = device(x);
        const Tensor beside = other(there);
        EXPECT_EQ(cpu(beside).to_vector<float>(), numbers);
      } catch (const DeviceError& error) {
        ++failures;
        EXPECT_NE(std::string(error.what()).find("CUDA device"), std::string::npos) << error.what();
      }
      EXPECT_EQ(control<std::int32_t()>("virtual_gpu_get_current")(), 0) << kind << ' ' << n;
      EXPECT_EQ(memory_stats(device).in_use, 0U);
      EXPECT_EQ(memory_stats(other).in_use, 0U);
    }
  }
  EXPECT_GE(failures, 6);
  set_faults("");
  EXPECT_EQ(cpu(other(device(x))).to_vector<float>(), numbers) << "all is well again";
}

TEST_F(DeviceProcess, ALostDeviceSaysSoEverAfterAndOthersWork) {
  const Device device = get_device("CUDA", 1);
  Tensor kept = device(ones({4}));
  set_faults("lost:1");
  EXPECT_THROW(device(ones({4})), DeviceLost);
  EXPECT_THROW(device(ones({4})), DeviceLost);
  EXPECT_THROW(cpu(kept), DeviceLost);
  EXPECT_THROW(get_device("CUDA", 1), DeviceError);
  kept = Tensor();  // freed without a call
  const Device other = get_device("CUDA", 2);
  EXPECT_EQ(cpu(other(ones({4}))).to_vector<float>(), std::vector<float>(4, 1.0F));
}

TEST_F(DeviceProcess, ACopyThatComesLateSeesWhatItsSourceHeld) {
  const Device device = get_device("CUDA", 0);
  std::vector<float> numbers(1000, 1.0F);
  const Tensor here = from(numbers);
  const Tensor there = device(here);
  EXPECT_EQ(cpu(there).to_vector<float>(), numbers);
}

// ---- Memory.

TEST_F(DeviceProcess, RunningOutIsATypedErrorAndTheNextSmallerStepWorks) {
  setenv("VIRTUAL_GPU_MEMORY", "16777216", 1);
  const Device device = get_device("CUDA", 0);
  const Tensor kept = device(zeros({1 << 20}));  // 4 MiB
  try {
    device(zeros({4 << 20}));  // 16 MiB
    FAIL() << "more than there is";
  } catch (const OutOfMemory& error) {
    const std::string message = error.what();
    for (const char* words : {"asked for 16.0 MiB", "in use", "free", "limit"}) {
      EXPECT_NE(message.find(words), std::string::npos) << message;
    }
  }
  EXPECT_EQ(device(zeros({1 << 20})).numel(), 1 << 20);
}

TEST_F(DeviceProcess, KeptBlocksAreGivenBackBeforeGivingUp) {
  setenv("VIRTUAL_GPU_MEMORY", "16777216", 1);
  const Device device = get_device("CUDA", 0);
  for (int i = 0; i < 2; ++i) device(zeros({1 << 20}));
  { const Tensor a = device(zeros({1 << 20})), b = device(zeros({1 << 20})); }
  EXPECT_EQ(device(zeros({3 << 20})).numel(), 3 << 20) << "12 MiB of 16, while 8 MiB were kept";
}

TEST_F(DeviceProcess, ALimitHolds) {
  const Device device = get_device("CUDA", 0);
  set_memory_limit(device, 1 << 20);
  EXPECT_THROW(device(zeros({1 << 20})), OutOfMemory);
  EXPECT_EQ(device(zeros({1 << 17})).numel(), 1 << 17);
  EXPECT_EQ(memory_stats(device).limit, std::size_t{1} << 20);
  set_memory_limit(device, std::nullopt);
  EXPECT_EQ(device(zeros({1 << 20})).numel(), 1 << 20);
}

TEST_F(DeviceProcess, MemoryIsFlatOverSteps) {
  const Device device = get_device("CUDA", 1);
  const auto step = [&] {
    const Tensor x = device(zeros({1000})), y = device(zeros({37, 5}));
    return cpu(x).numel() + cpu(y).numel();
  };
  for (int i = 0; i < 10; ++i) step();
  const MemoryStats before = memory_stats(device);
  const std::uint64_t allocations = counters().calls[VIRTUAL_GPU_ALLOC];
  for (int i = 0; i < 10'000; ++i) step();
  EXPECT_EQ(memory_stats(device).in_use + memory_stats(device).cached, before.in_use + before.cached);
  if (memory_stats(device).hits > 0) {
    EXPECT_EQ(counters().calls[VIRTUAL_GPU_ALLOC], allocations);
  }
}

TEST_F(DeviceProcess, ReportsNameDevicesAndLayers) {
  struct Net {
    Dense hidden{100, 10};
    Dense out{10, 1};
    SLUICE_FIELDS(hidden, out)
  };
  const Device device = get_device("CUDA", 1);
  const Net model = device(Net());
  const std::string devices = memory_report(), layers = memory_report(model);
  EXPECT_NE(devices.find("CUDA device 1: "), std::string::npos) << devices;
  for (const char* words : {"hidden", "3.9 KiB", "2 arrays", "out", "44 bytes", "total", "CUDA device 1"}) {
    EXPECT_NE(layers.find(words), std::string::npos) << layers;
  }
}

// ---- Fork and exit.

TEST_F(DeviceProcess, AForkedChildUsesTheCpuAndGetsOneClearError) {
  const Device device = get_device("CUDA", 1);
  const Tensor x = device(ones({4}));
  EXPECT_EQ(testing::exit_code_of_child([&] {
              const Tensor y = ones({1000}) + ones({1000});
              if (sum(y).item<float>() != 2000) return false;
              try {
                cpu(x);
                return false;
              } catch (const DeviceLost& error) {
                if (std::string(error.what()).find("forked") == std::string::npos) return false;
              }
              return get_device() == cpu_device();
            }),
            0);
  EXPECT_EQ(cpu(x).to_vector<float>(), std::vector<float>(4, 1.0F)) << "the parent goes on";
}

TEST_F(DeviceProcess, AChildForkedBeforeTheFirstQuestionHasItsOwnDevices) {
  EXPECT_EQ(testing::exit_code_of_child([&] {
              return cpu(get_device("CUDA", 2)(ones({4}))).to_vector<float>() == std::vector<float>(4, 1.0F);
            }),
            0);
}

TEST_F(DeviceProcess, AForkWhileOthersUseTheDeviceDoesNotHang) {
  if (testing::kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer lets no forked child go on";
  const Device device = get_device("CUDA", 1);
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) cpu(device(ones({100})));
    });
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(testing::exit_code_of_child([&] {
                return sum(ones({10})).item<float>() == 10 && get_device() == cpu_device() && !functional("CUDA");
              }),
              0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DeviceProcess, AForkWhileOthersAskForDevicesDoesNotHang) {
  if (testing::kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer lets no forked child go on";
  get_device();
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) devices("CUDA");
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(testing::exit_code_of_child([] { return get_device() == cpu_device(); }), 0);
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

/// Exits with tensors in static memory and a detached thread at work. What is freed on the second device is not kept
/// but given back, which after the driver's end would be a call too many.
int exit_with_everything_alive() {
  static Tensor before_the_driver;
  const Device device = get_device("CUDA", 1), other = get_device("CUDA", 2);
  static const Tensor after_the_driver = device(ones({10}));
  before_the_driver = other(ones({20}));
  set_memory_limit(other, 1);
  thread_local const Tensor of_the_thread = device(ones({5}));
  std::thread([device] {
    thread_local const Tensor cached = device(ones({7}));
    try {
      while (true) cpu(device(ones({100})));
    } catch (const DeviceLost&) {
    }
  }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return of_the_thread.numel() == 5 ? 0 : 1;
}

TEST_F(DeviceProcess, ExitWithLivingTensorsAndThreadsIsClean) {
  setenv("VIRTUAL_GPU_FAULTS", "strict-exit", 1);
  EXPECT_EXIT(std::exit(exit_with_everything_alive()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice
