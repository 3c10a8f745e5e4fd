// Files of this user alone that can be made again: what the library keeps between processes, under $XDG_CACHE_HOME or
// ~/.cache. What cannot be read, belongs to somebody else, may be written by others or cannot be written counts as not
// there; a failure is a text, empty where all went well.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::detail {

/// The folder under which "sluice/..." lies. Empty if neither variable has an absolute path, or the program is setuid.
std::string user_cache_folder();

/// Why `folder` is not one of this user that nobody else may write in.
std::string private_folder_problem(const std::string& folder);
/// The same, after making it and what is missing above it with mode 0700. Nothing is made in a folder of another user.
std::string make_private_folder(const std::string& folder);

/// The content of an ordinary file of this user, at most `most` bytes.
std::optional<std::string> read_private_file(const std::string& path, std::size_t most);
/// Writes a file of mode 0600, whole or not at all: under `<path>.XXXXXX`, then renamed. Why it is not there, else.
std::string write_private_file(const std::string& path, std::string_view text);

}  // namespace sluice::detail
