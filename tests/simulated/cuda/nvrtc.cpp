// The simulated NVRTC: what does not compile for the virtual GPU does not compile here.
#include <cstring>
#include <mutex>
#include <string>

#include "backends/cuda/cuda_api.hpp"
#include "sluice/backend.h"
#include "tests/simulated/cuda/image.hpp"
#include "tests/simulated/cuda/settings.hpp"
#include "tests/simulated/virtual_compiler.hpp"

#define SIMULATED_EXPORT extern "C" __attribute__((visibility("default")))

struct _nvrtcProgram {  // NOLINT(bugprone-reserved-identifier): NVRTC's name
  std::string text, log;
  simulated_cuda::Image image{};
};

namespace simulated_cuda {
namespace {

using sluice::streams::NvrtcProgram;

constexpr int kInvalidInput = 3, kInvalidOption = 5, kCompilation = 6;

std::mutex& lock() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

int version() { return number_of("SIMULATED_NVRTC_VERSION", 12040); }
std::vector<int> capabilities() { return numbers_of("SIMULATED_NVRTC_CAPABILITIES", "75,80,86,90,100"); }

bool compiles_for(int capability) {
  for (const int each : capabilities()) {
    if (each == capability) return true;
  }
  return false;
}

/// Takes an option into the program; false if there is no such one.
bool take_option(const std::string& option, _nvrtcProgram& program, std::string& defines) {
  const std::string architecture = "--gpu-architecture=";
  if (option == "--fmad=false" || option == "--std=c++14") return true;
  if (option.starts_with("-D")) {
    std::string define = option.substr(2);
    if (const std::size_t equals = define.find('='); equals != std::string::npos) define[equals] = ' ';
    defines += "#define " + define + "\n";
    return true;
  }
  if (!option.starts_with(architecture)) return false;
  const std::string target = option.substr(architecture.size());
  program.image.is_cubin = target.starts_with("sm_");
  program.image.capability = std::atoi(target.c_str() + target.find('_') + 1);
  return (program.image.is_cubin || target.starts_with("compute_")) && compiles_for(program.image.capability);
}

int compile(_nvrtcProgram& program, int count, const char* const* options) {
  std::string defines;
  for (int k = 0; k < count; ++k) {
    if (take_option(options[k], program, defines)) continue;
    program.log = std::string("nvrtc: error: invalid value for or unrecognized option ") + options[k];
    return kInvalidOption;
  }
  program.image.text = defines + program.text;
  program.image.version = version();
  for (const std::string& kernel : kernels_of(program.image.text)) {
    virtual_gpu::CompiledKernel compiled;
    if (is_probe(kernel)) continue;
    program.log = virtual_gpu::compile_text(program.image.text, kernel, SLUICE_DIALECT_CUDA, compiled);
    if (!program.log.empty()) return kCompilation;
  }
  return 0;
}

int size_of(const std::string& text, std::size_t* bytes) {
  *bytes = text.size() + 1;
  return 0;
}

int give(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

std::string image_of(const _nvrtcProgram& program) { return write_image(program.image); }

}  // namespace

SIMULATED_EXPORT const char* nvrtcGetErrorString(int code) {
  switch (code) {
    case 0: return "NVRTC_SUCCESS";
    case kInvalidInput: return "NVRTC_ERROR_INVALID_INPUT";
    case kInvalidOption: return "NVRTC_ERROR_INVALID_OPTION";
    case kCompilation: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR unknown";
  }
}

SIMULATED_EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = version() / 1000;
  *minor = version() % 1000 / 10;
  return 0;
}

SIMULATED_EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(capabilities().size());
  return 0;
}

SIMULATED_EXPORT int nvrtcGetSupportedArchs(int* to) {
  for (const int each : capabilities()) *to++ = each;
  return 0;
}

SIMULATED_EXPORT int nvrtcCreateProgram(NvrtcProgram* program, const char* text, const char*, int, const char* const*,
                                        const char* const*) {
  if (program == nullptr || text == nullptr) return kInvalidInput;
  *program = new _nvrtcProgram{text, "", {}};
  return 0;
}

SIMULATED_EXPORT int nvrtcDestroyProgram(NvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return 0;
}

SIMULATED_EXPORT int nvrtcCompileProgram(NvrtcProgram program, int count, const char* const* options) {
  const std::lock_guard guard(lock());
  if (const int fault = planned_fault("nvrtcCompileProgram")) return fault;
  return compile(*program, count, options);
}

SIMULATED_EXPORT int nvrtcGetProgramLogSize(NvrtcProgram program, std::size_t* bytes) {
  return size_of(program->log, bytes);
}
SIMULATED_EXPORT int nvrtcGetProgramLog(NvrtcProgram program, char* to) { return give(program->log, to); }
SIMULATED_EXPORT int nvrtcGetPTXSize(NvrtcProgram program, std::size_t* bytes) {
  return size_of(image_of(*program), bytes);
}
SIMULATED_EXPORT int nvrtcGetPTX(NvrtcProgram program, char* to) { return give(image_of(*program), to); }
SIMULATED_EXPORT int nvrtcGetCUBINSize(NvrtcProgram program, std::size_t* bytes) {
  if (!program->image.is_cubin) return kInvalidInput;
  return size_of(image_of(*program), bytes);
}
SIMULATED_EXPORT int nvrtcGetCUBIN(NvrtcProgram program, char* to) { return give(image_of(*program), to); }

}  // namespace simulated_cuda
