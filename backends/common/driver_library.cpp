#include "backends/common/driver_library.hpp"

#include <dlfcn.h>

namespace sluice::plugin {

DriverLibrary::DriverLibrary(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      reason_.clear();
      return;
    }
    const char* const words = dlerror();
    if (reason_.empty()) reason_ = words != nullptr ? words : std::string(name) + ": the loader gives no reason";
  }
}

void* DriverLibrary::find(const char* symbol) const noexcept {
  return handle_ != nullptr ? dlsym(handle_, symbol) : nullptr;
}

std::string DriverLibrary::file_of(const char* symbol) const {
  void* const address = find(symbol);
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

}  // namespace sluice::plugin
