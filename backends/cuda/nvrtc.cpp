// Kernel text to machine code: NVRTC makes a cubin where it knows the GPU's architecture, else PTX, which the driver
// compiles. A cubin asks nothing of the driver's own compiler, which may be older than NVRTC.
#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "backends/common/driver_library.hpp"
#include "backends/common/text.hpp"
#include "backends/cuda/cuda_info.hpp"

namespace sluice::streams {
namespace {

using plugin::DriverLibrary;
using plugin::Failure;

constexpr std::size_t kLongestLog = 3900;

// The one of the driver's own generation first: PTX of a newer one is refused.
DriverLibrary open_nvrtc() {
  const int version = driver_version();
  if (version >= 13000) return DriverLibrary({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"});
  if (version >= 12000) return DriverLibrary({"libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so.13", "libnvrtc.so"});
  return DriverLibrary({"libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so"});
}

NvrtcApi load_nvrtc() {
  const DriverLibrary library = open_nvrtc();
  if (!library.is_open()) {
    throw Failure(SLUICE_ERROR,
                  "CUDA kernels need NVRTC, the compiler of the CUDA toolkit, which is not found: " + library.reason() +
                      "; install the toolkit's NVRTC, or add its folder to "
                      "$LD_LIBRARY_PATH");
  }
  NvrtcApi result{};
  std::string missing;
#define SLUICE_NVRTC_FIND(name, type, parameters)                             \
  result.name = reinterpret_cast<decltype(result.name)>(library.find(#name)); \
  if (result.name == nullptr) missing += missing.empty() ? #name : ", " #name;
  SLUICE_NVRTC_FUNCTIONS(SLUICE_NVRTC_FIND)
#undef SLUICE_NVRTC_FIND
  if (!missing.empty()) {
    throw Failure(SLUICE_ERROR, library.file_of("nvrtcVersion") + " is older than CUDA 11.2, it lacks " + missing);
  }
  return result;
}

const NvrtcApi& nvrtc() {
  static const NvrtcApi* const instance = new NvrtcApi(load_nvrtc());
  return *instance;
}

void check_nvrtc(int code, const char* function) {
  if (code == 0) return;
  throw Failure(code == kNvrtcOutOfMemory ? SLUICE_OUT_OF_MEMORY : SLUICE_ERROR,
                std::string(function) + ": " + nvrtc().nvrtcGetErrorString(code) + " (" + std::to_string(code) + ")");
}

std::string nvrtc_version() {
  int major = 0, minor = 0;
  if (nvrtc().nvrtcVersion(&major, &minor) != 0) return "NVRTC";
  return "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
}

/// What to compile for.
struct Target {
  int architecture;
  bool is_exact;
};

Target target_of(DeviceNumber device) {
  const int wanted = compute_capability(device);
  int count = 0;
  check_nvrtc(nvrtc().nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> known(static_cast<std::size_t>(count));
  check_nvrtc(nvrtc().nvrtcGetSupportedArchs(known.data()), "nvrtcGetSupportedArchs");
  int best = 0;
  for (const int each : known) {
    if (each <= wanted) best = std::max(best, each);
  }
  if (best == 0) {
    throw Failure(SLUICE_ERROR, nvrtc_version() + " does not compile for sm_" + std::to_string(wanted) +
                                    " any more; install the NVRTC of an older CUDA toolkit beside it");
  }
  return {best, best == wanted};
}

class Program {
 public:
  explicit Program(const char* text) {
    check_nvrtc(nvrtc().nvrtcCreateProgram(&program_, text, "kernel.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  }
  ~Program() { nvrtc().nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void compile(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    const int code = nvrtc().nvrtcCompileProgram(program_, static_cast<int>(words.size()), words.data());
    if (code == kNvrtcCompilation || code == kNvrtcInvalidOption) {
      throw Failure(SLUICE_BAD_SOURCE, std::string(nvrtc().nvrtcGetErrorString(code)) + "\n" + log());
    }
    check_nvrtc(code, "nvrtcCompileProgram");
  }

  std::string image(bool is_cubin) {
    const NvrtcApi& f = nvrtc();
    return is_cubin ? get(f.nvrtcGetCUBINSize, f.nvrtcGetCUBIN, "nvrtcGetCUBIN")
                    : get(f.nvrtcGetPTXSize, f.nvrtcGetPTX, "nvrtcGetPTX");
  }

 private:
  std::string get(int (*size_of)(NvrtcProgram, std::size_t*), int (*copy)(NvrtcProgram, char*), const char* function) {
    std::size_t bytes = 0;
    check_nvrtc(size_of(program_, &bytes), function);
    std::string result(bytes, '\0');
    check_nvrtc(copy(program_, result.data()), function);
    return result;
  }
  std::string log() {
    const std::string text = get(nvrtc().nvrtcGetProgramLogSize, nvrtc().nvrtcGetProgramLog, "nvrtcGetProgramLog");
    const std::string_view shown = std::string_view(text).substr(0, text.find('\0'));
    return shown.empty() ? "no log" : std::string(plugin::cut(shown, kLongestLog));
  }

  NvrtcProgram program_ = nullptr;
};

/// Why the driver refuses what NVRTC made, and the way out.
std::string advice_for(int code, DeviceNumber device) {
  const std::string made = "; it was made by " + nvrtc_version() + ", the driver is of CUDA " + driver_version_text();
  switch (code) {
    case kInvalidImage:
    case kNoBinaryForGpu:
      return made + " and the GPU is sm_" + std::to_string(compute_capability(device)) +
             ": update the driver, or install the NVRTC of its CUDA version";
    case kInvalidPtx: return made + ": update the driver, or install the NVRTC of its CUDA version";
    case kUnsupportedPtxVersion:
      return made + ", which is older: update the driver, or install the NVRTC of CUDA " + driver_version_text();
    default: return "";
  }
}

}  // namespace

std::string compile_text(DeviceNumber device, const sluice_source& source) {
  const Target target = target_of(device);
  std::vector<std::string> options = {"--fmad=false", "--std=c++14",
                                      (target.is_exact ? "--gpu-architecture=sm_" : "--gpu-architecture=compute_") +
                                          std::to_string(target.architecture)};
  std::istringstream words(source.options);
  for (std::string word; words >> word;) options.push_back(word);
  Program program(source.text);
  program.compile(options);
  return program.image(target.is_exact);
}

Module load_image(DeviceNumber device, const std::string& image) {
  char log[2048] = "";
  int options[] = {kErrorLogBuffer, kErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
  Module module = nullptr;
  const int code = api().load_module.raw(&module, image.data(), 2, options, values);
  if (code == kSuccess) return module;
  const std::string words = log[0] == '\0' ? "" : std::string("\n") + log;
  throw Failure(status_of(code),
                std::string(api().load_module.name) + ": " + describe_code(code) + advice_for(code, device) + words);
}

}  // namespace sluice::streams
