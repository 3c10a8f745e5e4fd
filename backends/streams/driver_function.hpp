// A function of a vendor's driver, which knows its own name: called like the function itself it throws Failure with
// that name and the driver's words; `raw` is for callers that tell results apart.
#pragma once

#include <string>

#include "backends/common/driver_library.hpp"

namespace sluice::streams {

/// Throws Failure unless `code` is success.
void check(int code, const char* function);

template <class Signature>
struct DriverFunction;

template <class... P>
struct DriverFunction<int(P...)> {
  const char* name;
  int (*raw)(P...) = nullptr;

  void operator()(P... arguments) const { check(raw(arguments...), name); }
};

/// Looks functions up in a library, and notes those that it lacks.
class FunctionFinder {
 public:
  explicit FunctionFinder(const plugin::DriverLibrary& library) : library_(library) {}

  /// Null where the library has none.
  template <class Function>
  void find_optional(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(library_.find(name));
  }
  template <class Function>
  void find(Function*& function, const char* name) {
    find_optional(function, name);
    if (function == nullptr) missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
  }
  template <class Signature>
  void find(DriverFunction<Signature>& function) {
    find(function.raw, function.name);
  }

  /// "hipMalloc, hipFree"; empty if nothing is missing.
  const std::string& missing() const noexcept { return missing_; }

 private:
  const plugin::DriverLibrary& library_;
  std::string missing_;
};

}  // namespace sluice::streams
