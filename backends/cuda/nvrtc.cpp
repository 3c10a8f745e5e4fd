// Kernel text to machine code: NVRTC makes a cubin where it knows the GPU's architecture, else PTX, which the driver
// compiles. A cubin asks nothing of the driver's own compiler, which may be older than NVRTC.
#include <algorithm>
#include <string>
#include <vector>

#include "backends/common/driver_library.hpp"
#include "backends/cuda/cuda_info.hpp"
#include "backends/streams/text_program.hpp"

namespace sluice::streams {
namespace {

using plugin::DriverLibrary;
using plugin::Failure;

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
  FunctionFinder finder(library);
#define SLUICE_NVRTC_FIND(ours, theirs, parameters) finder.find(result.ours);
  SLUICE_NVRTC_FUNCTIONS(SLUICE_NVRTC_FIND)
#undef SLUICE_NVRTC_FIND
  finder.find(result.error_text, "nvrtcGetErrorString");
  if (!finder.missing().empty()) {
    throw Failure(SLUICE_ERROR,
                  library.file_of("nvrtcVersion") + " is older than CUDA 11.2, it lacks " + finder.missing());
  }
  return result;
}

const NvrtcApi& nvrtc() {
  static const NvrtcApi* const instance = new NvrtcApi(load_nvrtc());
  return *instance;
}

std::string nvrtc_version() {
  int major = 0, minor = 0;
  if (nvrtc().version.raw(&major, &minor) != 0) return "NVRTC";
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
  check_compiler(nvrtc(), nvrtc().architecture_count.raw(&count), nvrtc().architecture_count.name);
  std::vector<int> known(static_cast<std::size_t>(count));
  check_compiler(nvrtc(), nvrtc().architectures.raw(known.data()), nvrtc().architectures.name);
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
  for (const std::string& word : words_of(source.options)) options.push_back(word);
  TextProgram program(nvrtc(), source.text, "kernel.cu");
  program.compile(options);
  return target.is_exact ? program.get(nvrtc().cubin_size, nvrtc().cubin) : program.get(nvrtc().ptx_size, nvrtc().ptx);
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
