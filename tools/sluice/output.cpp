#include "tools/sluice/output.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace sluice::command {
namespace {

void write_out(const std::string& text) {
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) return;
  throw FileError(std::string("standard output cannot be written: ") + std::strerror(errno));
}

/// Bytes of the character at the start of `text`, 0 if it is not UTF-8.
std::size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if ((first >= 0x80 && first < 0xC2) || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  return length;
}

/// Characters, not bytes.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

void print(std::string text) {
  // Names come from drivers; a terminal must not obey them.
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7F) c = ' ';
  }
  write_out(text);
}

void print(const Json& value) { write_out(value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"); }

std::string memory_text(std::uint64_t bytes) {
  if (bytes == 0) return "-";
  const bool is_small = bytes < (std::uint64_t{1} << 30);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", static_cast<double>(bytes) / (is_small ? 0x1p20 : 0x1p30),
                is_small ? "MiB" : "GiB");
  return text.data();
}

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // The second set of control characters is U+0080 to U+009F; U+202A and its like turn the direction of a line.
    const bool is_control = first < 0x20 || first == 0x7F ||
                            (first == 0xC2 && length == 2 && static_cast<unsigned char>(text[1]) < 0xA0) ||
                            text.starts_with("\u202A") || text.starts_with("\u202B") || text.starts_with("\u202D") ||
                            text.starts_with("\u202E") || text.starts_with("\u2066") || text.starts_with("\u2067") ||
                            text.starts_with("\u2068");
    if (length > 0 && !is_control) {
      if (first == '\\') result += '\\';
      result += text.substr(0, length);
      text.remove_prefix(length);
      continue;
    }
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "\\x%02x", first);
    result += first == '\n' ? "\\n" : first == '\t' ? "\\t" : code.data();
    text.remove_prefix(1);
  }
  return result;
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string result;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] + 2 - width(row[i]), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  }
  return result;
}

Messages::Messages()
    : former_(set_log_sink([this](LogLevel level, const std::string& text) {
        messages_.push_back({level, text});
      })) {}

Messages::~Messages() { set_log_sink(std::move(former_)); }

std::vector<std::string> Messages::of(LogLevel level) const {
  std::vector<std::string> result;
  for (const Message& message : messages_) {
    if (message.level == level) result.push_back(message.text);
  }
  return result;
}

void Messages::print_warnings() const {
  for (const std::string& text : of(LogLevel::warning)) std::fprintf(stderr, "sluice: %s\n", text.c_str());
}

}  // namespace sluice::command
