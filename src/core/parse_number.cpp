#include "src/core/parse_number.hpp"

#include <locale.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <string>
#include <type_traits>

namespace sluice::detail {
namespace {

// Lives for ever.
locale_t c_locale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

template <class T>
std::from_chars_result parse(const char* first, const char* last, T& value) {
  // strtod takes more: spaces and a plus in front, and hexadecimal digits.
  std::string text(first, last);
  text.resize(std::min(text.find_first_of("xX"), text.size()));
  if (text.empty() || text.find_first_of(" \t\n\v\f\r+") == 0) return {first, std::errc::invalid_argument};
  char* end = nullptr;
  errno = 0;
  T read{};
  if constexpr (std::is_same_v<T, float>) read = strtof_l(text.c_str(), &end, c_locale());
  else read = strtod_l(text.c_str(), &end, c_locale());
  if (end == text.c_str()) return {first, std::errc::invalid_argument};
  const char* const stop = first + (end - text.c_str());
  // A denormal is a number.
  if (errno == ERANGE && (read == 0 || std::isinf(read))) return {stop, std::errc::result_out_of_range};
  value = read;
  return {stop, std::errc()};
}

}  // namespace

std::from_chars_result parse_with_strtod(const char* first, const char* last, float& value) {
  return parse(first, last, value);
}
std::from_chars_result parse_with_strtod(const char* first, const char* last, double& value) {
  return parse(first, last, value);
}

}  // namespace sluice::detail
