#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "sluice/ops.hpp"
#include "sluice/readers.hpp"
#include "src/core/visit_dtype.hpp"
#include "src/data/csv_cells.hpp"

namespace sluice::inline v0 {
namespace {

using detail::CsvLine;
using detail::CsvText;
using detail::InputBytes;

void check_options(const CsvOptions& options) {
  const std::string_view forbidden = "\n\r\"+-.0123456789";
  if (options.delimiter == '\0' || forbidden.find(options.delimiter) != std::string_view::npos) {
    throw ArgumentError(fmt::format("read_csv: '{}' cannot separate cells", options.delimiter));
  }
}

bool all_numbers(const CsvLine& line) { return std::all_of(line.cells.begin(), line.cells.end(), detail::is_number); }

/// What a cell is as T; nothing if it is not a number or does not fit.
template <class T>
std::optional<T> element_in(std::string_view cell) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) return detail::number_in<T>(cell);
  else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    const std::optional<float> value = detail::number_in<float>(cell);
    if (!value || (std::isinf(static_cast<float>(T(*value))) && !std::isinf(*value))) return std::nullopt;
    return T(*value);
  } else {
    const std::optional<std::int64_t> value = detail::number_in<std::int64_t>(cell);
    const bool fits = value && *value >= std::int64_t{std::numeric_limits<T>::min()} &&
                      *value <= std::int64_t{std::numeric_limits<T>::max()};
    return fits ? std::optional(static_cast<T>(*value)) : std::nullopt;
  }
}

std::string wanted(DType dtype) {
  if (dtype.is_floating()) return fmt::format("expected a number that {} holds", dtype.name());
  if (dtype == boolean) return "expected 0 or 1";
  return fmt::format("expected an integer that {} holds", dtype.name());
}

/// The header, if there is one, taken off `text`. Leaves the first line of data in `line`; false if there is none.
bool take_header(CsvText& text, CsvLine& line, CsvHeader header, std::vector<std::string>& names) {
  if (!text.next(line)) return false;
  if (header == CsvHeader::none || (header == CsvHeader::automatic && all_numbers(line))) return true;
  names.assign(line.cells.begin(), line.cells.end());
  return text.next(line);
}

Tensor read_numbers(InputBytes& input, const CsvOptions& options) {
  check_options(options);
  CsvText text(input, options.delimiter);
  CsvLine line;
  std::vector<std::string> names;
  const bool has_rows = take_header(text, line, options.header, names);
  if (text.columns() < 0) input.fail("has only blank lines; lines of numbers are needed");
  return detail::visit_dtype(options.dtype, [&]<class T>() {
    using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;  // vector<bool> has no data()
    std::vector<Stored> elements;
    std::int64_t rows = 0;
    for (bool more = has_rows; more; more = text.next(line), ++rows) {
      for (std::size_t column = 0; column < line.cells.size(); ++column) {
        const std::optional<T> element = element_in<T>(line.cells[column]);
        if (!element) text.fail(line, column, wanted(options.dtype));
        elements.push_back(*element);
      }
    }
    return from_bytes(elements.data(), elements.size() * sizeof(T), Shape{text.columns(), rows}, options.dtype);
  });
}

using Rows = std::vector<std::vector<std::string>>;

Rows read_rows(CsvText& text) {
  Rows rows;
  for (CsvLine line; text.next(line);) rows.emplace_back(line.cells.begin(), line.cells.end());
  return rows;
}

bool begins_with_header(const Rows& rows) {
  if (rows.size() < 2) return false;
  for (std::size_t column = 0; column < rows[0].size(); ++column) {
    if (!detail::is_number(rows[0][column]) && detail::is_number(rows[1][column])) return true;
  }
  return false;
}

/// Words of a column in order, or nothing when all of it is numbers.
std::vector<std::string> classes_of(const Rows& rows, std::size_t column) {
  std::map<std::string, int> words;
  bool numbers = true;
  for (const auto& row : rows) {
    numbers = numbers && detail::is_number(row[column]);
    words.try_emplace(row[column]);
  }
  std::vector<std::string> classes;
  classes.reserve(words.size());
  for (const auto& [word, unused] : words) classes.push_back(word);
  return numbers ? std::vector<std::string>() : classes;
}

Table read_words(InputBytes& input, const CsvOptions& options) {
  check_options(options);
  if (!options.dtype.is_floating()) {
    throw TypeError(fmt::format("read_table: the type of its numbers is {}; give f32 or f64", options.dtype.name()));
  }
  CsvText text(input, options.delimiter);
  Rows rows = read_rows(text);
  if (rows.empty()) input.fail("has only blank lines");
  Table table;
  if (options.header == CsvHeader::present || (options.header == CsvHeader::automatic && begins_with_header(rows))) {
    table.names = std::move(rows.front());
    rows.erase(rows.begin());
  }
  const std::size_t columns = static_cast<std::size_t>(text.columns());
  std::vector<double> values(columns * rows.size());
  for (std::size_t column = 0; column < columns; ++column) {
    const std::vector<std::string>& classes = table.classes.emplace_back(classes_of(rows, column));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::string& cell = rows[row][column];
      const auto place = std::lower_bound(classes.begin(), classes.end(), cell) - classes.begin();
      values[row * columns + column] = classes.empty() ? *detail::number_in<double>(cell) : static_cast<double>(place);
    }
  }
  table.values = cast(from(values, Shape{columns, rows.size()}), options.dtype);
  return table;
}

}  // namespace

Tensor read_csv(const std::string& path, const CsvOptions& options) {
  InputBytes input(path, options.max_bytes);
  return read_numbers(input, options);
}

Tensor parse_csv(std::span<const std::byte> content, const std::string& name, const CsvOptions& options) {
  InputBytes input(content, name, options.max_bytes);
  return read_numbers(input, options);
}

Table read_table(const std::string& path, const CsvOptions& options) {
  InputBytes input(path, options.max_bytes);
  return read_words(input, options);
}

Table parse_table(std::span<const std::byte> content, const std::string& name, const CsvOptions& options) {
  InputBytes input(content, name, options.max_bytes);
  return read_words(input, options);
}

}  // namespace sluice::inline v0
