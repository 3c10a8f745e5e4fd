// A preference file: TOML in which one value, gpu_backend of the table [Sluice], is found and edited in place. Lines
// and bytes that the edit does not concern stay as they are. Every error is a FileError that starts with file and line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/device/preferences.hpp"

namespace sluice::detail {

/// The whole text of an ordinary file of at most 1 MiB; nothing if there is no such file. Never waits for a pipe or a
/// device. Throws for everything else that bears the name.
std::optional<std::string> read_preference_file(const std::string& path);

/// gpu_backend of [Sluice], else of [Flux]; nothing if neither has it. Throws if the text is not TOML or the value is
/// empty or not a string. `path` is for messages.
std::optional<Preference> find_gpu_backend(const std::string& path, std::string_view text);

/// The text with gpu_backend = "name" in [Sluice]. Throws, and says what to write by hand, where one line cannot
/// do it without changing something else.
std::string with_gpu_backend(const std::string& path, std::string_view text, std::string_view name);

/// The text without the line of gpu_backend in [Sluice], the same text if there is none. Throws as with_gpu_backend.
std::string without_gpu_backend(const std::string& path, std::string_view text);

}  // namespace sluice::detail
