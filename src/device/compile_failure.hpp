// What is said about kernel text that does not compile: the compiler's log and the lines around the place it names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::detail {

/// A place in text, from 1; column 0 is unknown.
struct TextPlace {
  std::size_t line = 0, column = 0;
  bool operator==(const TextPlace&) const = default;
};

/// The first place that a compiler's log names, of an error rather than of a warning: "<source>:12:3:", "12:3: error",
/// "kernel.cu(12): error" and the like. Nothing if it names none.
std::optional<TextPlace> place_in_log(std::string_view log);

/// "kernel sluice_map does not compile", the first 20 lines of the log, and five lines of the text, numbered, with the
/// place marked.
std::string describe_compile_failure(std::string_view entry, std::string_view log, std::string_view text);

}  // namespace sluice::detail
