#include "src/device/compile_failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace sluice::detail {
namespace {

constexpr std::size_t kMostLines = 20;
constexpr std::size_t kMostWidth = 300;
constexpr std::size_t kLinesAround = 2;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// A number at the start of `text`, which it is taken from; 0 if there is none, or one that is no number of a line.
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// The number that begins at `begin` of a line as a place: "12:3", after nothing, a blank or a colon; "(12)" or
/// "(12,3)", after an opening parenthesis.
std::optional<TextPlace> place_at(std::string_view line, std::size_t begin) {
  const char before = begin == 0 ? ' ' : line[begin - 1];
  if (before != ' ' && before != '\t' && before != ':' && before != '(') return std::nullopt;
  std::string_view rest = line.substr(begin);
  TextPlace place{take_number(rest), 0};
  if (place.line == 0) return std::nullopt;
  const char separator = before == '(' ? ',' : ':';
  if (rest.starts_with(separator)) {
    rest.remove_prefix(1);
    place.column = take_number(rest);
  }
  if (before == '(') return rest.starts_with(')') ? std::optional(place) : std::nullopt;
  return place.column > 0 ? std::optional(place) : std::nullopt;
}

std::optional<TextPlace> place_in_line(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!is_digit(line[i]) || (i > 0 && is_digit(line[i - 1]))) continue;
    if (const std::optional<TextPlace> place = place_at(line, i)) return place;
  }
  return std::nullopt;
}

std::string cut_line(std::string_view line) {
  return std::string(line.substr(0, kMostWidth)) + (line.size() > kMostWidth ? " ..." : "");
}

std::string excerpt(const TextPlace& place, std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  if (place.line > lines.size()) return {};
  const std::size_t first = place.line > kLinesAround ? place.line - kLinesAround : 1;
  const std::size_t last = std::min(place.line + kLinesAround, lines.size());
  std::string result;
  for (std::size_t number = first; number <= last; ++number) {
    const std::string_view line = lines[number - 1];
    result += fmt::format("\n{} {:5} | {}", number == place.line ? '>' : ' ', number, cut_line(line));
    if (number != place.line || place.column == 0 || place.column > std::min(line.size(), kMostWidth) + 1) continue;
    // Tabs stay, so that the mark is under its column whatever their width.
    std::string blank(line.substr(0, place.column - 1));
    std::replace_if(
        blank.begin(), blank.end(), [](char c) { return c != '\t'; }, ' ');
    result += fmt::format("\n        | {}^", blank);
  }
  return result;
}

}  // namespace

std::optional<TextPlace> place_in_log(std::string_view log) {
  std::optional<TextPlace> first;
  for (const std::string_view line : lines_of(log)) {
    const std::optional<TextPlace> place = place_in_line(line);
    if (!place) continue;
    if (line.find("error") != std::string_view::npos) return place;
    if (!first) first = place;
  }
  return first;
}

std::string describe_compile_failure(std::string_view entry, std::string_view log, std::string_view text) {
  std::string result = fmt::format("kernel {} does not compile:", entry);
  const std::vector<std::string_view> lines = lines_of(log);
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) result += "\n" + cut_line(lines[i]);
  if (lines.size() > kMostLines) result += fmt::format("\n({} more lines)", lines.size() - kMostLines);
  if (const std::optional<TextPlace> place = place_in_log(log)) {
    const std::string part = excerpt(*place, text);
    if (!part.empty()) result += fmt::format("\nthe text around line {}:{}", place->line, part);
  }
  return result;
}

}  // namespace sluice::detail
