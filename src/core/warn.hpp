// Where the library says something without being asked.
#pragma once

#include <string_view>

namespace sluice::detail {

/// Writes "sluice: <text>" as a line to standard error. Never throws.
void warn(std::string_view text) noexcept;

}  // namespace sluice::detail
