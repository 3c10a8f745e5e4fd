// How the virtual GPU runs kernels: every dialect, barriers, what it reports as traps, and that it sees a barrier which
// is missing in the library's own kernels.
#include <gtest/gtest.h>

#include <filesystem>

#include "src/device/kernel_text.hpp"
#include "tests/kept.hpp"
#include "tests/simulated/plugin.hpp"

namespace sluice::tests {
namespace {

/// One kernel in each dialect: out[i] = in[i] * factor, groups of `items` reversed through local memory.
std::string reversing_text(std::uint32_t dialect, int items, bool has_barrier = true) {
  std::string text = "#define K_GROUP_SIZE " + std::to_string(items) + "\n" +
                     detail::kernel_prelude({dialect, false}).substr(sizeof "#define K_GROUP_SIZE 256");
  text += "typedef struct { float factor; int unused; } k_values;\n";
  text += "KFN float mirrored(K_LOCAL_POINTER(float) kept, k_u32 item) { return kept[K_GROUP_SIZE - 1 - item]; }\n";
  text += "K_KERNEL(reverse)(K_READ(float, in, 0), K_WRITE(float, out, 1), K_VALUES(k_values, v, 2) K_IDS) {\n";
  text += "  K_LOCAL(float, kept, K_GROUP_SIZE);\n";
  text += "  kept[K_ITEM] = in[K_GLOBAL_ITEM] * v.factor;\n";
  text += has_barrier ? "  K_BARRIER;\n" : "";
  return text + "  out[K_GLOBAL_ITEM] = mirrored(kept, K_ITEM);\n}\n";
}

/// A kernel of CUDA that has one block, of ints, and the number of its items.
std::string own_text(const std::string& body) {
  return "extern \"C\" __global__ void own(int* out, int count) {\n  int i = (int)threadIdx.x;\n" + body + "}\n";
}

class VirtualKernels : public ::testing::Test {
 protected:
  void compile(const std::string& text, const char* entry) {
    const sluice_source source{sizeof source, 0, text.c_str(), entry, ""};
    ASSERT_EQ(plugin.table.compile(plugin.device[0], &source, &kernel), SLUICE_OK) << plugin.error();
  }

  /// Runs `own` in one group on four ints; the error of waiting for it, empty if there is none.
  std::string run_own(const std::string& body, std::uint32_t items = 4) {
    compile(own_text(body), "own");
    out = plugin.block(0, std::vector<std::uint8_t>(16, 0));
    const sluice_argument arguments[] = {{out, 0, nullptr, 0, 0}, {0, 0, &items, 4, 0}};
    const sluice_launch launch{sizeof launch, 2, {1, 1, 1}, {items, 1, 1}, arguments};
    EXPECT_EQ(plugin.table.launch(plugin.device[0], kernel, &launch), SLUICE_OK) << plugin.error();
    return plugin.table.sync(plugin.device[0]) == SLUICE_OK ? "" : plugin.error();
  }
  std::vector<std::int32_t> numbers() {
    const std::vector<std::uint8_t> bytes = plugin.content(0, out, 16);
    std::vector<std::int32_t> result(4);
    std::memcpy(result.data(), bytes.data(), 16);
    return result;
  }

  Plugin& plugin = kept(new Plugin)->open();  // drivers stay
  sluice_kernel* kernel = nullptr;
  sluice_memory out = 0;
};

// ---- Dialects.

class VirtualDialects : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, VirtualDialects, ::testing::Values("cuda", "hip", "opencl", "metal"),
                         [](auto& info) { return std::string(info.param); });

/// Reverses 3 groups of 8 numbers; whether they came out right.
bool reverses(Plugin& plugin, bool has_barrier) {
  sluice_device_info info{};
  info.size = sizeof info;
  EXPECT_EQ(plugin.table.info(plugin.device[0], &info), SLUICE_OK);
  const std::string text = reversing_text(info.dialect, 8, has_barrier);
  const sluice_source source{sizeof source, 0, text.c_str(), "reverse", ""};
  sluice_kernel* kernel = nullptr;
  EXPECT_EQ(plugin.table.compile(plugin.device[0], &source, &kernel), SLUICE_OK) << plugin.error();
  std::vector<std::uint8_t> bytes(96);
  for (int i = 0; i < 24; ++i) {
    const float value = static_cast<float>(i);
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  const sluice_memory in = plugin.block(0, bytes), out = plugin.block(0, std::vector<std::uint8_t>(96));
  const struct {
    float factor = 2;
    int unused = 0;
  } values;
  const sluice_argument arguments[] = {{in, 0, nullptr, 0, 0}, {out, 0, nullptr, 0, 0}, {0, 0, &values, 8, 0}};
  const sluice_launch launch{sizeof launch, 3, {3, 1, 1}, {8, 1, 1}, arguments};
  EXPECT_EQ(plugin.table.launch(plugin.device[0], kernel, &launch), SLUICE_OK) << plugin.error();
  const std::vector<std::uint8_t> result = plugin.content(0, out, 96);
  bool is_right = true;
  for (int i = 0; i < 24; ++i) {
    float value = 0;
    std::memcpy(&value, result.data() + 4 * i, 4);
    is_right = is_right && value == 2 * static_cast<float>(i / 8 * 8 + 7 - i % 8);
  }
  return is_right;
}

TEST_P(VirtualDialects, KernelsRunAndNeedTheirBarriers) {
  const Variable dialect("VIRTUAL_GPU_DIALECT", GetParam());
  for (const char* order : {"shuffled", "forward", "backward"}) {
    const Variable chosen("VIRTUAL_GPU_ORDER", order);
    Plugin plugin;
    plugin.open();
    EXPECT_TRUE(reverses(plugin, true)) << order;
    EXPECT_FALSE(reverses(plugin, false)) << order;
    EXPECT_EQ(plugin.gpu.traps(), 0U);
  }
}

TEST(VirtualDialects, AnUnknownOneIsAnError) {
  const Variable dialect("VIRTUAL_GPU_DIALECT", "french");
  Plugin plugin;
  EXPECT_EQ(plugin.count(), SLUICE_ERROR);
  EXPECT_NE(plugin.error().find("\"french\" is unknown"), std::string::npos) << plugin.error();
}

TEST(VirtualDialects, MetalHasNoDoubles) {
  const Variable dialect("VIRTUAL_GPU_DIALECT", "metal");
  Plugin plugin;
  plugin.open();
  sluice_device_info info{};
  info.size = sizeof info;
  ASSERT_EQ(plugin.table.info(plugin.device[0], &info), SLUICE_OK);
  EXPECT_EQ(info.features & SLUICE_FEATURE_F64, 0U);
}

// ---- Items and barriers.

TEST_F(VirtualKernels, ItemsRunOneAfterTheOther) {
  EXPECT_EQ(run_own("  out[i % 4] += i;\n", 8), "");
  EXPECT_EQ(numbers(), (std::vector<std::int32_t>{4, 6, 8, 10}));
}

TEST_F(VirtualKernels, TheOrderOfItemsIsShuffled) {
  const std::string body =
      "  __shared__ int last[1];\n  last[0] = i;\n  __syncthreads();\n  if (i == 0) out[K] = last[0];\n";
  std::vector<std::int32_t> seen;
  for (const char* place : {"0", "1", "2", "3"}) {
    std::string text = body;
    text.replace(text.find('K'), 1, place);
    EXPECT_EQ(run_own(text, 64), "");
    seen.push_back(numbers()[static_cast<std::size_t>(place[0] - '0')]);
  }
  EXPECT_NE(seen, std::vector<std::int32_t>(4, seen[0]));
}

TEST_F(VirtualKernels, LocalMemoryIsSpoiltBeforeEachGroup) {
  EXPECT_EQ(run_own("  __shared__ int kept[4];\n  out[i] = kept[i];\n  kept[i] = 7;\n"), "");
  EXPECT_EQ(numbers(), std::vector<std::int32_t>(4, -1));
  EXPECT_EQ(run_own("  __shared__ int kept[4];\n  out[i] = kept[i];\n  kept[i] = 7;\n"), "");
  EXPECT_EQ(numbers(), std::vector<std::int32_t>(4, -1));
}

TEST_F(VirtualKernels, ABarrierThatSomeItemsDoNotReachIsATrap) {
  const std::string error = run_own("  if (i == 2) return;\n  __syncthreads();\n  out[i] = 1;\n");
  EXPECT_NE(error.find("trap: kernel own: 1 of 4 items do not reach the barrier in line 4"), std::string::npos)
      << error;
  EXPECT_EQ(plugin.gpu.traps(), 1U);
  EXPECT_EQ(run_own("  __syncthreads();\n  out[i] = 1;\n"), "");
  EXPECT_EQ(numbers(), std::vector<std::int32_t>(4, 1));
}

TEST_F(VirtualKernels, BarriersInLoopsAreCounted) {
  EXPECT_EQ(run_own("  for (int k = 0; k < count; ++k) { __syncthreads(); out[i] += k; }\n"), "");
  EXPECT_EQ(numbers(), std::vector<std::int32_t>(4, 6));
  const std::string error = run_own("  for (int k = 0; k < i; ++k) __syncthreads();\n");
  EXPECT_NE(error.find("1 of 4 items do not reach the barrier"), std::string::npos) << error;
}

TEST_F(VirtualKernels, TwoBarriersAtOnceAreATrap) {
  const std::string error = run_own("  if (i < 2) {\n    __syncthreads();\n  } else {\n    __syncthreads();\n  }\n");
  EXPECT_NE(error.find("items wait at two barriers at once"), std::string::npos) << error;
}

// ---- Memory and arguments.

TEST_F(VirtualKernels, WritingBesideABlockIsATrap) {
  for (const char* place : {"-1", "4", "-200", "200"}) {
    const std::string error = run_own("  if (i == 0) out[" + std::string(place) + "] = 1;\n");
    EXPECT_NE(error.find("trap: kernel own: it wrote beside the block of argument 0"), std::string::npos) << error;
  }
  EXPECT_EQ(plugin.gpu.traps(), 4U);
  EXPECT_EQ(run_own("  out[i] = i;\n"), "");
}

TEST_F(VirtualKernels, ArgumentsMustBeWhatTheKernelTakes) {
  compile(own_text(""), "own");
  out = plugin.block(0, std::vector<std::uint8_t>(16, 0));
  const std::uint64_t wide = 4;
  const auto problem = [&](std::vector<sluice_argument> arguments) {
    const auto count = static_cast<std::uint32_t>(arguments.size());
    const sluice_launch launch{sizeof launch, count, {1, 1, 1}, {4, 1, 1}, arguments.data()};
    EXPECT_EQ(plugin.table.launch(plugin.device[0], kernel, &launch), SLUICE_OK);
    return plugin.table.sync(plugin.device[0]) == SLUICE_OK ? std::string() : plugin.error();
  };
  const sluice_argument block{out, 0, nullptr, 0, 0};
  EXPECT_EQ(problem({block, {0, 0, &wide, 4, 0}}), "");
  EXPECT_NE(problem({block, {0, 0, &wide, 8, 0}}).find("argument 1 has 8 bytes, its parameter 4"), std::string::npos);
  EXPECT_NE(problem({block, block}).find("argument 1 has 0 bytes, its parameter 4"), std::string::npos);
  EXPECT_NE(problem({block}).find("fewer arguments"), std::string::npos);
  EXPECT_NE(problem({block, {0, 0, &wide, 4, 0}, block}).find("argument 2"), std::string::npos);
}

TEST_F(VirtualKernels, AFaultChangesWhatAKernelHasWritten) {
  plugin.gpu.set_faults("launch:2");
  EXPECT_TRUE(reverses(plugin, true));
  EXPECT_FALSE(reverses(plugin, true));
  EXPECT_TRUE(reverses(plugin, true));
}

// ---- The compiler.

TEST_F(VirtualKernels, ATextThatDoesNotCompileIsReportedWithItsLine) {
  const std::string text = own_text("  out[i] = nothing;\n");
  const sluice_source source{sizeof source, 0, text.c_str(), "own", ""};
  EXPECT_EQ(plugin.table.compile(plugin.device[0], &source, &kernel), SLUICE_BAD_SOURCE);
  EXPECT_NE(plugin.error().find(":3:"), std::string::npos) << plugin.error();
  EXPECT_NE(plugin.error().find("nothing"), std::string::npos) << plugin.error();
  const std::string whole = own_text("");
  const sluice_source other{sizeof other, 0, whole.c_str(), "other", ""};
  EXPECT_EQ(plugin.table.compile(plugin.device[0], &other, &kernel), SLUICE_BAD_SOURCE);
}

TEST(VirtualCompiler, KernelsAreKeptInAFolder) {
  const TemporaryFolder folder;
  const Variable cache("VIRTUAL_GPU_CACHE", folder.path().string());
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator());
  };
  for (int process = 0; process < 2; ++process) {
    Plugin plugin;
    plugin.open();
    EXPECT_TRUE(reverses(plugin, true));
    EXPECT_EQ(files(), 1);
  }
  Plugin plugin;
  plugin.open();
  reverses(plugin, false);
  EXPECT_EQ(files(), 2);
}

TEST_F(VirtualKernels, ABinaryIsTheSameKernel) {
  compile(own_text("  out[i] = 5;\n"), "own");
  std::uint64_t bytes = 0;
  ASSERT_EQ(plugin.table.kernel_binary(kernel, nullptr, &bytes), SLUICE_OK);
  std::vector<char> binary(bytes);
  ASSERT_EQ(plugin.table.kernel_binary(kernel, binary.data(), &bytes), SLUICE_OK);
  sluice_kernel* loaded = nullptr;
  ASSERT_EQ(plugin.table.load_binary(plugin.device[0], binary.data(), bytes, "own", &loaded), SLUICE_OK);
  out = plugin.block(0, std::vector<std::uint8_t>(16, 0));
  const int count = 4;
  const sluice_argument arguments[] = {{out, 0, nullptr, 0, 0}, {0, 0, &count, 4, 0}};
  const sluice_launch launch{sizeof launch, 2, {1, 1, 1}, {4, 1, 1}, arguments};
  EXPECT_EQ(plugin.table.launch(plugin.device[0], loaded, &launch), SLUICE_OK);
  EXPECT_EQ(numbers(), std::vector<std::int32_t>(4, 5));
  binary[bytes - 5] ^= 1;
  EXPECT_EQ(plugin.table.load_binary(plugin.device[0], binary.data(), bytes, "own", &loaded), SLUICE_ERROR);
}

// ---- Counters.

TEST_F(VirtualKernels, CopiesToTheHostAreCounted) {
  const sluice_memory memory = plugin.block(0, {1, 2, 3, 4, 5});
  plugin.gpu.reset_counters();
  plugin.content(0, memory, 5);
  std::uint8_t* const pinned = plugin.pinned(0, {0, 0, 0});
  sluice_ticket ticket = 0;
  EXPECT_EQ(plugin.table.read_async(plugin.device[0], memory, 0, pinned, 3, &ticket), SLUICE_OK);
  EXPECT_EQ(plugin.gpu.counters().host_reads, 2U);
  EXPECT_EQ(plugin.gpu.counters().host_read_bytes, 8U);
  plugin.table.wait(plugin.device[0], ticket);
  EXPECT_EQ(plugin.gpu.counters().host_reads, 2U);
}

}  // namespace
}  // namespace sluice::tests
