// What the commands print with: one write to standard output, tables, and the library's own messages held back until
// the command is ready for them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/log.hpp"

namespace sluice::command {

using Json = nlohmann::ordered_json;

/// Writes text, or a JSON value with a newline, to standard output. A reader that has gone is no error; else throws
/// FileError if it cannot be written. Control characters in text become spaces.
void print(std::string text);
void print(const Json& value);

/// "80.0 GiB", "-" for 0.
std::string memory_text(std::uint64_t bytes);
std::string yes_no(bool value);
/// Text of a file as one line: control characters, backslashes and what is not UTF-8 as \n, \\, \x1b.
std::string escaped(std::string_view text);
/// The text, or null if it is empty.
Json text_or_null(const std::string& text);
std::string lower(std::string_view text);

/// Rows of cells; the first one is the heading. Every column is as wide as its widest cell.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Takes over the library's messages as long as it lives.
class Messages {
 public:
  Messages();
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  std::vector<std::string> of(LogLevel level) const;
  /// Writes the warnings to standard error.
  void print_warnings() const;

 private:
  struct Message {
    LogLevel level;
    std::string text;
  };
  std::vector<Message> messages_;
  LogSink former_;
};

}  // namespace sluice::command
