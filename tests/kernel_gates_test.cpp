// Every kernel that the library can write goes through the compilers that are here, in every dialect: clang for OpenCL
// C with and without doubles, for Metal and HIP with headers of tests/dialect_stubs/ in place of theirs, for CUDA;
// NVRTC for a part, since it takes its time. Each compiler must also refuse something wrong, or its consent says
// nothing. hipRTC has a gate of its own, hip_gate/.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "all_kernels.hpp"
#include "metal_lint.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::all_kernels;
using tests::prelude_of;

// ---- clang.

#ifdef SLUICE_TEST_CLANG
constexpr const char* kClang = SLUICE_TEST_CLANG;
#else
constexpr const char* kClang = nullptr;
#endif

#define SLUICE_SKIP_WITHOUT_CLANG() \
  if (kClang == nullptr) GTEST_SKIP() << "clang 16 or newer was not found when the tests were configured"

const std::string kStubs = SLUICE_TEST_STUBS;
// Comparing a value with itself is how NaN is found, also where the type is an integer.
const std::string kWarnings =
    " -Wall -Wextra -Werror -Wno-tautological-compare -Wno-unused-function -Wno-unused-parameter -ferror-limit=3 ";

/// What clang says of a text, or what it makes of it.
std::string run_clang(const std::string& options, const std::string& text) {
  const tests::TemporaryFolder folder;
  const std::string file = folder / "kernels.txt";
  std::ofstream(file) << text;
  const std::string command = std::string(kClang) + " " + options + " " + file + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "clang cannot be started";
  std::string said(1 << 20, '\0'), all;
  while (const std::size_t count = std::fread(said.data(), 1, said.size(), pipe)) all.append(said, 0, count);
  if (pclose(pipe) != 0 && all.empty()) return "clang failed and said nothing";
  return all;
}

/// Expects clang to accept all kernels, and the beginning of every kernel, but not with any of these behind it.
void expect_gate(const std::string& options, const std::string& kernels, const std::string& prelude,
                 const std::vector<std::string>& wrong) {
  EXPECT_EQ(run_clang(options, kernels), "");
  EXPECT_EQ(run_clang(options, prelude), "");
  for (const std::string& more : wrong) {
    EXPECT_NE(run_clang(options, prelude + more).find("error:"), std::string::npos) << "accepted: " << more;
  }
}

class OpenClC : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Standards, OpenClC, ::testing::Values("CL1.2", "CL3.0"),
                         [](auto& info) { return std::string(info.param, 3) + info.param[4]; });

std::string opencl_options(const char* standard) {
  return std::string("-x cl -cl-std=") + standard + " -Xclang -finclude-default-header -pedantic -fsyntax-only" +
         kWarnings;
}

TEST_P(OpenClC, TakesEveryKernel) {
  SLUICE_SKIP_WITHOUT_CLANG();
  expect_gate(opencl_options(GetParam()), all_kernels(SLUICE_DIALECT_OPENCL, true),
              prelude_of(SLUICE_DIALECT_OPENCL, true),
              {"KFN float k_wrong(__global const float* p) { __local const float* q = p; return *q; }\n",
               "KFN float k_wrong(float x) { return expm2(x); }\n"});
}

TEST_P(OpenClC, TakesEveryKernelWithoutDoubles) {
  SLUICE_SKIP_WITHOUT_CLANG();
  expect_gate(opencl_options(GetParam()) + "-Wdouble-promotion -Xclang -cl-ext=-cl_khr_fp64,-__opencl_c_fp64",
              all_kernels(SLUICE_DIALECT_OPENCL, false), prelude_of(SLUICE_DIALECT_OPENCL, false),
              {"KFN float k_wrong(float x) { double y = x; return y; }\n"});
}

TEST(Hip, TakesEveryKernel) {
  SLUICE_SKIP_WITHOUT_CLANG();
  const std::string options =
      "-x hip --cuda-device-only -nogpulib -nogpuinc --offload-arch=gfx90a -fsyntax-only -include " + kStubs +
      "/hip.h" + kWarnings;
  expect_gate(options, all_kernels(SLUICE_DIALECT_HIP, true), prelude_of(SLUICE_DIALECT_HIP, true),
              {"static float on_the_host(void);\nKFN float k_wrong(void) { return on_the_host(); }\n",
               "KFN float k_wrong(float x) { return metal::fma(x, x, x); }\n"});
}

TEST(Cuda, TakesEveryKernel) {
  SLUICE_SKIP_WITHOUT_CLANG();
  const std::string options =
      "-x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_75 -Wno-unknown-cuda-version -fsyntax-only "
      "-include " +
      kStubs + "/hip.h" + kWarnings;
  expect_gate(options, all_kernels(SLUICE_DIALECT_CUDA, true), prelude_of(SLUICE_DIALECT_CUDA, true),
              {"static float on_the_host(void);\nKFN float k_wrong(void) { return on_the_host(); }\n"});
}

// ---- Metal.

/// The text with the dialect's macros for memory exchanged for those of the stand-in; see dialect_stubs/metal_stdlib.
std::string with_checked_places(std::string text) {
  for (const char* name : {"READ", "WRITE", "LOCAL"}) {
    const std::string begin = std::string("#define K_") + name;
    const std::size_t at = text.find(begin + "(");
    EXPECT_NE(at, std::string::npos) << name;
    text.replace(at, text.find('\n', at) - at, begin + " METAL_" + name);
  }
  return text;
}

TEST(Metal, TakesEveryKernel) {
  SLUICE_SKIP_WITHOUT_CLANG();
  const std::string options = "-x c++ -std=c++14 -nostdinc++ -fsyntax-only -I" + kStubs + kWarnings +
                              "-Wdouble-promotion -Wno-unknown-attributes -Wno-unknown-pragmas";
  expect_gate(options, with_checked_places(all_kernels(SLUICE_DIALECT_METAL, false)),
              with_checked_places(prelude_of(SLUICE_DIALECT_METAL, false)),
              {"KFN float k_wrong(device const float* p) { threadgroup const float* q = p; return *q; }\n",
               "KFN float k_wrong(float x) { return erf(x); }\n", "KFN float k_wrong(float x) { return x * 0.5; }\n",
               "KFN float k_wrong(float x) { double y = x; return y; }\n",
               "KFN void k_wrong(constant float* p) { p[0] = 1; }\n"});
}

TEST(Metal, TheLintFindsNothing) {
  SLUICE_SKIP_WITHOUT_CLANG();
  const std::string text = all_kernels(SLUICE_DIALECT_METAL, false);
  const std::string words = "-E -P -DMETAL_WORDS -x c++ -Wno-unknown-pragmas -I" + kStubs;
  const std::string plain = run_clang(words, text);
  ASSERT_GT(plain.size(), std::size_t{1} << 16);
  EXPECT_EQ(tests::lint_metal(plain), std::vector<std::string>{});
  const std::string wrong = "K_KERNEL(wrong)(K_READ(float, x, 0), K_VALUES(float, v, 2) K_IDS) { double y = 0; }\n";
  EXPECT_EQ(tests::lint_metal(run_clang(words, text + wrong)).size(), 2U);
}

// ---- NVRTC.

struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;

  static const Nvrtc* find() {
    static Nvrtc nvrtc;
    void* library = nullptr;
    for (const char* name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) return nullptr;
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    load(nvrtc.create, "nvrtcCreateProgram");
    load(nvrtc.compile, "nvrtcCompileProgram");
    load(nvrtc.log_size, "nvrtcGetProgramLogSize");
    load(nvrtc.log, "nvrtcGetProgramLog");
    load(nvrtc.destroy, "nvrtcDestroyProgram");
    return &nvrtc;
  }

  /// The compiler's log, empty if it took the text.
  std::string complaint(const std::string& text, const char* architecture) const {
    Program program = nullptr;
    create(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr);
    const std::string option = std::string("--gpu-architecture=") + architecture;
    const char* const options[] = {option.c_str(), "--fmad=false", "--std=c++14"};
    const int status = compile(program, 3, options);
    std::size_t size = 0;
    log_size(program, &size);
    std::string result(size, '\0');
    log(program, result.data());
    destroy(&program);
    return status == 0 ? "" : result;
  }
};

class OnCuda : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Architectures, OnCuda, ::testing::Values("sm_75", "sm_90", "sm_120"),
                         [](auto& info) { return std::string(info.param); });

// All of them would take minutes. Each architecture has others.
constexpr std::size_t kEvery = 6;

TEST_P(OnCuda, KernelsCompile) {
  const Nvrtc* const nvrtc = Nvrtc::find();
  if (nvrtc == nullptr) GTEST_SKIP() << "no NVRTC";
  const std::size_t first = std::string(GetParam()).size() == 6 ? 4 : GetParam()[3] == '7' ? 0 : 2;
  EXPECT_EQ(nvrtc->complaint(all_kernels(SLUICE_DIALECT_CUDA, true, first, kEvery), GetParam()), "");
  EXPECT_NE(nvrtc->complaint(prelude_of(SLUICE_DIALECT_CUDA, true) + "KFN int k_wrong() { return no; }", GetParam()),
            "");
}

}  // namespace
}  // namespace sluice
