// A CSV file as cells of text, and what a cell says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/data/input_bytes.hpp"

namespace sluice::detail {

/// The cells of one line, views into its text or into `unquoted`.
struct CsvLine {
  std::int64_t number = 0;  ///< from 1
  std::vector<std::string_view> cells;
};

/// Takes a text apart line by line. Blank lines are skipped; cells are trimmed; a cell in double quotes may hold the
/// delimiter and doubled quotes.
class CsvText {
 public:
  CsvText(InputBytes& input, char delimiter);

  /// The next line in place of `line`; false at the end. Throws FileError for a quote that does not end and for a
  /// number of cells that differs from that of the first line.
  bool next(CsvLine& line);
  std::int64_t columns() const { return columns_; }
  /// Throws FileError "name: line 3, column 2: message, found ...".
  [[noreturn]] void fail(const CsvLine& line, std::size_t column, const std::string& message) const;

 private:
  std::string_view next_text();
  void split(std::string_view text, CsvLine& line);
  std::string_view quoted_cell(std::string_view text, std::size_t& at, const CsvLine& line);

  const InputBytes& input_;
  char delimiter_;
  std::string content_;
  std::size_t position_ = 0;
  std::int64_t number_ = 0, columns_ = -1, first_line_ = 0;
  std::vector<std::string> unquoted_;  // cells in which quotes were doubled
};

std::string_view trimmed(std::string_view text);
/// A number as written in CSV files, "inf" and "nan" included; nothing if it is none or does not fit T.
template <class T>
std::optional<T> number_in(std::string_view cell);
bool is_number(std::string_view cell);

}  // namespace sluice::detail
