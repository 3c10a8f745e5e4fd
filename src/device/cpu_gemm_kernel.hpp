// The inner loops of the CPU's matrix products. cpu_gemm_kernel.cpp is compiled once per instruction set, each time
// into a namespace of its own (SLUICE_ISA); cpu_gemm.cpp picks a table when the program runs. All work here is on one
// thread.
#pragma once

#include <cstdint>

namespace sluice::detail {

/// The loops for elements of type T. Matrices are column-major; a "step" is the distance of two columns.
template <class T>
struct GemmKernels {
  std::int64_t block_rows;     // rows of a packed panel of A
  std::int64_t block_columns;  // columns of a packed panel of B

  /// C (m x n) = A (m x k) B, or C += A B, without packing; element (p, j) of B is b[p * b_row + j * b_column].
  void (*direct)(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_step, const T* b,
                 std::int64_t b_row, std::int64_t b_column, bool add, T* c, std::int64_t c_step);

  /// Copies `lanes` x k elements, element (i, p) at x[i * lane_step + p * k_step], into panels of `width` lanes, each
  /// of them k x width with its lanes together; missing lanes are 0. One of the two steps is 1.
  void (*pack)(std::int64_t lanes, std::int64_t k, const T* x, std::int64_t lane_step, std::int64_t k_step,
               std::int64_t width, T* packed);

  /// C (m x n) = A B, or C += A B, of packed panels.
  void (*packed)(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b, bool add, T* c,
                 std::int64_t c_step);

  /// y (m) = A (m x k) x.
  void (*times_vector)(std::int64_t m, std::int64_t k, const T* a, std::int64_t a_step, const T* x, T* y);

  /// y (n) = transpose(A) x, A stored k x n.
  void (*transposed_times_vector)(std::int64_t n, std::int64_t k, const T* a, std::int64_t a_step, const T* x, T* y);
};

/// The loops of one instruction set. Integers compute unsigned, which wraps; types under 32 bits are widened first.
struct GemmTable {
  GemmKernels<double> f64;
  GemmKernels<float> f32;
  GemmKernels<std::uint64_t> u64;
  GemmKernels<std::uint32_t> u32;
  void (*f16_to_f32)(std::int64_t n, const std::uint16_t* x, float* y);
  void (*f32_to_f16)(std::int64_t n, const float* x, std::uint16_t* y);  // to nearest even
  void (*bf16_to_f32)(std::int64_t n, const std::uint16_t* x, float* y);
  void (*f32_to_bf16)(std::int64_t n, const float* x, std::uint16_t* y);  // to nearest even
  void (*u16_to_u32)(std::int64_t n, const std::uint16_t* x, std::uint32_t* y);
  void (*u32_to_u16)(std::int64_t n, const std::uint32_t* x, std::uint16_t* y);
  void (*u8_to_u32)(std::int64_t n, const std::uint8_t* x, std::uint32_t* y);
  void (*u32_to_u8)(std::int64_t n, const std::uint32_t* x, std::uint8_t* y);
};

namespace baseline {
const GemmTable& gemm_table();
}
namespace avx2 {
const GemmTable& gemm_table();
}
namespace avx512 {
const GemmTable& gemm_table();
}

}  // namespace sluice::detail
