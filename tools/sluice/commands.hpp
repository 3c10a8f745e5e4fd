// The commands of `sluice`. Each prints what it has to say and returns the exit code of the program.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

struct ConformanceOptions {
  bool json = false;
  bool quick = false;  ///< what is done anyway unless `full`
  bool full = false;
  std::optional<std::string> device;  ///< "CPU" or "OpenCL:0"; the best one when left out
  std::vector<std::string> only;      ///< the kernels to check; empty for all
};
/// Holds every operation of a device against double precision. Throws ArgumentError for a device or a kernel that is
/// not there.
int check_conformance(const ConformanceOptions& options);

struct InspectOptions {
  std::string path;
  std::string format;  ///< empty: what the ending says
  bool json = false;
  bool finite = false;  ///< NaN and infinity are a finding
};
/// What a checkpoint holds. Throws FileError, ArgumentError.
int inspect_file(const InspectOptions& options);

struct ConvertOptions {
  std::string from, to;
  std::string from_format, to_format;  ///< empty: what the ending says
  std::uint64_t shard_bytes = 0;       ///< of each file of a .safetensors.index.json; 0: the library's default
  bool json = false;
};
/// Writes the tensors of one checkpoint as another format. Throws FileError, ArgumentError.
int convert_file(const ConvertOptions& options);

}  // namespace sluice::command
