// Environment variables that name files or code. They are not looked at in a setuid program.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace sluice::detail {

/// The value of a variable, nothing if it is not set or must not be trusted.
inline std::optional<std::string> environment(const char* name) {
#if defined(__GLIBC__)
  const char* const value = secure_getenv(name);
#else
  const char* const value = std::getenv(name);
#endif
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

}  // namespace sluice::detail
