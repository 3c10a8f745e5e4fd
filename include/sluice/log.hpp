// What the library says without being asked: a few lines on standard error, which a program can take over or silence.
//
//   set_log_sink([](LogLevel, const std::string&) {});   // nothing
//
// A message of several lines is one call. $SLUICE_LOG, read at each message, rules standard error: "off" silences it,
// "warning" leaves only the warnings, "debug" adds why something was left out that is not needed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sluice/error.hpp"

namespace sluice::inline v0 {

enum class LogLevel : std::uint8_t { info, warning };
/// May be called from any thread, several at once. What it throws is dropped; what the library says on its account goes
/// to standard error.
using LogSink = std::function<void(LogLevel level, const std::string& text)>;

/// Sends messages to `sink` from now on, to standard error if it is empty. Returns the former one, empty for standard
/// error; a message that another thread is giving at this moment may still reach that one.
SLUICE_API LogSink set_log_sink(LogSink sink);

}  // namespace sluice::inline v0
