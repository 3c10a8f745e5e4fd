// One matrix product of one element type: chooses between oneDNN, the packed, the direct and the vector kernels, and
// cuts the work for the pool. Every choice here depends on the shape alone.
#pragma once

#include <cstdint>

#include "src/device/cpu_gemm_kernel.hpp"

namespace sluice::detail {

/// C (m x n) = A (m x k) B (k x n). C's columns lie c_step apart; element (i, p) of A is a[i * a_row + p * a_column]
/// and one of the two distances is 1; so for B.
template <class T>
struct Product {
  std::int64_t m, n, k;
  const T* a;
  std::int64_t a_row, a_column;
  const T* b;
  std::int64_t b_row, b_column;
  T* c;
  std::int64_t c_step;
};

/// Computes a product with no size 0 on this thread and the pool. T is double, float, std::uint64_t or std::uint32_t.
template <class T>
void multiply(const GemmKernels<T>& kernels, const Product<T>& x);

/// Multiply-adds of a product, as a double since it may exceed 64 bits.
inline double work_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

/// Multiply-adds that are worth a chunk of their own in parallel_for.
inline constexpr double kChunkWork = 1 << 18;

/// How many pieces of `work` multiply-adds make a chunk.
inline std::int64_t grain_for(double work) {
  return work >= kChunkWork ? 1 : static_cast<std::int64_t>(kChunkWork / (work < 1 ? 1 : work));
}

}  // namespace sluice::detail
