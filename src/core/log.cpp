#include "sluice/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>

#include "src/core/warn.hpp"
#include "src/device/fork_safe.hpp"

namespace sluice {
namespace {

struct Log {
  std::mutex mutex;
  std::shared_ptr<const LogSink> sink;  // null: standard error
};

Log& shared_log() {
  // Leaked: static destructors may log.
  static Log* const shared = [] {
    auto* const made = new Log;
    detail::hold_during_fork(made->mutex);
    return made;
  }();
  return *shared;
}
// Made while the library is loaded, so that no fork meets it half made.
[[maybe_unused]] const Log& kMadeAtLoad = shared_log();

// The sink of this thread is running: what it logs must not call it again, or it would never come back.
constinit thread_local bool in_sink = false;

bool is_silenced(LogLevel level) {
  const char* const value = std::getenv("SLUICE_LOG");
  if (value == nullptr) return false;
  const std::string_view wish = value;
  return wish == "off" || (wish == "warning" && level == LogLevel::info);
}

/// Appends `line`. Control characters, which a file name may hold, are spelt out: they would steer the terminal.
void append_printable(std::string& text, std::string_view line) {
  for (const char c : line) {
    const auto code = static_cast<unsigned char>(c);
    if ((code >= 0x20 && code != 0x7f) || c == '\t') {
      text += c;
    } else {
      char spelt[8];
      std::snprintf(spelt, sizeof spelt, "\\x%02x", static_cast<unsigned>(code));
      text += spelt;
    }
  }
}

/// The form of the reference: "[ Info: text", or one line each after ┌, │ and └.
std::string rendered(LogLevel level, std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::string label = level == LogLevel::warning ? "Warning: " : "Info: ";
  std::string result = (text.find('\n') == std::string_view::npos ? "[ " : "┌ ") + label;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    append_printable(result, text.substr(0, end));
    text.remove_prefix(end + 1);
    result += text.find('\n') == std::string_view::npos ? "\n└ " : "\n│ ";
  }
  append_printable(result, text);
  return result + '\n';
}

void print(LogLevel level, std::string_view text) {
  if (is_silenced(level)) return;
  const std::string lines = rendered(level, text);
  std::fwrite(lines.data(), 1, lines.size(), stderr);  // in one piece, so that threads do not mix their lines
}

void call(const LogSink& sink, LogLevel level, std::string_view text) {
  struct Mark {
    Mark() { in_sink = true; }
    ~Mark() { in_sink = false; }
  } const mark;
  sink(level, std::string(text));
}

}  // namespace

inline namespace v0 {

LogSink set_log_sink(LogSink sink) {
  std::shared_ptr<const LogSink> changed;
  if (sink) changed = std::make_shared<const LogSink>(std::move(sink));
  Log& log = shared_log();
  {
    const std::lock_guard lock(log.mutex);
    changed.swap(log.sink);
  }
  return changed == nullptr ? LogSink() : *changed;
}

}  // namespace v0

void detail::log_message(LogLevel level, std::string_view text) noexcept {
  try {
    std::shared_ptr<const LogSink> sink;
    if (!in_sink) {
      Log& log = shared_log();
      const std::lock_guard lock(log.mutex);
      sink = log.sink;
    }
    if (sink == nullptr) print(level, text);
    else call(*sink, level, text);
  } catch (...) {  // a message is not worth an error
  }
}

}  // namespace sluice
