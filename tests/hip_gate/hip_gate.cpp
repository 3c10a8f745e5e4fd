// Every kernel text through the real hipRTC, for GPUs that this machine need not have: `make hip-gate`. A program of
// its own, which opens no OpenCL: hipRTC and PoCL bring the same LLVM twice, and end a process that has both.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "backends/hip/hiprtc.hpp"
#include "backends/streams/text_program.hpp"
#include "tests/all_kernels.hpp"

namespace sluice::tests {
namespace {

using streams::HiprtcApi;

const plugin::DriverLibrary& library() {
  static const auto* const instance = new plugin::DriverLibrary(
      {"libamdhip64.so.5", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so.6", "libamdhip64.so"});
  return *instance;
}

/// What hipRTC says of a text; empty if it makes code of it.
std::string complaint(const HiprtcApi& hiprtc, const std::string& text, const std::string& architecture) {
  try {
    streams::TextProgram program(hiprtc, text.c_str(), "kernel.hip");
    program.compile(streams::hiprtc_options(architecture));
    const std::string code = program.get(hiprtc.code_size, hiprtc.code);
    return code.find("ELF") != std::string::npos ? "" : "no code";
  } catch (const plugin::Failure& failure) {
    return failure.what();
  }
}

/// Whether a library of this name is in the process.
bool has_opened(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  std::stringstream all;
  all << maps.rdbuf();
  return all.str().find(name) != std::string::npos;
}

class HipGate : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!library().is_open()) GTEST_SKIP() << "no hipRTC: " << library().reason();
  }
};
INSTANTIATE_TEST_SUITE_P(Of, HipGate, ::testing::Values("gfx90a:sramecc+:xnack-", "gfx1030"),
                         [](auto& info) { return streams::without_features(info.param); });

TEST_P(HipGate, TakesEveryKernel) {
  const HiprtcApi hiprtc = streams::find_hiprtc(library());
  const std::string prelude = prelude_of(SLUICE_DIALECT_HIP, true);
  const std::vector<std::string> texts = texts_of_everything(SLUICE_DIALECT_HIP, true);
  ASSERT_GT(texts.size(), 300U);
  constexpr std::size_t kBatch = 24;
  for (std::size_t first = 0; first < texts.size(); first += kBatch) {
    const auto begin = texts.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = texts.begin() + static_cast<std::ptrdiff_t>(std::min(first + kBatch, texts.size()));
    EXPECT_EQ(complaint(hiprtc, kernel_batch(prelude, {begin, end}), GetParam()), "") << "kernels from " << first;
  }
  EXPECT_EQ(complaint(hiprtc, probe_text(SLUICE_DIALECT_HIP, true), GetParam()), "");
  // As a device compiles it, alone.
  EXPECT_EQ(complaint(hiprtc, texts.front(), GetParam()), "");
  EXPECT_FALSE(has_opened("libOpenCL") || has_opened("libpocl"));
  std::printf("%zu kernels for %s\n", texts.size() + 1, GetParam());
}

TEST_P(HipGate, RefusesWhatIsWrong) {
  const HiprtcApi hiprtc = streams::find_hiprtc(library());
  const std::string prelude = prelude_of(SLUICE_DIALECT_HIP, true);
  EXPECT_NE(complaint(hiprtc, prelude + "KFN int k_wrong() { return no; }\n", GetParam()).find("no"),
            std::string::npos);
  EXPECT_NE(complaint(hiprtc, prelude + "KFN float k_wrong(float x) { return metal::fma(x, x, x); }\n", GetParam()),
            "");
}

// The backend gives hipRTC no architecture that is not listed.
TEST_P(HipGate, TheCompilerListsTheArchitecture) {
  const std::vector<std::string> known = streams::architectures_of_compiler(false);
  if (known.empty()) GTEST_SKIP() << "the library behind hipRTC cannot be asked";
  EXPECT_NE(std::find(known.begin(), known.end(), streams::without_features(GetParam())), known.end());
}

}  // namespace
}  // namespace sluice::tests
