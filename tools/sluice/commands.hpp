// The commands of `sluice`. Each prints what it has to say and returns the exit code of the program.
#pragma once

#include <optional>
#include <string>

namespace sluice::command {

// Exit codes; what counts as a finding is said in the help of each command.
inline constexpr int kFine = 0;
inline constexpr int kFinding = 1;
inline constexpr int kUsage = 2;

struct DevicesOptions {
  bool json = false;
  bool require_gpu = false;
};
/// All devices, usable or not.
int show_devices(const DevicesOptions& options);

/// What works, what does not, why, and what to do about it.
int diagnose(bool json);

struct BackendOptions {
  bool json = false;
  bool clear = false;
  std::optional<std::string> name;
};
/// Shows, sets or clears the wish for a backend. Throws ArgumentError for a name that is none, FileError if the file
/// cannot be written.
int use_backend(const BackendOptions& options);

}  // namespace sluice::command
