// The stand-in for Metal of tests/simulated/metal/ for a test, whatever the machine has.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace sluice::tests {

#ifdef SLUICE_TEST_SIMULATED_METAL
/// Whoever opens libobjc.A.dylib, Metal or MetalPerformanceShaders in this process gets the simulated ones: the loader
/// knows a library that is open by its own name. To be called before anybody else opens one.
inline void use_simulated_metal(bool with_mps = true) {
  for (const std::string name : {"libobjc.A.dylib", "Metal", "MetalPerformanceShaders"}) {
    if (!with_mps && name == "MetalPerformanceShaders") continue;
    if (dlopen((std::string(SLUICE_TEST_SIMULATED_METAL) + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      throw std::runtime_error(dlerror());
    }
  }
}

/// A function of the simulated runtime or of Metal.
template <class Function>
Function* simulated_metal_function(const char* name) {
  for (const char* const library : {"libobjc.A.dylib", "Metal", "MetalPerformanceShaders"}) {
    void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (void* const address = handle == nullptr ? nullptr : dlsym(handle, name)) {
      return reinterpret_cast<Function*>(address);
    }
  }
  throw std::runtime_error(std::string("no simulated ") + name);
}
#endif

}  // namespace sluice::tests
