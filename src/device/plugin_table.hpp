// A backend's table as the host keeps it: a whole copy in which everything the backend does not have is null, with
// calls that turn a status into an exception.
#pragma once

#include <string>
#include <string_view>

#include "sluice/backend.h"

namespace sluice::detail {

/// What went wrong in a call, as the backend says it.
struct PluginFailure {
  sluice_status status = SLUICE_OK;
  std::string text;
};

class PluginTable {
 public:
  /// Nothing works on a table that was made from null.
  explicit PluginTable(const sluice_backend* table);

  /// Why the table is no backend, empty if it is one: no name, or a function missing that every backend has.
  std::string problem() const;
  const std::string& name() const { return name_; }
  const sluice_backend& functions() const { return functions_; }

  /// Calls a function of the table. A null one is SLUICE_UNSUPPORTED; an exception, which may not come out of C, is
  /// SLUICE_ERROR.
  template <class... Parameters, class... Arguments>
  PluginFailure call(sluice_status (*sluice_backend::*function)(Parameters...), Arguments... arguments) const {
    const auto pointer = functions_.*function;
    if (pointer == nullptr) return {SLUICE_UNSUPPORTED, name_ + " has no such function"};
    try {
      const sluice_status status = pointer(arguments...);
      if (status == SLUICE_OK) return {};
      return {status, last_error()};
    } catch (...) {
      return {SLUICE_ERROR, "the backend threw an exception"};
    }
  }
  /// The text of this thread's last failure, cut to a sensible length.
  std::string last_error() const;

 private:
  sluice_backend functions_{};
  std::string name_;
};

/// Throws what a failure stands for: OutOfMemory, DeviceLost, Unsupported, or DeviceError. Does nothing if there is
/// none. `where` is the operation and the device: "write: CUDA device 0".
void raise(const PluginFailure& failure, std::string_view where);

}  // namespace sluice::detail
