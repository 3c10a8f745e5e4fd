#include "sluice/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace sluice::inline v0 {
namespace {

constexpr std::int64_t kMaxNumel = std::int64_t{1} << 62;

std::string join(std::span<const std::int64_t> sizes) {
  std::string text = "(";
  for (const std::int64_t size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + ")";
}

[[noreturn]] void throw_negative(std::span<const std::int64_t> sizes, std::size_t dim) {
  throw ShapeError(fmt::format("Shape: the size of dimension {} is negative or beyond 2^63, {}", dim, join(sizes)));
}

void require_dim(bool in_range, std::string_view operation, int dim, const Shape& shape) {
  if (in_range) return;
  throw IndexError(fmt::format("{}: dimension {} is out of range for shape {}", operation, dim, to_string(shape)));
}

}  // namespace

void Shape::assign(std::span<const std::int64_t> sizes) {
  if (sizes.size() > kMaxRank) {
    throw ShapeError(
        fmt::format("Shape: {} dimensions, but at most {} are possible, {}", sizes.size(), kMaxRank, join(sizes)));
  }
  // Sizes of 0 are left out of the bound, so that no stride overflows either.
  std::int64_t product = 1;
  bool is_empty = false;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::int64_t size = sizes[d];
    if (size < 0) throw_negative(sizes, d);
    if (size == 0) {
      is_empty = true;
    } else if (__builtin_mul_overflow(product, size, &product) || product > kMaxNumel) {
      throw ShapeError(fmt::format("Shape: more than 2^62 elements, {}", join(sizes)));
    }
    sizes_[d] = size;
  }
  rank_ = static_cast<int>(sizes.size());
  numel_ = is_empty ? 0 : product;
}

Shape Shape::with(int dim, std::int64_t size) const {
  require_dim(dim >= 0 && dim < kMaxRank, "Shape::with", dim, *this);
  std::array<std::int64_t, kMaxRank> sizes = sizes_;
  sizes[static_cast<std::size_t>(dim)] = size;
  return Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(std::max(rank_, dim + 1))));
}

Shape Shape::inserted(int dim, std::int64_t size) const {
  require_dim(dim >= 0 && dim <= rank_, "Shape::inserted", dim, *this);
  std::array<std::int64_t, kMaxRank + 1> sizes{};
  auto* const place = std::copy(begin(), begin() + dim, sizes.data());
  *place = size;
  auto* const last = std::copy(begin() + dim, end(), place + 1);
  return Shape(std::span<const std::int64_t>(sizes.data(), last));
}

Shape Shape::erased(int dim) const {
  require_dim(dim >= 0 && dim < rank_, "Shape::erased", dim, *this);
  std::array<std::int64_t, kMaxRank> sizes{};
  auto* const place = std::copy(begin(), begin() + dim, sizes.data());
  auto* const last = std::copy(begin() + dim + 1, end(), place);
  return Shape(std::span<const std::int64_t>(sizes.data(), last));
}

std::string to_string(const Shape& shape) { return join({shape.begin(), static_cast<std::size_t>(shape.rank())}); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }

Shape broadcast(const Shape& a, const Shape& b, std::string_view operation) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  std::array<std::int64_t, Shape::kMaxRank> sizes{};
  for (int d = 0; d < rank; ++d) {
    if (a[d] != b[d] && a[d] != 1 && b[d] != 1) {
      throw ShapeError(fmt::format("{}: sizes of dimension {} differ, {} and {}; they must be equal or 1", operation, d,
                                   to_string(a), to_string(b)));
    }
    sizes[static_cast<std::size_t>(d)] = a[d] == 1 ? b[d] : a[d];
  }
  return Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(rank)));
}

}  // namespace sluice::inline v0
