#include "src/core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace sluice::detail {

std::size_t utf8_character(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte & 0x3FU);
  }
  const bool is_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  return is_long || (code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF ? 0 : length;
}

bool is_utf8_name(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    if (length == 0 || text[0] == '\0') return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 200;
  const bool is_long = text.size() > kMost;
  text = text.substr(0, kMost);
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = text[0] == '\0' ? 0 : utf8_character(text);
    if (length > 0) result += text.substr(0, length);
    else result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result + (is_long ? "...\"" : "\"");
}

}  // namespace sluice::detail
