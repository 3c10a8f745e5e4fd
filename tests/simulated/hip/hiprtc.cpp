// The simulated hipRTC: libhiprtc.so.7, and a part of libamdhip64.so.5. Like the real one of ROCm 5 it ends the process
// when it is given an architecture that it does not know.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/simulated/hip/hip.hpp"
#include "tests/simulated/streams/call.hpp"
#include "tests/simulated/streams/text_compiler.hpp"

namespace simulated {
namespace {

bool take(const std::string& option, Image& image) {
  const std::string architecture = "--offload-arch=";
  if (option == "-ffp-contract=off" || option == "-O3") return true;
  if (!option.starts_with(architecture)) return false;
  image.kind = "code-object";
  image.target = option.substr(architecture.size());
  const std::vector<std::string> known = known_architectures();
  const std::string plain = image.target.substr(0, image.target.find(':'));
  if (std::find(known.begin(), known.end(), plain) == known.end()) std::abort();
  return true;
}

}  // namespace

SIMULATED_EXPORT const char* hiprtcGetErrorString(int code) { return compiler_result("HIPRTC", code); }

SIMULATED_EXPORT int hiprtcCreateProgram(Program** program, const char* text, const char*, int, const char**,
                                         const char**) {
  if (program == nullptr || text == nullptr) return kInvalidInput;
  *program = new Program{text, "", {}};
  return 0;
}

SIMULATED_EXPORT int hiprtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}

SIMULATED_EXPORT int hiprtcCompileProgram(Program* program, int count, const char** options) {
  return compile_program("hiprtcCompileProgram", *program, count, options, take);
}

SIMULATED_EXPORT int hiprtcGetProgramLogSize(Program* program, std::size_t* bytes) {
  return size_of(program->log, bytes);
}
SIMULATED_EXPORT int hiprtcGetProgramLog(Program* program, char* to) { return give(program->log, to); }
SIMULATED_EXPORT int hiprtcGetCodeSize(Program* program, std::size_t* bytes) {
  return size_of(write_image(program->image), bytes);
}
SIMULATED_EXPORT int hiprtcGetCode(Program* program, char* to) { return give(write_image(program->image), to); }

}  // namespace simulated
