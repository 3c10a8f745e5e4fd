// What the tests of shape operations compare with: tensors of distinct bytes, and elements found by their indices one
// at a time.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "sluice/ops.hpp"

namespace sluice::test {

using Index = std::vector<std::int64_t>;

inline const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> list{boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64};
  return list;
}

/// Elements of any type with bits that differ from element to element as far as the type has room.
inline Tensor distinct(const Shape& shape, DType dtype) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape.numel()) * dtype.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.numel()); ++i) {
    std::uint64_t bits = (i + 1) * 0x9E3779B97F4A7C15U >> 7;
    if (dtype == boolean) bits &= 1;
    std::memcpy(bytes.data() + i * dtype.size(), &bits, dtype.size());
  }
  return from_bytes(bytes.data(), bytes.size(), shape, dtype);
}

/// Rank 0 ... 5 and sizes 0, 1 and small odd ones.
inline Shape random_shape(std::mt19937& random, int rank) {
  constexpr std::int64_t kSizes[] = {1, 2, 3, 3, 5, 7, 1, 2, 3, 0};
  Shape shape;
  for (int dim = 0; dim < rank; ++dim) shape = shape.with(dim, kSizes[random() % 10]);
  return shape;
}

inline Index index_at(const Shape& shape, std::int64_t flat) {
  Index index;
  for (const std::int64_t size : shape) {
    index.push_back(flat % size);
    flat /= size;
  }
  return index;
}

inline std::int64_t flat_at(const Shape& shape, const Index& index) {
  std::int64_t flat = 0;
  for (int dim = shape.rank() - 1; dim >= 0; --dim) flat = flat * shape[dim] + index[static_cast<std::size_t>(dim)];
  return flat;
}

inline std::uint64_t bits_at(const Tensor& x, std::int64_t flat) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, x.bytes().data() + static_cast<std::size_t>(flat) * x.dtype().size(), x.dtype().size());
  return bits;
}

/// Expects element `index` of y to have the bits of element source(index) of x.
inline void expect_moved(const Tensor& y, const Tensor& x, const Shape& shape,
                         const std::function<Index(const Index&)>& source) {
  ASSERT_EQ(y.shape(), shape);
  ASSERT_EQ(y.dtype(), x.dtype());
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const Index from = source(index_at(shape, i));
    ASSERT_EQ(bits_at(y, i), bits_at(x, flat_at(x.shape(), from)))
        << x.dtype() << " " << x.shape() << " -> " << shape << " at " << i;
  }
}

}  // namespace sluice::test
