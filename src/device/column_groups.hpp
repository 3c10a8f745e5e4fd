// How a group of items works on columns: `width` columns side by side, `lanes` items for each. Item i of a group has
// column i % width and lane i / width. Depends on the shape and the size of groups alone, so results do as well.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/device/kernel_values.hpp"

namespace sluice::detail {

struct ColumnGroups {
  std::int64_t width = 1, lanes = 1;
  std::int64_t blocks = 1;                    ///< groups side by side
  std::int64_t pieces = 1, piece_length = 1;  ///< groups that share a column

  /// `length` elements in each of `columns` columns; neighbours in memory are in a column, or side by side. Long
  /// columns are cut into pieces only if `may_cut`. A group has `items` items, a power of two.
  ColumnGroups(std::int64_t items, std::int64_t columns, std::int64_t length, bool side_by_side, bool may_cut) {
    constexpr std::int64_t kRow = 32;  // columns whose elements are read together
    lanes = power_above(length, items);
    if (side_by_side) lanes = std::min(lanes, items / power_above(columns, std::min(kRow, items)));
    width = items / lanes;
    blocks = divide_up(columns, width);
    piece_length = length;
    if (may_cut) cut(length);
  }
  std::uint32_t groups() const { return static_cast<std::uint32_t>(blocks * pieces); }

  /// The members of the struct of numbers that kernels look for.
  void add_to(KernelValues& values) const {
    values.add_index({"width"}, width);
    values.add_index({"lanes"}, lanes);
    values.add_index({"pieces"}, pieces);
    values.add_index({"piece_length"}, piece_length);
  }

 private:
  static std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
  /// The power of two from n on, but at most `most`.
  static std::int64_t power_above(std::int64_t n, std::int64_t most) {
    std::int64_t power = 1;
    while (power < n && power < most) power *= 2;
    return power;
  }

  void cut(std::int64_t length) {
    constexpr std::int64_t kGroups = 1024;  // that fill a device
    constexpr std::int64_t kElements = 16;  // that are worth an item
    const std::int64_t most = divide_up(length, lanes * kElements);
    const std::int64_t wanted = std::clamp<std::int64_t>(kGroups / blocks, 1, most);
    piece_length = divide_up(divide_up(length, wanted), lanes) * lanes;
    pieces = divide_up(length, piece_length);
  }
};

}  // namespace sluice::detail
