// Data files: CSV and IDX (the format of MNIST), plain or compressed with gzip, which is told by their content.
//
// A file that is cut short, of another kind, or larger than its limit throws one FileError with the file, the place and
// what was expected there; nothing is allocated on the word of a file alone.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sluice/tensor.hpp"

namespace sluice::inline v0 {

/// Whether the first line of a CSV file names the columns; `automatic`: if one of its cells is not a number.
enum class CsvHeader : std::uint8_t { automatic, present, none };

inline constexpr std::int64_t kReadLimit = std::int64_t{1} << 30;

struct CsvOptions {
  CsvHeader header = CsvHeader::automatic;
  char delimiter = ',';
  DType dtype = f32;
  std::int64_t max_bytes = kReadLimit;  ///< of the content, after decompression
};

struct IdxOptions {
  std::int64_t max_bytes = kReadLimit;  ///< of the content, after decompression
};

/// Columns of numbers and of words.
struct Table {
  std::vector<std::string> names;                 ///< of the columns; empty without a header
  Tensor values;                                  ///< (columns, rows)
  std::vector<std::vector<std::string>> classes;  ///< per column: the words that its numbers 0, 1, ... stand for,
                                                  ///< sorted; empty for a column of numbers
};

/// A CSV file of numbers as (columns, rows): the rows are the observations.
SLUICE_API Tensor read_csv(const std::string& path, const CsvOptions& options = {});
/// The same from memory; `name` stands for the path in messages.
SLUICE_API Tensor parse_csv(std::span<const std::byte> content, const std::string& name,
                            const CsvOptions& options = {});
/// A CSV file in which columns may hold words. With an automatic header, the first line is one if the line below has a
/// number where it has none.
SLUICE_API Table read_table(const std::string& path, const CsvOptions& options = {});
SLUICE_API Table parse_table(std::span<const std::byte> content, const std::string& name,
                             const CsvOptions& options = {});

/// An IDX file with its sizes reversed: MNIST's images are (28, 28, n), width first, u8.
SLUICE_API Tensor read_idx(const std::string& path, const IdxOptions& options = {});
SLUICE_API Tensor parse_idx(std::span<const std::byte> content, const std::string& name,
                            const IdxOptions& options = {});

}  // namespace sluice::inline v0
