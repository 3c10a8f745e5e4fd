// Where the library says something without being asked. Every message goes through the sink of sluice/log.hpp.
#pragma once

#include <string_view>

#include "sluice/log.hpp"

namespace sluice::detail {

/// Gives `text`, one line or several, to the sink. From any thread, in static destructors and in a forked child as
/// well. What a sink logs itself goes to standard error.
void log_message(LogLevel level, std::string_view text) noexcept;

/// A warning.
void warn(std::string_view text) noexcept;

/// A warning that is given once per process and `key`.
void warn_once(std::string_view key, std::string_view text) noexcept;

/// What only somebody who looks for a cause wants to know: an information, once per process and `key`, if $SLUICE_LOG
/// is "debug".
void debug_once(std::string_view key, std::string_view text) noexcept;

}  // namespace sluice::detail
