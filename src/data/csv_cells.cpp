#include "src/data/csv_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/dtype.hpp"
#include "src/core/parse_number.hpp"

namespace sluice::detail {
namespace {

constexpr std::string_view kBlanks = " \t\r";

/// At most 40 characters of a cell, all of them printable.
std::string shown(std::string_view cell) {
  std::string text;
  for (const char c : cell.substr(0, 40)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else text += c;
  }
  return cell.size() > 40 ? text + "..." : text;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

CsvText::CsvText(InputBytes& input, char delimiter) : input_(input), delimiter_(delimiter) {
  input.append(content_, std::numeric_limits<std::int64_t>::max());
  if (content_.empty()) input.fail("is empty; lines of numbers are needed");
  if (content_.starts_with("\xEF\xBB\xBF")) position_ = 3;
}

std::string_view CsvText::next_text() {
  const std::size_t end = std::min(content_.find('\n', position_), content_.size());
  const std::string_view text = std::string_view(content_).substr(position_, end - position_);
  position_ = std::min(end + 1, content_.size());
  ++number_;
  return text;
}

bool CsvText::next(CsvLine& line) {
  while (position_ < content_.size()) {
    const std::string_view text = next_text();
    if (trimmed(text).empty()) continue;
    line.number = number_;
    split(text, line);
    const auto count = static_cast<std::int64_t>(line.cells.size());
    if (columns_ < 0) {
      columns_ = count;
      first_line_ = number_;
    } else if (count != columns_) {
      input_.fail(fmt::format("line {}: {} columns, but line {} has {}", number_, count, first_line_, columns_));
    }
    return true;
  }
  return false;
}

void CsvText::split(std::string_view text, CsvLine& line) {
  line.cells.clear();
  unquoted_.clear();
  std::size_t at = 0;
  while (true) {
    const std::size_t content = text.find_first_not_of(delimiter_ == '\t' ? " \r" : " \t\r", at);
    if (content != std::string_view::npos && text[content] == '"' && delimiter_ != '"') {
      at = content;
      line.cells.push_back(quoted_cell(text, at, line));
    } else {
      const std::size_t end = std::min(text.find(delimiter_, at), text.size());
      line.cells.push_back(trimmed(text.substr(at, end - at)));
      at = end;
    }
    if (at >= text.size()) return;
    ++at;  // the delimiter
  }
}

std::string_view CsvText::quoted_cell(std::string_view text, std::size_t& at, const CsvLine& line) {
  std::string cell;
  for (++at; at < text.size(); ++at) {
    if (text[at] != '"') cell += text[at];
    else if (at + 1 < text.size() && text[at + 1] == '"') cell += text[at++];
    else break;
  }
  if (at >= text.size()) fail(line, line.cells.size(), "the quote is not closed on this line");
  const std::size_t end = std::min(text.find(delimiter_, at + 1), text.size());
  if (!trimmed(text.substr(at + 1, end - at - 1)).empty())
    fail(line, line.cells.size(), "text after the closing quote");
  at = end;
  // Views of earlier cells must stay valid, so the strings are made room for once.
  if (unquoted_.capacity() == 0) unquoted_.reserve(text.size() / 2 + 1);
  return unquoted_.emplace_back(std::move(cell));
}

void CsvText::fail(const CsvLine& line, std::size_t column, const std::string& message) const {
  const std::string cell = column < line.cells.size() ? fmt::format(", found \"{}\"", shown(line.cells[column])) : "";
  input_.fail(fmt::format("line {}, column {}: {}{}", line.number, column + 1, message, cell));
}

template <class T>
std::optional<T> number_in(std::string_view cell) {
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  T value{};
  const auto [end, error] = parse_number(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || end != cell.data() + cell.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range && std::is_floating_point_v<T>) {
    // Too small to tell from 0 is a number; too large is not.
    const std::size_t exponent = cell.find_first_of("eE");
    if (exponent == std::string_view::npos || cell.substr(exponent + 1, 1) != "-") return std::nullopt;
    return cell.front() == '-' ? -T{} : T{};
  }
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

template std::optional<float> number_in<float>(std::string_view);
template std::optional<double> number_in<double>(std::string_view);
template std::optional<std::int64_t> number_in<std::int64_t>(std::string_view);

bool is_number(std::string_view cell) { return number_in<double>(cell).has_value(); }

}  // namespace sluice::detail
