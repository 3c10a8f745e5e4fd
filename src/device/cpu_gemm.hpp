// Matrix products of the CPU device on raw column-major memory: C = op(A) op(B), batched, for every numeric type. Large
// f32, f16 and bf16 products go to oneDNN when the machine has it (see onednn.hpp), everything else to the kernels of
// cpu_gemm_kernel.cpp. How a product is cut depends on its shape alone and the sum over k is never shared between
// threads, so the bits of C depend neither on the number of threads nor on who else computes.
#pragma once

#include <cstdint>

#include "src/device/host_isa.hpp"

namespace sluice::detail {

/// Element types of a product. f16 and bf16 are stored as 16-bit words and summed in f32; integers wrap.
enum class GemmType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8 };

/// One batched product: for every b < batch, C_b (m x n) = op(A_b) (m x k) op(B_b) (k x n).
struct GemmCall {
  GemmType type = GemmType::f32;
  bool transpose_a = false;  // A is stored as k x m
  bool transpose_b = false;  // B is stored as n x k
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;  // distance of columns in elements, at least the stored rows
  const void* b = nullptr;
  std::int64_t ldb = 0;
  void* c = nullptr;
  std::int64_t ldc = 0;
  std::int64_t batch = 1;
  std::int64_t stride_a = 0;  // elements from one product's A to the next one's; 0 uses the same A for all
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
};

/// Computes the product on the calling thread and the pool. Sizes are trusted; C must not overlap A or B. k = 0 writes
/// zeros. Any thread may call it; throws only std::bad_alloc.
void gemm(const GemmCall& call);

/// For tests: computes with the kernels of this instruction set; false if this machine lacks it. host_isa() is the
/// default.
bool use_gemm_isa(HostIsa isa);

}  // namespace sluice::detail
