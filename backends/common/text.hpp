// Text for the fixed arrays of the backend interface.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace sluice::plugin {

/// The longest beginning of `text` that has at most `bytes` bytes and cuts no UTF-8 character.
inline std::string_view cut(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  return text.substr(0, bytes);
}

/// Copies `text` with its final 0, cut where it does not fit.
template <std::size_t N>
void copy_text(char (&to)[N], std::string_view text) {
  const std::string_view part = cut(text, N - 1);
  std::copy(part.begin(), part.end(), to);
  to[part.size()] = '\0';
}

/// "1.5 GiB", for messages.
inline std::string in_units(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  std::uint64_t tenths = bytes * 10;
  if (bytes >= 1024) {
    std::uint64_t whole = bytes;
    while (whole >= 1024 && unit + 1 < std::size(kUnits)) {
      tenths = whole * 10 / 1024;
      whole /= 1024;
      ++unit;
    }
  }
  std::string text = std::to_string(tenths / 10);
  if (unit > 0 && tenths % 10 != 0) text.append(".").append(std::to_string(tenths % 10));
  return text.append(kUnits[unit]);
}

}  // namespace sluice::plugin
