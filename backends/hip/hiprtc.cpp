// Kernel text to machine code by hipRTC, for exactly the architecture that a device names. hipRTC is a part of the
// run-time until ROCm 5, and a library of its own later. It brings an LLVM with it, so nothing of it is called before a
// device was found.
#include <algorithm>
#include <string>
#include <vector>

#include "backends/common/driver_library.hpp"
#include "backends/hip/hip_info.hpp"
#include "backends/hip/hiprtc.hpp"
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
  return find_hiprtc(library);
}

const HiprtcApi& hiprtc() {
  static const HiprtcApi* const instance = new HiprtcApi(load_hiprtc());
  return *instance;
}

// hipRTC 5 ends the process when it is given an architecture that it has no library of functions for.
void require_known(const std::string& architecture) {
  static const auto* const known =
      new std::vector<std::string>(architectures_of_compiler(runtime_version() >= 60400000));
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
  std::vector<std::string> options = hiprtc_options(architecture);
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
