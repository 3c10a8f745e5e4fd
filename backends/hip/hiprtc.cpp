// Kernel text to machine code by hipRTC, for exactly the architecture that a device names. hipRTC is a part of the
// run-time until ROCm 5, and a library of its own later. It brings an LLVM with it, so nothing of it is called before a
// device was found.
#include <algorithm>
#include <string>
#include <vector>

#include "backends/common/driver_library.hpp"
#include "backends/hip/hip_info.hpp"
#include "backends/streams/text_program.hpp"

namespace sluice::streams {
namespace {

using plugin::DriverLibrary;
using plugin::Failure;

const DriverLibrary& library_with_hiprtc() {
  if (hip_library().find("hiprtcCompileProgram") != nullptr) return hip_library();
  static const auto* const instance = runtime_version() >= 70000000
                                          ? new DriverLibrary({"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so"})
                                          : new DriverLibrary({"libhiprtc.so.6", "libhiprtc.so.7", "libhiprtc.so"});
  return *instance;
}

HiprtcApi load_hiprtc() {
  const DriverLibrary& library = library_with_hiprtc();
  if (!library.is_open()) {
    throw Failure(SLUICE_ERROR,
                  "HIP kernels need hipRTC, the compiler of ROCm, which is not found: " + library.reason() +
                      "; install it (hip-runtime-amd has it), or add its folder to "
                      "$LD_LIBRARY_PATH");
  }
  HiprtcApi result{};
  FunctionFinder finder(library);
#define SLUICE_HIPRTC_FIND(ours, theirs, parameters) finder.find(result.ours);
  SLUICE_HIPRTC_FUNCTIONS(SLUICE_HIPRTC_FIND)
#undef SLUICE_HIPRTC_FIND
  finder.find(result.error_text, "hiprtcGetErrorString");
  if (!finder.missing().empty()) {
    throw Failure(SLUICE_ERROR, library.file_of("hiprtcCompileProgram") + " is too old: it lacks " + finder.missing());
  }
  return result;
}

const HiprtcApi& hiprtc() {
  static const HiprtcApi* const instance = new HiprtcApi(load_hiprtc());
  return *instance;
}

/// "gfx90a" of "gfx90a:sramecc+:xnack-".
std::string without_features(const std::string& architecture) { return architecture.substr(0, architecture.find(':')); }

/// The architectures that hipRTC's compiler has code for, without features; empty where it cannot be asked.
std::vector<std::string> list_known_architectures() {
  const bool is_new = runtime_version() >= 60400000;
  const DriverLibrary library = is_new ? DriverLibrary({"libamd_comgr.so.3", "libamd_comgr.so.2"})
                                       : DriverLibrary({"libamd_comgr.so.2", "libamd_comgr.so.3"});
  int (*isa_count)(std::size_t*) = nullptr;
  int (*isa_name)(std::size_t, const char**) = nullptr;
  FunctionFinder finder(library);
#define SLUICE_COMGR_FIND(ours, theirs, parameters) finder.find(ours, #theirs);
  SLUICE_COMGR_FUNCTIONS(SLUICE_COMGR_FIND)
#undef SLUICE_COMGR_FIND
  std::size_t count = 0;
  std::vector<std::string> known;
  if (!finder.missing().empty() || isa_count(&count) != 0) return known;
  for (std::size_t k = 0; k < count; ++k) {
    const char* name = nullptr;
    if (isa_name(k, &name) != 0 || name == nullptr) return {};
    const std::string whole = name;  // "amdgcn-amd-amdhsa--gfx90a"
    known.push_back(without_features(whole.substr(whole.rfind("--") == std::string::npos ? 0 : whole.rfind("--") + 2)));
  }
  return known;
}

// hipRTC 5 ends the process when it is given an architecture that it has no library of functions for.
void require_known(const std::string& architecture) {
  static const auto* const known = new std::vector<std::string>(list_known_architectures());
  const std::string plain = without_features(architecture);
  if (known->empty() || std::find(known->begin(), known->end(), plain) != known->end()) return;
  throw Failure(SLUICE_ERROR, "the compiler of HIP " + version_text(runtime_version()) + " does not know " + plain +
                                  ", this GPU's architecture, only " + known->front() + " to " + known->back() +
                                  "; install a ROCm that supports it");
}

std::string advice_for(int code, DeviceNumber device) {
  if (code != kInvalidImage && code != kNoBinaryForGpu) return {};
  return "; hipRTC made it for " + architecture_of(device) + ", and HIP " + version_text(runtime_version()) +
         " does not take it: hipRTC and HIP's run-time must be of one ROCm";
}

}  // namespace

std::string compile_text(DeviceNumber device, const sluice_source& source) {
  const std::string architecture = architecture_of(device);
  const HiprtcApi& compiler = hiprtc();
  require_known(architecture);
  std::vector<std::string> options = {"-O3", "-ffp-contract=off", "--offload-arch=" + architecture};
  for (const std::string& word : words_of(source.options)) options.push_back(word);
  TextProgram program(compiler, source.text, "kernel.hip");
  program.compile(options);
  return program.get(compiler.code_size, compiler.code);
}

Module load_image(DeviceNumber device, const std::string& image) {
  Module module = nullptr;
  const int code = api().load_module.raw(&module, image.data());
  if (code == kSuccess) return module;
  throw Failure(status_of(code),
                std::string(api().load_module.name) + ": " + describe_code(code) + advice_for(code, device));
}

}  // namespace sluice::streams
