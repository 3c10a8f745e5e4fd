// How a test finds the plug-ins of tests/simulated/ and steers the virtual GPU in one of them.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "tests/simulated/virtual_gpu_controls.h"

namespace sluice::tests {

/// The folder of a plug-in, for $SLUICE_BACKEND_PATH: "cuda", "amdgpu", "metal", "opencl", "virtual", or "odd/<kind>"
/// with abi, no-abi, null-open, dependency, small, null-name, forgetful.
inline std::string plugin_folder(const std::string& name) { return SLUICE_TEST_PLUGINS "/" + name; }

/// The file in that folder.
inline std::string plugin_path(const std::string& name) {
  const std::string stem = name.starts_with("odd/") ? "odd" : name;
#if defined(__APPLE__)
  return plugin_folder(name) + "/libsluice-" + stem + ".dylib";
#else
  return plugin_folder(name) + "/libsluice-" + stem + ".so";
#endif
}

/// The controls of the virtual GPU in a plug-in's file, which this process has opened or opens now. A host that opens
/// the same file shares it.
class VirtualGpu {
 public:
  explicit VirtualGpu(const std::string& path) : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    find(read_counters, "virtual_gpu_read_counters");
    find(reset_counters, "virtual_gpu_reset_counters");
    find(traps, "virtual_gpu_traps");
    find(set_faults, "virtual_gpu_set_faults");
    find(get_current, "virtual_gpu_get_current");
    find(set_current, "virtual_gpu_set_current");
    find(live, "virtual_gpu_live");
    find(pending, "virtual_gpu_pending");
    find(enabled, "virtual_gpu_enabled");
  }

  void* library() const { return library_; }

  virtual_gpu_counters counters() const {
    virtual_gpu_counters result;
    read_counters(&result);
    return result;
  }
  std::uint64_t live_blocks(std::uint32_t number) const {
    std::uint64_t blocks = 0, bytes = 0;
    live(number, &blocks, &bytes);
    return blocks;
  }
  std::uint64_t live_bytes(std::uint32_t number) const {
    std::uint64_t blocks = 0, bytes = 0;
    live(number, &blocks, &bytes);
    return bytes;
  }

  decltype(&virtual_gpu_read_counters) read_counters;
  decltype(&virtual_gpu_reset_counters) reset_counters;
  decltype(&virtual_gpu_traps) traps;
  decltype(&virtual_gpu_set_faults) set_faults;
  decltype(&virtual_gpu_get_current) get_current;
  decltype(&virtual_gpu_set_current) set_current;
  decltype(&virtual_gpu_live) live;
  decltype(&virtual_gpu_pending) pending;
  decltype(&virtual_gpu_enabled) enabled;

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("the plug-in lacks ") + name);
  }

  void* library_;
};

}  // namespace sluice::tests
