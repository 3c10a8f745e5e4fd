// The text of kernels in every dialect. A backend that only records what it is given to compile stands in for devices
// that are not there; every operation is asked of it, and the texts are compiled by the compilers that are: NVRTC, and
// clang for OpenCL C. What the kernels compute is tested in plugin_kernels_test.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "sluice/sluice.hpp"
#include "src/core/map.hpp"
#include "src/core/program.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/core/typed_program.hpp"
#include "src/device/plugin_device.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

// ---- A backend that records.

std::uint32_t recorded_dialect = SLUICE_DIALECT_CUDA;
std::uint32_t recorded_features = SLUICE_FEATURE_F64;
std::vector<std::string> recorded_texts;
std::vector<std::uint32_t> launched_bytes;  // of the values of each launch

const char* last_error() { return "recorded"; }
sluice_status count_devices(std::uint32_t* count) {
  *count = 1;
  return SLUICE_OK;
}
sluice_status open_device(std::uint32_t, sluice_device** device) {
  *device = reinterpret_cast<sluice_device*>(&recorded_texts);
  return SLUICE_OK;
}
sluice_status device_info(sluice_device*, sluice_device_info* info) {
  info->dialect = recorded_dialect;
  info->features = recorded_features;
  std::strcpy(info->name, "Recorder");
  return SLUICE_OK;
}
sluice_status allocate(sluice_device*, std::uint64_t bytes, sluice_memory* memory) {
  *memory = reinterpret_cast<sluice_memory>(std::calloc(bytes, 1));
  return SLUICE_OK;
}
sluice_status release(sluice_device*, sluice_memory memory) {
  std::free(reinterpret_cast<void*>(memory));
  return SLUICE_OK;
}
sluice_status write(sluice_device*, sluice_memory to, std::uint64_t offset, const void* from, std::uint64_t bytes) {
  std::memcpy(reinterpret_cast<char*>(to) + offset, from, bytes);
  return SLUICE_OK;
}
sluice_status read(sluice_device*, sluice_memory from, std::uint64_t offset, void* to, std::uint64_t bytes) {
  std::memcpy(to, reinterpret_cast<const char*>(from) + offset, bytes);
  return SLUICE_OK;
}
sluice_status compile(sluice_device*, const sluice_source* source, sluice_kernel** kernel) {
  recorded_texts.emplace_back(source->text);
  *kernel = reinterpret_cast<sluice_kernel*>(&recorded_texts);
  return SLUICE_OK;
}
sluice_status launch(sluice_device*, sluice_kernel*, const sluice_launch* launch) {
  launched_bytes.push_back(launch->arguments[launch->argument_count - 1].bytes);
  return SLUICE_OK;
}
sluice_status free_bytes(sluice_device*, std::uint64_t* bytes) {
  *bytes = std::uint64_t{1} << 40;
  return SLUICE_OK;
}

sluice_backend recording_backend() {
  sluice_backend table{};
  table.size = sizeof table;
  table.name = "Recorder";
  table.last_error = last_error;
  table.device_count = count_devices;
  table.open = open_device;
  table.info = device_info;
  table.alloc = allocate;
  table.free = release;
  table.write = write;
  table.read = read;
  table.compile = compile;
  table.launch = launch;
  table.free_bytes = free_bytes;
  return table;
}

/// A device of the dialect; its texts are in recorded_texts. Lives for ever, as devices do.
Device recording_device(std::uint32_t dialect, bool has_f64) {
  recorded_dialect = dialect;
  recorded_features = has_f64 ? SLUICE_FEATURE_F64 : 0;
  recorded_texts.clear();
  static const sluice_backend kTable = recording_backend();
  static const auto* const kPlugin = new detail::PluginTable(&kTable);
  return Device(new detail::PluginDevice(*kPlugin, 0));
}

// ---- Everything a device can be asked.

std::vector<DType> types_of(bool has_f64) {
  std::vector<DType> types = {boolean, u8, i8, i16, i32, i64, f16, bf16, f32};
  if (has_f64) types.push_back(f64);
  return types;
}

void ask_elementwise(const Device& device, DType dtype, const std::vector<DType>& types) {
  const Tensor x = zeros({3, 4}, dtype, device), y = zeros({3, 1}, dtype, device), z = zeros({}, dtype, device);
  for (int op = static_cast<int>(detail::Op::constant) + 1; op < static_cast<int>(detail::Op::kCount); ++op) {
    std::vector<Tensor> inputs = {x, y, z};
    inputs.resize(static_cast<std::size_t>(detail::row_arity(static_cast<detail::Op>(op))));
    detail::run_map1(detail::row_program(static_cast<detail::Op>(op)), {}, inputs);
  }
  for (const DType to : types) cast(x, to);
  map([](auto a, auto b) { return std::tuple(a * 2.5 + 100, where(a < b, a, 7), a - 1); }, x, y);
}

void ask_the_rest(const Device& device, DType dtype) {
  const Tensor x = zeros({3, 4, 5}, dtype, device), long_one = zeros({5000, 20}, dtype, device);
  // Computed on the device, so that they are checked there.
  const Tensor indices = zeros({4}, i64, device) + 0, many = zeros({2000}, i64, device);
  for (const Dims& dims : {Dims{}, Dims{0}, Dims{1}, Dims{0, 2}}) {
    sum(x, dims), prod(x, dims), maximum(x, dims), minimum(x, dims);
  }
  sum(long_one), prod(long_one), maximum(long_one), minimum(long_one);
  argmax(x, 1), argmin(x, 0);
  permute(x, {2, 0, 1}), cat({x, x}, 1), slice(x, 0, 0, 3, 2);
  gather(x, indices), scatter_add(zeros({3, 4}, dtype, device), indices, 6);
  scatter_add(zeros({2000}, dtype, device), many, 6);
  const Tensor a = zeros({4, 4}, dtype, device);
  for (int form = 0; form < 4; ++form) {
    matmul(a, a, {.transpose_a = (form & 1) != 0, .transpose_b = (form & 2) != 0});
  }
  var(x, {1});
  if (!dtype.is_floating()) return;
  softmax(x, 1), logsoftmax(x, 0), logsumexp(x);
  if (dtype != f32 && dtype != f64) return;
  const Tensor uniforms = detail::empty({10}, dtype, device.impl());
  device.impl()->uniform(detail::dense_operand(uniforms), 10, {});
}

std::vector<std::string> texts_of_everything(std::uint32_t dialect, bool has_f64) {
  const Device device = recording_device(dialect, has_f64);
  const std::vector<DType> types = types_of(has_f64);
  for (const DType dtype : types) {
    ask_elementwise(device, dtype, types);
    ask_the_rest(device, dtype);
  }
  return recorded_texts;
}

/// The part that was written for this kernel, after the prelude.
std::string own_part(const std::string& text) { return text.substr(std::min(text.find(" k_index;"), text.size())); }

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

  /// The compiler's log, empty if it had nothing to say.
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
INSTANTIATE_TEST_SUITE_P(Architectures, OnCuda, ::testing::Values("sm_75", "sm_90", "sm_120"));

// One in so many of the texts of a test, each architecture others: all of them would take minutes.
constexpr std::size_t kEvery = 7;

TEST_P(OnCuda, KernelsCompile) {
  const Nvrtc* const nvrtc = Nvrtc::find();
  if (nvrtc == nullptr) GTEST_SKIP() << "no NVRTC";
  const std::vector<std::string> texts = texts_of_everything(SLUICE_DIALECT_CUDA, true);
  ASSERT_GT(texts.size(), 300U);
  for (std::size_t i = 0; i < texts.size(); i += kEvery) {
    const std::string complaint = nvrtc->complaint(texts[i], GetParam());
    ASSERT_EQ(complaint, "") << own_part(texts[i]);
  }
}

// ---- OpenCL C, by clang.

TEST(OnOpenCl, KernelsCompileAsOpenClC12) {
  if (std::system("clang -x cl -cl-std=CL1.2 -fsyntax-only /dev/null > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "no clang";
  const tests::TemporaryFolder folder;
  for (const bool has_f64 : {true, false}) {
    const std::vector<std::string> texts = texts_of_everything(SLUICE_DIALECT_OPENCL, has_f64);
    for (std::size_t i = 0; i < texts.size(); i += kEvery) {
      const std::string file = (folder.path() / "kernel.cl").string(), log = (folder.path() / "log").string();
      std::ofstream(file) << texts[i];
      const std::string command =
          "clang -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -Werror -Wno-unused-function "
          "-Wno-tautological-compare "
          "-Wno-tautological-compare "
          "-fsyntax-only " +
          std::string(has_f64 ? "" : "-Wdouble-promotion ") + file + " > " + log + " 2>&1";
      const int status = std::system(command.c_str());
      std::ifstream in(log);
      const std::string said((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      ASSERT_EQ(status, 0) << said << own_part(texts[i]);
    }
  }
}

// ---- What the texts say.

/// The text as the preprocessor leaves it where SLUICE_F64 is not defined, as far as that name goes.
std::string without_f64(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  int depth = 0;  // of conditions inside the one that is left out; 0 is outside
  for (std::string line; std::getline(lines, line);) {
    if (depth > 0) {
      if (line.starts_with("#if")) ++depth;
      if (line.starts_with("#endif") || (depth == 1 && line.starts_with("#else"))) --depth;
    } else if (line.starts_with("#ifdef SLUICE_F64")) {
      depth = 1;
    } else {
      result += line + '\n';
    }
  }
  return result;
}

TEST(Text, HasNoDoubleWhereThereIsNone) {
  for (const std::uint32_t dialect : {SLUICE_DIALECT_OPENCL, SLUICE_DIALECT_METAL}) {
    for (const std::string& text : texts_of_everything(dialect, false)) {
      EXPECT_EQ(without_f64(text).find("double "), std::string::npos) << text;
      EXPECT_EQ(text.find("#define SLUICE_F64"), std::string::npos);
    }
  }
}

TEST(Text, OfAnF64ProgramIsRefusedWithoutDoubles) {
  const Device device = recording_device(SLUICE_DIALECT_METAL, false);
  const Tensor x(zeros({3}, f32, device));
  EXPECT_THROW(cast(x, f64), Unsupported);
  EXPECT_TRUE(recorded_texts.empty());
}

TEST(Text, OfAnUnknownDialectIsRefused) {
  const Device device = recording_device(99, true);
  EXPECT_THROW(zeros({3}, f32, device) + 1, Unsupported);
}

TEST(Text, DoesNotDependOnNumbersAndSizes) {
  const Device device = recording_device(SLUICE_DIALECT_CUDA, true);
  for (const std::int64_t size : {3, 4, 1000}) {
    const Tensor x = zeros({size, 2}, f32, device), row = zeros({size}, f32, device);
    for (const double rate : {0.1, 0.2}) map([rate](auto a, auto b) { return a * rate + b; }, x, row);
    sum(x, {0}), matmul(x, x, {.transpose_a = true}), softmax(x), permute(x, {1, 0});
  }
  // Names of structures never differ, so neither may any text be there twice.
  EXPECT_EQ(recorded_texts.size(), std::set<std::string>(recorded_texts.begin(), recorded_texts.end()).size());
  EXPECT_LE(recorded_texts.size(), 8U);
}

TEST(Text, UsesWideIndicesOnlyWhereTheyAreNeeded) {
  const Device device = recording_device(SLUICE_DIALECT_CUDA, true);
  // Never touched: the recorder's memory is asked of the system, which gives it when it is written.
  zeros({3}, u8, device) + 1;
  const std::size_t narrow = recorded_texts.size();
  for (const std::string& text : recorded_texts) EXPECT_NE(text.find("typedef k_u32 k_index"), std::string::npos);
  std::array inputs{detail::empty({(std::int64_t{1} << 31) + 5}, u8, device.impl())};
  detail::run_map1(detail::identity_program(), {}, inputs);
  ASSERT_GT(recorded_texts.size(), narrow);
  EXPECT_NE(recorded_texts.back().find("typedef k_u64 k_index"), std::string::npos);
}

TEST(Text, ValuesFillWholeWords) {
  launched_bytes.clear();
  texts_of_everything(SLUICE_DIALECT_CUDA, true);
  ASSERT_FALSE(launched_bytes.empty());
  for (const std::uint32_t bytes : launched_bytes) EXPECT_EQ(bytes % 8, 0U);
}

}  // namespace
}  // namespace sluice
