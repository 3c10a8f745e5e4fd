// Shapes: up to eight sizes, first dimension fastest in memory (column-major), batch last.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/dtype.hpp"

namespace sluice::inline v0 {

/// Any integer a user may write as a size or an index.
template <class T>
concept Integer = std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool>;

/// The sizes of a tensor. `Shape{}` is 0-dimensional and has one element; a size of 0 makes it empty.
class SLUICE_API Shape {
 public:
  static constexpr int kMaxRank = 8;

  constexpr Shape() = default;
  /// Sizes as any integers: Shape{3, n, v.size()}. Throws ShapeError for a negative size, more than eight, or a product
  /// beyond 2^62.
  template <Integer... I>
    requires(sizeof...(I) > 0 && sizeof...(I) <= 64)
  Shape(I... sizes) {  // NOLINT(google-explicit-constructor): {3, 2} is how a shape is written
    const std::int64_t list[] = {clip(sizes)...};
    assign(list);
  }
  explicit Shape(std::span<const std::int64_t> sizes) { assign(sizes); }

  int rank() const { return rank_; }
  std::int64_t numel() const { return numel_; }
  /// Size of a dimension; dimensions past the last have size 1. No check: see Tensor::size for a checked form.
  std::int64_t operator[](int dim) const { return sizes_[static_cast<std::size_t>(dim)]; }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  std::int64_t back() const { return rank_ == 0 ? 1 : sizes_[static_cast<std::size_t>(rank_ - 1)]; }

  /// The same shape with one size changed, `dim` < 8; the rank grows when needed.
  Shape with(int dim, std::int64_t size) const;
  /// The same shape with a dimension inserted before, or taken out at, `dim`.
  Shape inserted(int dim, std::int64_t size) const;
  Shape erased(int dim) const;

  bool operator==(const Shape& other) const { return rank_ == other.rank_ && sizes_ == other.sizes_; }

 private:
  template <class I>
  static constexpr std::int64_t clip(I value) {
    // A size beyond int64 must be refused, not wrapped: -1 is refused by assign.
    return std::in_range<std::int64_t>(value) ? static_cast<std::int64_t>(value) : -1;
  }
  void assign(std::span<const std::int64_t> sizes);

  std::array<std::int64_t, kMaxRank> sizes_{1, 1, 1, 1, 1, 1, 1, 1};
  std::int64_t numel_ = 1;
  int rank_ = 0;
};

/// "(3, 2)", "()" for a 0-dimensional shape.
SLUICE_API std::string to_string(const Shape& shape);
SLUICE_API std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// The shape both broadcast to, first dimensions aligned; sizes must be equal or 1. `operation` names the culprit in
/// the ShapeError.
SLUICE_API Shape broadcast(const Shape& a, const Shape& b, std::string_view operation);

}  // namespace sluice::inline v0
