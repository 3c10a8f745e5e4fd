// A thin wrapper of dlopen for drivers and vendor libraries that are found when the program runs. A library once opened
// stays open for the life of the process: its threads, thread-locals and objects make closing unsafe.
#pragma once

#include <initializer_list>
#include <string>

namespace sluice::detail {

class DynamicLibrary {
 public:
  DynamicLibrary() = default;  // opened nothing

  /// Opens the first of `names` that the loader accepts, its symbols local and all resolved now. Never throws for a
  /// library that is not there: see error().
  static DynamicLibrary open(std::initializer_list<const char*> names);

  explicit operator bool() const { return handle_ != nullptr; }

  /// The name that was opened; empty if none was.
  const std::string& name() const { return name_; }

  /// The loader's message for every name that failed; empty when one was opened.
  const std::string& error() const { return error_; }

  /// The address of a symbol, or null. Function is a function type: symbol<int(float)>("f").
  template <class Function>
  Function* symbol(const char* symbol_name) const {
    return reinterpret_cast<Function*>(address(symbol_name));
  }

  /// The symbol that this library's own calls reach: the program's when it has one, else that of this library or of
  /// those it was linked to.
  template <class Function>
  Function* symbol_as_seen_from_inside(const char* symbol_name) const {
    return reinterpret_cast<Function*>(address_from_inside(symbol_name));
  }

 private:
  void* address(const char* symbol_name) const;
  void* address_from_inside(const char* symbol_name) const;

  void* handle_ = nullptr;
  std::string name_;
  std::string error_;
};

}  // namespace sluice::detail
