// The simulated NVRTC: libnvrtc.so.12.
#include <algorithm>
#include <string>

#include "tests/simulated/streams/call.hpp"
#include "tests/simulated/streams/text_compiler.hpp"

namespace simulated {
namespace {

int version() { return number_of("SIMULATED_NVRTC_VERSION", 12040); }
std::vector<std::string> capabilities() { return list_of("SIMULATED_NVRTC_CAPABILITIES", "75,80,86,90,100"); }

bool take(const std::string& option, Image& image) {
  const std::string architecture = "--gpu-architecture=";
  if (option == "--fmad=false" || option == "--std=c++14") return true;
  if (!option.starts_with(architecture)) return false;
  const std::string target = option.substr(architecture.size());
  image.kind = target.starts_with("sm_") ? "cubin" : "ptx";
  image.target = target.substr(target.find('_') + 1);
  image.version = version();
  const std::vector<std::string> known = capabilities();
  return (target.starts_with("sm_") || target.starts_with("compute_")) &&
         std::find(known.begin(), known.end(), image.target) != known.end();
}

}  // namespace

SIMULATED_EXPORT const char* nvrtcGetErrorString(int code) { return compiler_result("NVRTC", code); }

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
  for (const std::string& each : capabilities()) *to++ = std::atoi(each.c_str());
  return 0;
}

SIMULATED_EXPORT int nvrtcCreateProgram(Program** program, const char* text, const char*, int, const char* const*,
                                        const char* const*) {
  if (program == nullptr || text == nullptr) return kInvalidInput;
  *program = new Program{text, "", {}};
  return 0;
}

SIMULATED_EXPORT int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}

SIMULATED_EXPORT int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  return compile_program("nvrtcCompileProgram", *program, count, options, take);
}

SIMULATED_EXPORT int nvrtcGetProgramLogSize(Program* program, std::size_t* bytes) {
  return size_of(program->log, bytes);
}
SIMULATED_EXPORT int nvrtcGetProgramLog(Program* program, char* to) { return give(program->log, to); }
SIMULATED_EXPORT int nvrtcGetPTXSize(Program* program, std::size_t* bytes) {
  return size_of(write_image(program->image), bytes);
}
SIMULATED_EXPORT int nvrtcGetPTX(Program* program, char* to) { return give(write_image(program->image), to); }
SIMULATED_EXPORT int nvrtcGetCUBINSize(Program* program, std::size_t* bytes) {
  return program->image.kind == "cubin" ? size_of(write_image(program->image), bytes) : kInvalidInput;
}
SIMULATED_EXPORT int nvrtcGetCUBIN(Program* program, char* to) { return give(write_image(program->image), to); }

}  // namespace simulated
