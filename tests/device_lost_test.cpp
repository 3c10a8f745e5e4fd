// A device that is lost at any call: one exception that names the last kernels, then short ones, and the CPU goes on.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "simulated/controls.hpp"
#include "sluice/sluice.hpp"
#include "src/device/plugin_device.hpp"
#include "src/device/recent_kernels.hpp"

namespace sluice {
namespace {

using detail::PluginDevice;
using detail::Storage;

constexpr int kNothingLost = 42, kNoKernels = 43;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using Step = void (*)(PluginDevice&);

std::string message_of(Step step, PluginDevice& device) {
  try {
    step(device);
  } catch (const DeviceLost& error) {
    return error.what();
  }
  return {};
}

/// Loses device 0 at the call of this number since its probe; 0, or the number of what was not as it should be.
int lose_at(int call, Step step) {
  if (!functional("Virtual")) return 1;
  auto& device = dynamic_cast<PluginDevice&>(*get_device("Virtual", 0).impl());
  auto& other = dynamic_cast<PluginDevice&>(*get_device("Virtual", 1).impl());
  const tests::VirtualGpu gpu(tests::plugin_path("virtual"));
  gpu.set_faults(("lost:" + std::to_string(call)).c_str());
  const std::string first = message_of(step, device);
  if (first.empty()) return kNothingLost;
  const std::string second = message_of(step, device);
  if (!has(first, "Virtual device 0") || !has(first, "go on with the CPU")) return 3;
  // The probe was the first kernel of the device.
  if (!has(first, "The last kernels") || !has(first, "sluice_")) return 4;
  if (!has(second, "the device was lost") || has(second, "last kernels")) return 5;
  if (sum(ones({4})).item<float>() != 4) return 6;
  if (!message_of(step, other).empty()) return 7;
  try {
    get_device("Virtual", 0);
    return 8;
  } catch (const DeviceError& error) {
    if (!has(error.what(), "lost")) return 9;
  }
  return 0;
}

class DeviceLoss : public ::testing::Test {
 protected:
  DeviceLoss() {
    setenv("SLUICE_BACKEND_PATH", tests::plugin_folder("virtual").c_str(), 1);
    setenv("SLUICE_BACKENDS", "virtual", 1);
  }
  /// A lost device stays lost, so each call is lost in a process of its own.
  static int in_child(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      int code = 2;
      try {
        code = body();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static int lose_at_every_call(Step step, int stride) {
    int calls = 0;
    for (int call = 1;; call += stride) {
      const int code = in_child([&] { return lose_at(call, step); });
      if (code == kNothingLost) return calls;
      EXPECT_EQ(code, 0) << "call " << call;
      if (code != 0) return calls;
      ++calls;
    }
  }
};

/// What a step does with a device, as far as the virtual GPU's one kernel goes.
void run_step(PluginDevice& device) {
  sluice_kernel* const kernel = device.compile("text", "sluice_probe");
  std::vector<float> numbers(64, 1);
  const std::int32_t count = 64;
  struct Held {
    PluginDevice& device;
    Storage* storage;
    ~Held() { device.free(storage); }
  };
  const Held in{device, device.allocate(256)}, out{device, device.allocate(256)};
  device.write(*in.storage, 0, numbers.data(), 256);
  const auto argument = [](const Storage& s) {
    return sluice_argument{reinterpret_cast<sluice_memory>(s.data), 0, nullptr, 0, 0};
  };
  const sluice_argument arguments[] = {argument(*out.storage), argument(*in.storage), {0, 0, &count, sizeof count, 0}};
  for (int i = 0; i < 3; ++i) device.launch(kernel, 1, 64, arguments);
  device.read(*out.storage, 0, numbers.data(), 256);
}

TEST_F(DeviceLoss, AtAnyCallIsToldOnceInFullAndThenInShort) { EXPECT_GT(lose_at_every_call(run_step, 1), 7); }

void run_training_step(PluginDevice& impl) {
  const Device device(&impl);
  seed(1);
  auto model = device(Chain{Dense{3, 4, relu}, Dense{4, 2}});
  auto state = setup(Adam{.eta = 1e-3}, model);
  const Tensor x = ones({3, 5}) | device;
  const auto [loss, gradients] = withgradient([&](auto& m) { return sum(m(x)); }, model);
  update(state, model, gradients);
  static_cast<void>(loss | cpu_device());
}

TEST_F(DeviceLoss, AtCallsOfATrainingStep) {
  const int code = in_child([] {
    try {
      const Tensor two = (ones({1}) | get_device("Virtual", 0)) * 2;
      return (two | cpu_device()).item<float>() == 2 ? 0 : 1;
    } catch (const DeviceError&) {
      return kNoKernels;
    }
  });
  if (code == kNoKernels) GTEST_SKIP() << "the virtual GPU compiles no kernels";
  ASSERT_EQ(code, 0);
  EXPECT_GT(lose_at_every_call(run_training_step, 7), 4);
}

TEST(RecentKernels, AreTheLastEight) {
  detail::RecentKernels recent;
  EXPECT_EQ(recent.text(), "");
  int places[10];
  const auto kernel = [&](int k) { return reinterpret_cast<const sluice_kernel*>(&places[k]); };
  for (int k = 0; k < 9; ++k) recent.note_name(kernel(k), "k" + std::to_string(k));
  recent.note_launch(kernel(3), "map");
  recent.note_launch(kernel(9), "sum");
  EXPECT_EQ(recent.text(), "k3 (map), a kernel (sum)");
  for (int k = 0; k < 9; ++k) recent.note_launch(kernel(k), "map");
  EXPECT_EQ(recent.text(), "k1 (map), k2 (map), k3 (map), k4 (map), k5 (map), k6 (map), k7 (map), k8 (map)");
}

}  // namespace
}  // namespace sluice
