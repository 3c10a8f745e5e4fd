// The library behind hipRTC, as far as it is asked what it compiles for: libamd_comgr.so.3 and .so.2.
#include "tests/simulated/hip/hip.hpp"
#include "tests/simulated/streams/call.hpp"

namespace simulated {
namespace {

const std::vector<std::string>& names() {
  static const auto* const instance = [] {
    auto* const all = new std::vector<std::string>(known_architectures());
    for (std::string& name : *all) name.insert(0, "amdgcn-amd-amdhsa--");
    return all;
  }();
  return *instance;
}

}  // namespace

SIMULATED_EXPORT int amd_comgr_get_isa_count(std::size_t* count) {
  *count = names().size();
  return 0;
}

SIMULATED_EXPORT int amd_comgr_get_isa_name(std::size_t k, const char** name) {
  if (k >= names().size()) return 2;
  *name = names()[k].c_str();
  return 0;
}

}  // namespace simulated
