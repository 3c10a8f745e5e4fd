// Backends whose driver takes the process down, or never answers. The doctor must outlive them, so it asks its
// questions in a child first.
#pragma once

#include <string>
#include <vector>

namespace sluice::command {

struct Crash {
  std::string plugin;  ///< the part of its file's name that says which one: "cuda"
  std::string reason;  ///< how it ended the process
};

/// The backends that do not survive get_device_report(), which must not have been called yet; from then on the library
/// leaves them out. Takes as long as a report if there is none.
std::vector<Crash> leave_out_crashes();

}  // namespace sluice::command
