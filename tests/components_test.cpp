// Vendors' libraries: which ones are used, and why not. A virtual plug-in stands for the vendor's; the helper program
// of this build tries its library. Each case runs in a process of its own; forked children stand for further programs.
#include "src/device/components.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "processes.hpp"
#include "simulated/controls.hpp"
#include "sluice/backends.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

/// A plug-in with "cuBLAS", which is there, and "cuDNN", which is not, and an empty cache for verdicts.
class Components : public ::testing::Test {
 protected:
  Components() {
    fs::copy(tests::plugin_path("cuda"), plugin());
    setenv("SLUICE_BACKEND_PATH", fs::canonical(folder_.path()).c_str(), 1);
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    setenv("VIRTUAL_GPU_COUNT", "1", 1);
    unsetenv("VIRTUAL_GPU_FAULTS");
    unsetenv("SLUICE_PROBE_SECONDS");
  }
  std::string plugin() const { return folder_ / fs::path(tests::plugin_path("cuda")).filename(); }

  /// What a program that is started now hears about cuBLAS: whether its reason, empty if it works, is as expected.
  bool next_program_hears(const std::string& reason, const char* faults = "") {
    return testing::exit_code_of_child([&] {
             setenv("VIRTUAL_CUDA_FAULTS", faults, 1);
             const std::string answer = why("CUDA", "cuBLAS");
             if (!functional("CUDA")) return false;
             if (functional("CUDA", "cuBLAS") != answer.empty() || why("CUDA", "cuBLAS") != answer) return false;
             const bool is_right = reason.empty() ? answer.empty() : contains(answer, reason);
             if (!is_right) std::fprintf(stderr, "not \"%s\" but \"%s\"\n", reason.c_str(), answer.c_str());
             return is_right;
           }) == 0;
  }
  std::vector<std::string> verdict_files() const {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_ / "cache/sluice/probe", error)) {
      files.push_back(entry.path().string());
    }
    return files;
  }

  tests::TemporaryFolder folder_;
};

TEST_F(Components, OneThatWorksIsSwitchedOn) {
  ASSERT_TRUE(functional("CUDA")) << why("CUDA");
  const tests::VirtualGpu gpu(plugin());
  EXPECT_EQ(gpu.enabled(), 0U);
  EXPECT_EQ(why("CUDA", "cuBLAS"), "");
  EXPECT_TRUE(functional("CUDA", "cuBLAS"));
  EXPECT_EQ(gpu.enabled(), 1U);
  EXPECT_EQ(gpu.counters().calls[VIRTUAL_GPU_PROBE], 0U) << "the first call is made elsewhere";
}

TEST_F(Components, UnknownAndMissingOnesHaveTheirReasons) {
  EXPECT_EQ(why("CUDA", "cublas"), "CUDA has no component cublas; it has cuBLAS, cuDNN");
  EXPECT_TRUE(contains(why("CUDA", "cuDNN"), "cannot open shared object file")) << why("CUDA", "cuDNN");
  EXPECT_FALSE(functional("CUDA", ""));
  EXPECT_FALSE(functional("OpenCL", "CLBlast"));
  EXPECT_FALSE(functional("CPU", "oneDNN"));
  EXPECT_TRUE(verdict_files().empty());
}

TEST_F(Components, OneThatIsLinkedIntoTheProgramCannotBeTried) {
  const tests::VirtualGpu gpu(tests::plugin_path("virtual"));
  const auto open = reinterpret_cast<sluice_backend_open_function>(dlsym(gpu.library(), "sluice_backend_open"));
  ASSERT_EQ(register_backend(open(SLUICE_BACKEND_ABI)), "Virtual");
  EXPECT_TRUE(contains(why("Virtual", "VirtualBLAS"), "linked into the program")) << why("Virtual", "VirtualBLAS");
}

// ---- Libraries that do harm.

TEST_F(Components, OneThatAbortsIsRememberedByLaterPrograms) {
  EXPECT_TRUE(next_program_hears("cuBLAS on CUDA device 0 aborted (signal 6)", "abort-probe"));
  EXPECT_EQ(verdict_files().size(), 1U);
  EXPECT_TRUE(next_program_hears("aborted (signal 6)")) << "it would work now, but nobody tries";
  setenv("VIRTUAL_CUDA_FAULTS", "", 1);
  EXPECT_FALSE(functional("CUDA", "cuBLAS"));
  EXPECT_EQ(tests::VirtualGpu(plugin()).enabled(), 0U);
  fs::remove(verdict_files().front());
  EXPECT_FALSE(functional("CUDA", "cuBLAS")) << "one process gives one answer";
}

TEST_F(Components, WithoutItsVerdictALibraryIsTriedAgain) {
  EXPECT_TRUE(next_program_hears("remove it to try again", "abort-probe"));
  fs::remove(verdict_files().front());
  EXPECT_TRUE(next_program_hears(""));
}

TEST_F(Components, OneThatHangsIsRememberedByProgramsThatWaitNoLonger) {
  setenv("SLUICE_PROBE_SECONDS", "1", 1);
  EXPECT_TRUE(next_program_hears("did not answer within 1 s", "hang-probe"));
  EXPECT_TRUE(next_program_hears("did not answer within 2 s", "hang-probe"));
  EXPECT_TRUE(next_program_hears("did not answer within 3 s", "hang-probe"));
  EXPECT_TRUE(next_program_hears("did not answer within 3 s")) << "three programs in a row";
  setenv("SLUICE_PROBE_SECONDS", "20", 1);
  EXPECT_TRUE(next_program_hears("")) << "a second proves nothing to one that gives it twenty";
}

TEST_F(Components, OneThatWasSlowOnceIsTriedAgain) {
  setenv("SLUICE_PROBE_SECONDS", "1", 1);
  EXPECT_TRUE(next_program_hears("did not answer within 1 s", "hang-probe"));
  EXPECT_TRUE(next_program_hears(""));
}

TEST_F(Components, OneThatFailsIsRemembered) {
  EXPECT_TRUE(next_program_hears("failed: call number 1 of its kind failed", "probe:1"));
  EXPECT_TRUE(next_program_hears("failed: call number 1 of its kind failed"));
}

TEST_F(Components, OneThatWorksIsRemembered) {
  EXPECT_TRUE(next_program_hears(""));
  EXPECT_TRUE(next_program_hears("", "abort-probe"));
}

TEST_F(Components, ARunThatDidNotComeToTheCallIsForgotten) {
  setenv("VIRTUAL_GPU_COUNT", "2", 1);
  EXPECT_TRUE(next_program_hears("could not be tried: open", "open:1")) << "device 1 works here, and not in the helper";
  EXPECT_TRUE(verdict_files().empty());
  EXPECT_TRUE(next_program_hears(""));
}

TEST_F(Components, EveryModelOfCardIsTried) {
  setenv("VIRTUAL_GPU_COUNT", "3", 1);  // each has a name of its own
  EXPECT_TRUE(next_program_hears(""));
  EXPECT_EQ(verdict_files().size(), 3U);
  fs::remove(verdict_files()[1]);
  EXPECT_TRUE(next_program_hears("aborted (signal 6)", "abort-probe")) << "one bad card is enough";
}

// ---- What a verdict depends on.

TEST_F(Components, AnotherPluginFileIsTriedAnew) {
  EXPECT_TRUE(next_program_hears("aborted", "abort-probe"));
  fs::last_write_time(plugin(), fs::last_write_time(plugin()) + std::chrono::seconds(1));
  EXPECT_TRUE(next_program_hears(""));
}

TEST_F(Components, DamagedVerdictsAreReplaced) {
  EXPECT_TRUE(next_program_hears(""));
  ASSERT_EQ(verdict_files().size(), 1U);
  const std::string file = verdict_files().front(), whole = tests::content_of(file);
  for (const std::string& content : {std::string(), std::string("nonsense"), whole.substr(0, whole.size() / 2)}) {
    std::ofstream(file, std::ios::binary) << content;
    EXPECT_TRUE(next_program_hears("aborted", "abort-probe")) << content;
    EXPECT_TRUE(next_program_hears("aborted")) << "the new one is kept";
  }
}

TEST_F(Components, NoPlaceForVerdictsIsNoFailure) {
  setenv("XDG_CACHE_HOME", "/proc/nothing", 1);
  EXPECT_TRUE(next_program_hears(""));
  EXPECT_TRUE(next_program_hears("aborted", "abort-probe"));
  EXPECT_TRUE(next_program_hears(""));
}

}  // namespace
}  // namespace sluice
