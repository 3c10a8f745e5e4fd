// The wish for a backend that the user has written down: in this process, the environment or a file. Read anew at every
// question, so that a change takes effect at the next get_device().
//
// Precedence: set_gpu_backend in this process > $SLUICE_GPU_BACKEND > the nearest LocalPreferences.toml going up from
// the working folder (table [Sluice], else [Flux]; key gpu_backend) > preferences.toml in $XDG_CONFIG_HOME/sluice, by
// default ~/.config/sluice. A file without the key does not decide; one that is broken does: nobody looks further, and
// the choice is automatic.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::detail {

struct Preference {
  std::string value;  ///< as written; not checked against any list, "AMD" not yet replaced
  std::string where;  ///< "set_gpu_backend", "$SLUICE_GPU_BACKEND" or "/path/LocalPreferences.toml:3"
};

/// The wish in force. Never throws: what cannot be read is warned of once per process and cause, with file and line,
/// and counts as not there. A value that is empty or not a string is such a cause. Any thread may ask.
std::optional<Preference> gpu_backend_preference();

/// Remembers `name` for this process and writes it into the file: the nearest LocalPreferences.toml, else a new one in
/// the working folder, always in [Sluice]. Changes that line only, keeps everything else byte for byte, checks the
/// result by parsing it, and replaces the file atomically. Returns the file's path. Throws FileError with file and
/// line; then neither the file nor the process's wish has changed.
std::string store_gpu_backend(std::string_view name);

/// Forgets the process's wish and removes the line from [Sluice] of the nearest file, if it is there. Returns the
/// file's path, empty if there was no such line. Throws as store_gpu_backend does.
std::string clear_stored_gpu_backend();

}  // namespace sluice::detail
