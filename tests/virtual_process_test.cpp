// Threads, forked processes and the end of a process, as the virtual devices that other tests rely on see them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "tests/simulated/plugin.hpp"

namespace sluice::tests {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// The wait status of a forked child that ends with what `body` returns.
template <class Body>
int status_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(VirtualProcess, AnAbortingLibraryEndsItsProcess) {
  const int status = status_of_child([] {
    std::signal(SIGABRT, SIG_DFL);
    Plugin plugin;
    plugin.open();
    plugin.gpu.set_faults("abort-probe");
    return static_cast<int>(plugin.table.probe(plugin.device[0], 0));
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
}

// A call that hangs holds its device: what may come meanwhile works, all else is the host's error. The thread hangs on.
TEST(VirtualProcess, OneCallForADeviceAtATime) {
  static Plugin plugin;
  plugin.open();
  const sluice_memory memory = plugin.block(0, {3});
  plugin.gpu.set_faults("hang-probe");
  std::thread([] { plugin.table.probe(plugin.device[0], 0); }).detach();
  while (plugin.gpu.counters().calls[VIRTUAL_GPU_PROBE] == 0) std::this_thread::yield();
  EXPECT_EQ(plugin.content(0, memory, 1), Bytes{3});
  EXPECT_EQ(plugin.table.wait(plugin.device[0], 1), SLUICE_OK);
  EXPECT_EQ(plugin.table.sync(plugin.device[1]), SLUICE_OK);
  EXPECT_EQ(plugin.gpu.counters().overlaps, 0u);
  EXPECT_EQ(plugin.table.sync(plugin.device[0]), SLUICE_ERROR);
  EXPECT_EQ(plugin.table.free(plugin.device[0], memory), SLUICE_ERROR);
  EXPECT_EQ(plugin.gpu.counters().overlaps, 2u);
}

TEST(VirtualProcess, ThreadsMayWorkOnSeveralDevices) {
  Plugin plugin;
  plugin.open();
  const auto work = [&](int number) {
    plugin.gpu.set_current(2);
    for (std::uint8_t k = 0; k < 100; ++k) {
      const sluice_memory memory = plugin.block(number, Bytes(64, k));
      EXPECT_EQ(plugin.content(number, memory, 64), Bytes(64, k));
      EXPECT_EQ(plugin.table.free(plugin.device[number], memory), SLUICE_OK);
    }
    EXPECT_EQ(plugin.gpu.get_current(), 2);
  };
  const sluice_memory shared = plugin.block(0, Bytes(64, 7));
  std::thread first(work, 0), second(work, 1);
  for (int k = 0; k < 100; ++k) EXPECT_EQ(plugin.content(0, shared, 64), Bytes(64, 7));
  first.join();
  second.join();
  const virtual_gpu_counters counters = plugin.gpu.counters();
  EXPECT_EQ(counters.calls[VIRTUAL_GPU_ALLOC], 201u);
  EXPECT_EQ(counters.traps + counters.overlaps, 0u);
  EXPECT_GT(counters.all, 1000u);
}

TEST(VirtualProcess, AForkedProcessHasLostItsDevices) {
  Plugin plugin;
  plugin.open();
  const sluice_memory memory = plugin.block(0, {1});
  plugin.gpu.set_current(1);
  const int status = status_of_child([&] {
    std::uint8_t byte = 0;
    std::uint32_t count = 0;
    sluice_memory other = 0;
    const sluice_backend& b = plugin.table;
    const bool is_lost = b.read(plugin.device[0], memory, 0, &byte, 1) == SLUICE_DEVICE_LOST &&
                         b.alloc(plugin.device[1], 1, &other) == SLUICE_DEVICE_LOST &&
                         b.device_count(&count) == SLUICE_DEVICE_LOST &&
                         b.free(plugin.device[0], memory) == SLUICE_DEVICE_LOST;
    return is_lost && plugin.error().find("forked") != std::string::npos && plugin.gpu.get_current() == 1 ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(plugin.content(0, memory, 1), Bytes{1});
}

TEST(VirtualProcess, AProcessForkedBeforeTheFirstCallHasADriver) {
  Plugin plugin;
  sluice_component component{};
  component.size = sizeof component;
  EXPECT_EQ(plugin.table.component(0, &component), SLUICE_OK);
  EXPECT_EQ(status_of_child([&] {
              plugin.open();
              return plugin.devices == 3 && plugin.content(0, plugin.block(0, {4}), 1) == Bytes{4} ? 0 : 1;
            }),
            0);
  EXPECT_EQ(plugin.count(), SLUICE_OK);
}

TEST(VirtualProcess, ADriverIsGoneAtExit) {
  static Plugin* late = nullptr;
  static int exit_code = 0;
  for (const char* plan : {"", "strict-exit"}) {
    Plugin plugin;  // here, so that the folder of the copies is not removed by the child
    const int status = status_of_child([&] {
      late = &plugin;
      // Registered before the driver's own handler, so it runs after that.
      std::atexit([] { _exit(late->table.sync(late->device[0]) == SLUICE_ERROR ? exit_code : 1); });
      plugin.open();
      plugin.gpu.set_faults(plan);
      exit_code = 7;
      std::exit(2);
      return 3;
    });
    EXPECT_EQ(WEXITSTATUS(status), *plan == '\0' ? 7 : VIRTUAL_GPU_EXIT_CODE);
  }
}

}  // namespace
}  // namespace sluice::tests
