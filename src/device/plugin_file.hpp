// Files that may be backends: where they are looked for, which are refused before they are opened, and the opening.
//
// A backend is native code, so nothing is taken from where somebody else may put it: the working folder, $HOME itself,
// a folder or file that others may write. A truncated library would kill the process in dlopen, so its headers are
// checked against its size first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/backend.h"

namespace sluice::detail {

/// A folder that is searched, or was refused.
struct PluginFolder {
  std::string path;
  std::string problem;  ///< empty if it is searched
};

/// In the order of the search: $SLUICE_BACKEND_PATH (ignored when setuid), the folder of this library, and
/// <libdir>/sluice and <prefix>/lib/sluice beside it. Folders that do not exist are left out, unless named by the
/// environment.
std::vector<PluginFolder> plugin_folders();

/// The files named libsluice-*.so in a folder, sorted; `problem` says why the folder could not be read.
std::vector<std::string> plugin_files(const std::string& folder, std::string& problem);

/// "libsluice-cuda.so" for "CUDA"; as this system names libraries.
std::string plugin_file_name(std::string_view backend);

/// "cuda" for ".../libsluice-cuda.so"; empty for another name.
std::string plugin_name(std::string_view path);

/// An opened file with a table, or the reason why there is none.
struct OpenedPlugin {
  const sluice_backend* table = nullptr;
  std::string problem;
};

/// Checks and opens a file. Never throws, never runs code of a file with another ABI number.
OpenedPlugin open_plugin(const std::string& path);

/// Why a file or folder must not be trusted, empty if it may: others can write it, or one of its parents.
std::string distrust(const std::string& path);

/// The file that holds a function of this process; empty if unknown.
std::string file_of(const void* function);

/// What tells a file from the next one of the same name: its path, size and time. There may be none of that name: a
/// system can hold libraries that are no files.
std::string file_state(const std::string& file);

/// The folder of the file that holds this library, or the program it is linked into; empty if unknown.
std::string own_folder();

}  // namespace sluice::detail
