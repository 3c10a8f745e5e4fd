// Memory, queue, kernels and faults of the virtual devices that other tests rely on.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/simulated/plugin.hpp"

namespace sluice::tests {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes filled(std::size_t count, std::uint8_t byte) { return Bytes(count, byte); }

// ---- Memory.

TEST(VirtualDevice, MemoryIsPoisonedWhenFreshAndWhenFreed) {
  Plugin plugin;
  plugin.open();
  sluice_memory memory = 0, alias = 0;
  ASSERT_EQ(plugin.table.alloc(plugin.device[0], 300, &memory), SLUICE_OK);
  EXPECT_EQ(memory % 256, 0u);
  EXPECT_EQ(plugin.content(0, memory, 300), filled(300, VIRTUAL_GPU_FRESH_BYTE));
  ASSERT_EQ(plugin.table.wrap(plugin.device[0], memory + 16, 32, &alias), SLUICE_OK);
  EXPECT_EQ(plugin.table.free(plugin.device[0], memory), SLUICE_OK);
  EXPECT_EQ(plugin.content(0, alias, 32), filled(32, VIRTUAL_GPU_FREED_BYTE));

  const Variable off("VIRTUAL_GPU_POISON", "0");
  Plugin clean;
  clean.open();
  ASSERT_EQ(clean.table.alloc(clean.device[0], 300, &memory), SLUICE_OK);
  EXPECT_EQ(clean.content(0, memory, 300), filled(300, 0));
}

TEST(VirtualDevice, MemoryIsLimitedAndCounted) {
  const Variable limit("VIRTUAL_GPU_MEMORY", "1024");
  Plugin plugin;
  plugin.open();
  const sluice_backend& b = plugin.table;
  sluice_memory first = 0, second = 0, third = 0;
  std::uint64_t free_bytes = 0;
  EXPECT_EQ(b.alloc(plugin.device[0], 1, &first), SLUICE_OK);
  EXPECT_EQ(b.alloc(plugin.device[0], 512, &second), SLUICE_OK);
  EXPECT_EQ(b.alloc(plugin.device[0], 257, &third), SLUICE_OUT_OF_MEMORY);
  EXPECT_NE(plugin.error().find("257"), std::string::npos);
  EXPECT_EQ(b.alloc(plugin.device[0], ~std::uint64_t{0}, &third), SLUICE_OUT_OF_MEMORY);
  EXPECT_EQ(b.alloc(plugin.device[0], 0, &third), SLUICE_ERROR);
  EXPECT_EQ(plugin.gpu.live_blocks(0), 2u);
  EXPECT_EQ(plugin.gpu.live_bytes(0), 768u);
  EXPECT_EQ(plugin.gpu.live_blocks(1), 0u) << "each device has memory of its own";
  EXPECT_EQ(b.free_bytes(plugin.device[0], &free_bytes), SLUICE_OK);
  EXPECT_EQ(free_bytes, 256u);
  EXPECT_EQ(b.free(plugin.device[0], second), SLUICE_OK);
  EXPECT_EQ(b.alloc(plugin.device[0], 768, &third), SLUICE_OK);
  EXPECT_EQ(plugin.gpu.live_bytes(0), 1024u);
}

TEST(VirtualDevice, WrongAccessIsTrapped) {
  Plugin plugin;
  plugin.open();
  const sluice_backend& b = plugin.table;
  sluice_device* const near = plugin.device[0];
  sluice_device* const far = plugin.device[1];
  const sluice_memory mine = plugin.block(0, filled(16, 1)), freed = plugin.block(0, filled(16, 2));
  ASSERT_EQ(b.free(near, freed), SLUICE_OK);
  sluice_kernel* kernel = nullptr;
  ASSERT_EQ(plugin.compile(0, "sluice_probe", &kernel), SLUICE_OK);
  std::uint8_t byte = 0;
  sluice_ticket ticket = 0;
  std::uint64_t traps = 0;
  const auto expect_trap = [&](const char* what, sluice_status status) {
    EXPECT_EQ(status, SLUICE_ERROR) << what;
    EXPECT_EQ(plugin.gpu.traps(), ++traps) << what;
    EXPECT_NE(plugin.error().find("trap"), std::string::npos) << what;
  };
  expect_trap("read of another device's block", b.read(far, mine, 0, &byte, 1));
  expect_trap("write to it", b.write(far, mine, 0, &byte, 1));
  expect_trap("free of it", b.free(far, mine));
  expect_trap("copy from it", b.copy(far, mine, 0, mine, 0, 1));
  expect_trap("peer copy the wrong way", b.peer_copy(near, mine, 0, far, mine, 0, 1));
  expect_trap("another device's kernel", plugin.run_probe(1, kernel, mine, mine, 1));
  expect_trap("a freed block", b.read(near, freed, 0, &byte, 1));
  expect_trap("a second free", b.free(near, freed));
  expect_trap("no block", b.read(near, 0, 0, &byte, 1));
  expect_trap("an address inside a block", b.read(near, mine + 1, 0, &byte, 1));
  expect_trap("past the end", b.read(near, mine, 16, &byte, 1));
  expect_trap("far past the end", b.write(near, mine, ~std::uint64_t{0}, &byte, 1));
  expect_trap("a freed block as argument", plugin.run_probe(0, kernel, freed, mine, 1));
  expect_trap("memory that is not pinned", b.write_async(near, mine, 0, &byte, 1, &ticket));
  expect_trap("the same to read", b.read_async(near, mine, 0, &byte, 1, &ticket));
  expect_trap("the same to free", b.free_host(near, &byte));
  expect_trap("a ticket of the future", b.wait(near, 1000));
  EXPECT_EQ(plugin.content(0, mine, 16), filled(16, 1));
  plugin.gpu.reset_counters();
  EXPECT_EQ(plugin.gpu.traps(), 0u);
}

TEST(VirtualDevice, WrappedMemoryIsForgottenNotFreed) {
  Plugin plugin;
  plugin.open();
  const sluice_memory memory = plugin.block(0, {0, 1, 2, 3, 4, 5, 6, 7});
  sluice_memory part = 0, none = 0;
  ASSERT_EQ(plugin.table.wrap(plugin.device[0], memory + 2, 3, &part), SLUICE_OK);
  EXPECT_EQ(plugin.content(0, part, 3), (Bytes{2, 3, 4}));
  EXPECT_EQ(plugin.table.wrap(plugin.device[0], memory + 2, 7, &none), SLUICE_ERROR);
  EXPECT_EQ(plugin.table.wrap(plugin.device[1], memory, 8, &none), SLUICE_ERROR);
  EXPECT_EQ(plugin.gpu.live_blocks(0), 1u);
  EXPECT_EQ(plugin.table.free(plugin.device[0], part), SLUICE_OK);
  EXPECT_EQ(plugin.content(0, memory, 8), (Bytes{0, 1, 2, 3, 4, 5, 6, 7}));
}

// ---- The queue.

TEST(VirtualDevice, AsyncCopiesAreLate) {
  Plugin plugin;
  plugin.open();
  const sluice_backend& b = plugin.table;
  const sluice_memory memory = plugin.block(0, {0, 0});
  std::uint8_t* const source = plugin.pinned(0, {1, 2});
  std::uint8_t* const target = plugin.pinned(0, {0, 0});
  sluice_ticket first = 0, second = 0;
  ASSERT_EQ(b.write_async(plugin.device[0], memory, 0, source, 1, &first), SLUICE_OK);
  ASSERT_EQ(b.write_async(plugin.device[0], memory, 1, source + 1, 1, &second), SLUICE_OK);
  ASSERT_EQ(b.read_async(plugin.device[0], memory, 0, target, 2, &second), SLUICE_OK);
  EXPECT_EQ(plugin.gpu.pending(0), 4u);
  source[0] = 11;  // too early: the ticket is not waited for
  EXPECT_EQ(b.wait(plugin.device[0], first), SLUICE_OK);
  source[0] = 12;  // in time
  source[1] = 22;  // too early: this is another ticket
  EXPECT_EQ(target[0], 0);
  EXPECT_EQ(plugin.gpu.pending(0), 2u);
  EXPECT_EQ(b.wait(plugin.device[0], second), SLUICE_OK);
  EXPECT_EQ(Bytes(target, target + 2), (Bytes{11, 22}));
  EXPECT_EQ(plugin.gpu.pending(0), 0u);
  EXPECT_EQ(b.wait(plugin.device[0], first), SLUICE_OK) << "a ticket that has passed";
}

TEST(VirtualDevice, WriteKeepsACopyAndAllWorkIsInOrder) {
  Plugin plugin;
  plugin.open();
  const sluice_backend& b = plugin.table;
  const sluice_memory memory = plugin.block(0, {0, 0, 0}), other = plugin.block(0, {0, 0, 0});
  Bytes bytes = {1, 2, 3};
  ASSERT_EQ(b.write(plugin.device[0], memory, 0, bytes.data(), 3), SLUICE_OK);
  ASSERT_EQ(b.copy(plugin.device[0], other, 0, memory, 1, 2), SLUICE_OK);
  bytes = {7, 8, 9};
  ASSERT_EQ(b.write(plugin.device[0], memory, 0, bytes.data(), 3), SLUICE_OK);
  bytes = {0, 0, 0};
  EXPECT_GT(plugin.gpu.pending(0), 0u) << "write does not wait";
  EXPECT_EQ(plugin.content(0, other, 3), (Bytes{2, 3, 0}));
  EXPECT_EQ(plugin.content(0, memory, 3), (Bytes{7, 8, 9}));
}

TEST(VirtualDevice, ABlockMayBeFreedWhileQueuedWorkUsesIt) {
  Plugin plugin;
  plugin.open();
  const sluice_memory memory = plugin.block(0, {5, 6}), other = plugin.block(0, {0, 0});
  ASSERT_EQ(plugin.table.copy(plugin.device[0], other, 0, memory, 0, 2), SLUICE_OK);
  EXPECT_EQ(plugin.table.free(plugin.device[0], memory), SLUICE_OK);
  EXPECT_EQ(plugin.gpu.live_blocks(0), 1u);
  EXPECT_EQ(plugin.content(0, other, 2), (Bytes{5, 6}));
}

TEST(VirtualDevice, PeerCopiesComeAfterTheWorkOfBothQueues) {
  Plugin plugin;
  plugin.open();
  const sluice_backend& b = plugin.table;
  const auto write = [&](int number, sluice_memory memory, std::uint8_t byte) {
    EXPECT_EQ(b.write(plugin.device[number], memory, 0, &byte, 1), SLUICE_OK);
  };
  const auto peer_copy = [&](int to, sluice_memory memory, int from, sluice_memory source) {
    EXPECT_EQ(b.peer_copy(plugin.device[to], memory, 0, plugin.device[from], source, 0, 1), SLUICE_OK);
  };
  for (const bool is_far_first : {true, false}) {
    const sluice_memory near = plugin.block(0, {1}), far = plugin.block(1, {2}), back = plugin.block(0, {3});
    write(0, near, 4);
    peer_copy(1, far, 0, near);  // far: 4
    write(0, near, 5);           // later work of the source
    peer_copy(0, back, 1, far);  // back: 4
    write(1, far, 6);            // later work of the target
    peer_copy(1, far, 0, near);  // far: 5
    const Bytes first = is_far_first ? plugin.content(1, far, 1) : plugin.content(0, back, 1);
    EXPECT_EQ(first, Bytes{static_cast<std::uint8_t>(is_far_first ? 5 : 4)});
    EXPECT_EQ(plugin.content(0, back, 1), Bytes{4});
    EXPECT_EQ(plugin.content(1, far, 1), Bytes{5});
    EXPECT_EQ(plugin.content(0, near, 1), Bytes{5});
    EXPECT_EQ(plugin.gpu.pending(0) + plugin.gpu.pending(1), 0u);
  }
  EXPECT_EQ(b.peer_copy(plugin.device[0], 0, 0, plugin.device[0], 0, 0, 1), SLUICE_ERROR);
}

TEST(VirtualDevice, TheQueueDoesNotGrowWithoutBound) {
  Plugin plugin;
  plugin.open();
  const sluice_memory memory = plugin.block(0, {0});
  for (int k = 0; k < 10000; ++k) {
    const auto byte = static_cast<std::uint8_t>(k % 251);
    ASSERT_EQ(plugin.table.write(plugin.device[0], memory, 0, &byte, 1), SLUICE_OK);
  }
  EXPECT_LT(plugin.gpu.pending(0), 5000u);
  EXPECT_EQ(plugin.content(0, memory, 1), Bytes{9999 % 251});
}

TEST(VirtualDevice, FreeHostWaits) {
  Plugin plugin;
  plugin.open();
  const sluice_memory memory = plugin.block(0, {0});
  std::uint8_t* const source = plugin.pinned(0, {9});
  sluice_ticket ticket = 0;
  ASSERT_EQ(plugin.table.write_async(plugin.device[0], memory, 0, source, 1, &ticket), SLUICE_OK);
  EXPECT_EQ(plugin.table.free_host(plugin.device[0], source), SLUICE_OK);
  EXPECT_EQ(plugin.gpu.pending(0), 0u);
  EXPECT_EQ(plugin.content(0, memory, 1), Bytes{9});
}

// ---- Kernels.

/// The numbers that come out of the probe kernel for 0, 1, 2, ..., by its first device.
std::vector<float> run_probe(Plugin& plugin, sluice_kernel* kernel, std::int32_t count) {
  const sluice_backend& b = plugin.table;
  std::vector<float> numbers(100);
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = 0.5F * static_cast<float>(k);
  sluice_memory in = 0, out = 0;
  EXPECT_EQ(b.alloc(plugin.device[0], 400, &in), SLUICE_OK);
  EXPECT_EQ(b.alloc(plugin.device[0], 400, &out), SLUICE_OK);
  EXPECT_EQ(b.write(plugin.device[0], in, 0, numbers.data(), 400), SLUICE_OK);
  EXPECT_EQ(b.write(plugin.device[0], out, 0, numbers.data(), 400), SLUICE_OK);
  EXPECT_EQ(plugin.run_probe(0, kernel, out, in, count), SLUICE_OK) << plugin.error();
  EXPECT_EQ(b.read(plugin.device[0], out, 0, numbers.data(), 400), SLUICE_OK) << plugin.error();
  return numbers;
}

TEST(VirtualDevice, TheProbeKernelComputes) {
  Plugin plugin;
  plugin.open();
  sluice_kernel* kernel = nullptr;
  ASSERT_EQ(plugin.compile(0, "sluice_probe", &kernel), SLUICE_OK);
  const std::vector<float> numbers = run_probe(plugin, kernel, 90);
  for (std::size_t k = 0; k < 90; ++k) EXPECT_EQ(numbers[k], 2.5F * static_cast<float>(k)) << k;
  for (std::size_t k = 90; k < 100; ++k) EXPECT_EQ(numbers[k], 0.5F * static_cast<float>(k)) << k;
}

TEST(VirtualDevice, LaunchesAreChecked) {
  Plugin plugin;
  plugin.open();
  const sluice_backend& b = plugin.table;
  sluice_kernel* kernel = nullptr;
  ASSERT_EQ(plugin.compile(0, "sluice_probe", &kernel), SLUICE_OK);
  EXPECT_EQ(plugin.compile(0, "matmul", &kernel), SLUICE_BAD_SOURCE);
  EXPECT_NE(plugin.error().find("virtual compiler: "), std::string::npos) << plugin.error();
  const sluice_argument none{};
  const sluice_launch big{sizeof big, 0, {1, 1, 1}, {257, 1, 1}, nullptr},
      empty{sizeof empty, 0, {0, 1, 1}, {1, 1, 1}, nullptr};
  const sluice_launch bare{sizeof bare, 1, {1, 1, 1}, {1, 1, 1}, &none};
  for (const sluice_launch* launch : {&big, &empty, &bare}) {
    EXPECT_EQ(b.launch(plugin.device[0], kernel, launch), SLUICE_ERROR);
  }
  const sluice_memory memory = plugin.block(0, filled(40, 0));
  EXPECT_EQ(plugin.run_probe(0, kernel, memory, memory, 11), SLUICE_OK);
  EXPECT_EQ(b.sync(plugin.device[0]), SLUICE_ERROR) << "what happens in a kernel is reported later";
  EXPECT_NE(plugin.error().find("left its memory"), std::string::npos);
  EXPECT_EQ(b.sync(plugin.device[0]), SLUICE_OK) << "and once";
}

TEST(VirtualDevice, BinariesComeBackWhole) {
  Plugin plugin;
  plugin.open();
  const sluice_backend& b = plugin.table;
  sluice_kernel *kernel = nullptr, *loaded = nullptr;
  ASSERT_EQ(plugin.compile(0, "sluice_probe", &kernel), SLUICE_OK);
  std::uint64_t bytes = 0;
  ASSERT_EQ(b.kernel_binary(kernel, nullptr, &bytes), SLUICE_OK);
  std::string binary(bytes, '\0');
  std::uint64_t room = bytes - 1;
  EXPECT_EQ(b.kernel_binary(kernel, binary.data(), &room), SLUICE_ERROR);
  ASSERT_EQ(b.kernel_binary(kernel, binary.data(), &bytes), SLUICE_OK);
  ASSERT_EQ(b.load_binary(plugin.device[0], binary.data(), bytes, "sluice_probe", &loaded), SLUICE_OK);
  EXPECT_EQ(run_probe(plugin, loaded, 90), run_probe(plugin, kernel, 90));
  EXPECT_EQ(b.load_binary(plugin.device[0], binary.data(), bytes - 1, "sluice_probe", &loaded), SLUICE_ERROR);
  EXPECT_EQ(b.load_binary(plugin.device[0], binary.data(), bytes, "other", &loaded), SLUICE_ERROR);
  binary[3] ^= 1;
  EXPECT_EQ(b.load_binary(plugin.device[0], binary.data(), bytes, "sluice_probe", &loaded), SLUICE_ERROR);
}

// ---- Faults.

TEST(VirtualDevice, DriversThatDoNotWork) {
  const std::pair<const char*, sluice_status> cases[] = {{"no-driver", SLUICE_UNSUPPORTED},
                                                         {"old-driver", SLUICE_ERROR}};
  for (const auto& [plan, status] : cases) {
    const Variable faults("VIRTUAL_GPU_FAULTS", plan);
    Plugin plugin;
    for (int k = 0; k < 3; ++k) EXPECT_EQ(plugin.count(), status) << plan;
    EXPECT_NE(plugin.error().find(status == SLUICE_ERROR ? "too old" : "cannot open"), std::string::npos);
    EXPECT_EQ(plugin.gpu.set_faults(""), 0);
    EXPECT_EQ(plugin.count(), SLUICE_OK);
    EXPECT_EQ(plugin.gpu.set_faults(nullptr), 0) << "as the environment says";
    EXPECT_EQ(plugin.count(), status) << plan;
  }
  Plugin plugin;
  EXPECT_EQ(plugin.gpu.set_faults("no-device"), 0);
  EXPECT_EQ(plugin.count(), SLUICE_OK);
  EXPECT_EQ(plugin.devices, 0u);
}

TEST(VirtualDevice, WrongPlansAreRefused) {
  Plugin plugin;
  for (const char* plan :
       {"alloc", "alloc:", "alloc:0", "alloc:x", "no-driver:1", "unknown:1", "alloc:1,", ",", "copy:-1"}) {
    EXPECT_EQ(plugin.gpu.set_faults(plan), 1) << plan;
  }
  EXPECT_EQ(plugin.gpu.set_faults(" alloc:3 , hang-probe"), 0);
}

TEST(VirtualDevice, FaultsHitTheCallTheyName) {
  Plugin plugin;
  plugin.open();
  const sluice_backend& b = plugin.table;
  sluice_memory memory = 0;
  std::uint8_t byte = 0;
  plugin.gpu.set_faults("alloc:2,copy:3");
  EXPECT_EQ(b.alloc(plugin.device[0], 8, &memory), SLUICE_OK);
  EXPECT_EQ(b.alloc(plugin.device[0], 8, &memory), SLUICE_OUT_OF_MEMORY);
  EXPECT_EQ(b.alloc(plugin.device[0], 8, &memory), SLUICE_OK);
  EXPECT_EQ(b.write(plugin.device[0], memory, 0, &byte, 1), SLUICE_OK);
  EXPECT_EQ(b.copy(plugin.device[0], memory, 0, memory, 1, 1), SLUICE_OK);
  EXPECT_EQ(b.read(plugin.device[0], memory, 0, &byte, 1), SLUICE_ERROR);
  EXPECT_EQ(b.read(plugin.device[0], memory, 0, &byte, 1), SLUICE_OK);
  plugin.gpu.set_faults("late:2");
  EXPECT_EQ(b.write(plugin.device[0], memory, 0, &byte, 1), SLUICE_OK);
  EXPECT_EQ(b.write(plugin.device[0], memory, 0, &byte, 1), SLUICE_OK);
  EXPECT_EQ(b.read(plugin.device[0], memory, 0, &byte, 1), SLUICE_ERROR);
  EXPECT_EQ(b.read(plugin.device[0], memory, 0, &byte, 1), SLUICE_OK);
  sluice_kernel* kernel = nullptr;
  plugin.gpu.set_faults("compile:1,launch:2,throw:4");
  EXPECT_EQ(plugin.compile(0, "sluice_probe", &kernel), SLUICE_BAD_SOURCE);
  EXPECT_NE(plugin.error().find("line 1"), std::string::npos);
  EXPECT_EQ(plugin.compile(0, "sluice_probe", &kernel), SLUICE_OK);
  EXPECT_EQ(b.sync(plugin.device[0]), SLUICE_OK);
  EXPECT_EQ(b.sync(plugin.device[0]), SLUICE_ERROR);
  EXPECT_NE(plugin.error().find("threw"), std::string::npos);
  EXPECT_EQ(run_probe(plugin, kernel, 90)[4], 10.0F);
  EXPECT_NE(run_probe(plugin, kernel, 90)[4], 10.0F);
  EXPECT_EQ(run_probe(plugin, kernel, 90)[4], 10.0F);
}

TEST(VirtualDevice, ALostDeviceStaysLostAndTheOthersWork) {
  Plugin plugin;
  plugin.open();
  const sluice_backend& b = plugin.table;
  const sluice_memory near = plugin.block(0, {1}), far = plugin.block(1, {2});
  plugin.gpu.set_faults("lost:2");
  std::uint8_t byte = 0;
  EXPECT_EQ(b.read(plugin.device[0], near, 0, &byte, 1), SLUICE_OK);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(b.read(plugin.device[0], near, 0, &byte, 1), SLUICE_DEVICE_LOST);
  EXPECT_EQ(b.free(plugin.device[0], near), SLUICE_DEVICE_LOST);
  EXPECT_EQ(b.sync(plugin.device[0]), SLUICE_DEVICE_LOST);
  EXPECT_EQ(b.peer_copy(plugin.device[1], far, 0, plugin.device[0], near, 0, 1), SLUICE_DEVICE_LOST);
  EXPECT_EQ(plugin.content(1, far, 1), Bytes{2});
}

TEST(VirtualDevice, VendorLibraries) {
  Plugin plugin;
  plugin.open();
  const sluice_backend& b = plugin.table;
  EXPECT_EQ(b.probe(plugin.device[0], 0), SLUICE_OK);
  EXPECT_EQ(b.probe(plugin.device[0], 1), SLUICE_UNSUPPORTED);
  EXPECT_EQ(b.probe(plugin.device[0], 2), SLUICE_UNSUPPORTED);
  EXPECT_EQ(b.enable(1), SLUICE_UNSUPPORTED);
  EXPECT_EQ(plugin.gpu.enabled(), 0u);
  const Variable there("VIRTUAL_VIRTUAL_DNN", "1");
  EXPECT_EQ(b.enable(1), SLUICE_OK);
  EXPECT_EQ(plugin.gpu.enabled(), 2u);
  EXPECT_EQ(b.gemm(plugin.device[0], nullptr), SLUICE_ERROR);
  const sluice_gemm gemm{};
  EXPECT_EQ(b.gemm(plugin.device[0], &gemm), SLUICE_UNSUPPORTED);
}

}  // namespace
}  // namespace sluice::tests
