#include "backends/common/failure.hpp"
#include "backends/hip/hiprtc.hpp"

namespace sluice::streams {

using plugin::DriverLibrary;

HiprtcApi find_hiprtc(const DriverLibrary& library) {
  HiprtcApi result{};
  FunctionFinder finder(library);
#define SLUICE_HIPRTC_FIND(ours, theirs, parameters) finder.find(result.ours);
  SLUICE_HIPRTC_FUNCTIONS(SLUICE_HIPRTC_FIND)
#undef SLUICE_HIPRTC_FIND
  finder.find(result.error_text, "hiprtcGetErrorString");
  if (finder.missing().empty()) return result;
  throw plugin::Failure(SLUICE_ERROR,
                        library.file_of("hiprtcCompileProgram") + " is too old: it lacks " + finder.missing());
}

std::vector<std::string> hiprtc_options(const std::string& architecture) {
  return {"-O3", "-ffp-contract=off", "--offload-arch=" + architecture};
}

std::string without_features(const std::string& architecture) { return architecture.substr(0, architecture.find(':')); }

// The library behind hipRTC lists "amdgcn-amd-amdhsa--gfx90a" and the like.
std::vector<std::string> architectures_of_compiler(bool is_new) {
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
    const std::string whole = name;
    const std::size_t dashes = whole.rfind("--");
    known.push_back(without_features(dashes == std::string::npos ? whole : whole.substr(dashes + 2)));
  }
  return known;
}

}  // namespace sluice::streams
