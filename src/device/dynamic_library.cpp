#include "src/device/dynamic_library.hpp"

#include <dlfcn.h>

namespace sluice::detail {

DynamicLibrary DynamicLibrary::open(std::initializer_list<const char*> names) {
  DynamicLibrary library;
  for (const char* name : names) {
    library.handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library.handle_) {
      library.name_ = name;
      library.error_.clear();
      return library;
    }
    const char* message = dlerror();
    if (!library.error_.empty()) library.error_ += "; ";
    library.error_ += message ? message : name;
  }
  return library;
}

void* DynamicLibrary::address(const char* symbol_name) const { return handle_ ? dlsym(handle_, symbol_name) : nullptr; }

void* DynamicLibrary::address_from_inside(const char* symbol_name) const {
  if (!handle_) return nullptr;
  void* global = dlsym(RTLD_DEFAULT, symbol_name);
  return global ? global : dlsym(handle_, symbol_name);
}

}  // namespace sluice::detail
