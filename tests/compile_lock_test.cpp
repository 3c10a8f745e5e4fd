// While one thread compiles, others go on submitting to the same device.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "plugin_overlay.hpp"
#include "simulated/controls.hpp"
#include "src/device/device_probe.hpp"

namespace sluice {
namespace {

using detail::PluginDevice;

const sluice_backend& virtual_table() { return tests::table_of(tests::plugin_path("virtual")); }

/// A compiler that ends only when another thread has done something else, or after a minute.
struct SlowCompiler {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_compiling = false, may_end = false, has_waited_in_vain = false;
};
SlowCompiler slow;

sluice_status compile_slowly(sluice_device* device, const sluice_source* source, sluice_kernel** kernel) {
  {
    std::unique_lock lock(slow.mutex);
    slow.is_compiling = true;
    slow.changed.notify_all();
    slow.has_waited_in_vain = !slow.changed.wait_for(lock, std::chrono::minutes(1), [] { return slow.may_end; });
  }
  return virtual_table().compile(device, source, kernel);
}

/// Runs the probe's kernel, compiled before, and looks at its numbers.
bool computes(PluginDevice& device, sluice_kernel* kernel) {
  const std::int32_t count = 4;
  float numbers[] = {1, 2, 3, 4};
  detail::Storage *const in = device.allocate(sizeof numbers), *const out = device.allocate(sizeof numbers);
  device.write(*in, 0, numbers, sizeof numbers);
  const auto argument = [](const detail::Storage& s) {
    return sluice_argument{reinterpret_cast<sluice_memory>(s.data), 0, nullptr, 0, 0};
  };
  const sluice_argument arguments[] = {argument(*out), argument(*in), {0, 0, &count, sizeof count, 0}};
  device.launch(kernel, 1, 4, arguments);
  device.read(*out, 0, numbers, sizeof numbers);
  device.free(in);
  device.free(out);
  return numbers[0] == 3 && numbers[1] == 7 && numbers[2] == 11 && numbers[3] == 15;
}

TEST(CompileLock, OthersSubmitWhileOneCompiles) {
  sluice_backend table = virtual_table();
  table.compile = compile_slowly;
  PluginDevice& device = tests::device_behind(table);
  sluice_kernel* kernel = nullptr;
  std::thread compiler([&] { kernel = device.compile("text", "sluice_probe"); });
  {
    std::unique_lock lock(slow.mutex);
    slow.changed.wait(lock, [] { return slow.is_compiling; });
  }
  detail::Storage* const block = device.allocate(16);
  const float sent[4] = {1, 2, 3, 4};
  float received[4] = {};
  device.write(*block, 0, sent, sizeof sent);
  device.read(*block, 0, received, sizeof received);
  device.free(block);
  EXPECT_EQ(received[3], 4);
  {
    const std::lock_guard lock(slow.mutex);
    EXPECT_FALSE(slow.has_waited_in_vain) << "the queue was locked while the compiler ran";
    slow.may_end = true;
    slow.changed.notify_all();
  }
  compiler.join();
  EXPECT_TRUE(computes(device, kernel));
}

TEST(CompileLock, ManyThreadsCompileAndLaunchAtOnce) {
  const tests::VirtualGpu gpu(tests::plugin_path("virtual"));
  PluginDevice& device = tests::device_behind(virtual_table(), 1);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 30; ++round) {
        sluice_kernel* const kernel = device.compile("text", "sluice_probe");
        if (!computes(device, kernel)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(device.compiled_kernels(), 180u);
  EXPECT_EQ(gpu.counters().overlaps, 0u) << "all other calls come one at a time";
}

}  // namespace
}  // namespace sluice
