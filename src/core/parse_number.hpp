// Numbers from text, whatever the locale, as std::from_chars reads them. Apple's standard library has that for integers
// only.
#pragma once

#include <charconv>
#include <concepts>

namespace sluice::detail {

/// std::from_chars by strtod in the locale "C".
std::from_chars_result parse_with_strtod(const char* first, const char* last, float& value);
std::from_chars_result parse_with_strtod(const char* first, const char* last, double& value);

template <class T>
std::from_chars_result parse_number(const char* first, const char* last, T& value) {
#if defined(__cpp_lib_to_chars)
  return std::from_chars(first, last, value);
#else
  if constexpr (std::floating_point<T>) return parse_with_strtod(first, last, value);
  else return std::from_chars(first, last, value);
#endif
}

}  // namespace sluice::detail
