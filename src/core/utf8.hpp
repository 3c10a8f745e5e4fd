// Whether bytes are text.
#pragma once

#include <string>
#include <string_view>

namespace sluice::detail {

/// Bytes of the UTF-8 character at the start of `text`; 0 if there is none: not UTF-8, too long a form, a surrogate, or
/// beyond U+10FFFF.
std::size_t utf8_character(std::string_view text);
/// Whether all of it is UTF-8 without NUL.
bool is_utf8_name(std::string_view text);
/// `text` in quotes for a message: what is not UTF-8 as \xff, no more than 200 bytes of it.
std::string in_quotes(std::string_view text);

}  // namespace sluice::detail
