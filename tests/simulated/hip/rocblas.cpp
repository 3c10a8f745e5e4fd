// The simulated rocBLAS: librocblas.so.5.
#include "backends/hip/hip_api.hpp"
#include "tests/simulated/streams/call.hpp"
#include "tests/simulated/streams/product.hpp"

namespace simulated {
namespace {

constexpr int kInvalidPointer = 3, kInvalidSize = 4, kInternalError = 6;

Enqueue enqueue() { return find_enqueue("libamdhip64.so.7", "hipSimulatedEnqueue"); }

bool find_element(int type, int compute, Element& element) {
  const bool is_double = type == sluice::streams::kRocblasF64;
  if (compute != (is_double ? sluice::streams::kRocblasF64 : sluice::streams::kRocblasF32)) return false;
  switch (type) {
    case sluice::streams::kRocblasF16: element = Element::f16; return true;
    case sluice::streams::kRocblasBf16: element = Element::bf16; return true;
    case sluice::streams::kRocblasF32: element = Element::f32; return true;
    case sluice::streams::kRocblasF64: element = Element::f64; return true;
    default: return false;
  }
}

}  // namespace

SIMULATED_EXPORT int rocblas_create_handle(BlasHandle** handle) {
  if (const int fault = planned_fault("rocblas_create_handle")) return fault;
  if (enqueue() == nullptr) return kInternalError;
  *handle = new BlasHandle;
  return 0;
}

SIMULATED_EXPORT int rocblas_destroy_handle(BlasHandle* handle) {
  delete handle;
  return 0;
}

SIMULATED_EXPORT int rocblas_set_stream(BlasHandle* handle, Stream* stream) {
  handle->stream = stream;
  return 0;
}

SIMULATED_EXPORT int rocblas_set_atomics_mode(BlasHandle*, int) { return 0; }

SIMULATED_EXPORT int rocblas_gemm_strided_batched_ex(BlasHandle* handle, int transpose_a, int transpose_b, int m, int n,
                                                     int k, const void* alpha, const void* a, int a_type, int lda,
                                                     std::int64_t stride_a, const void* b, int b_type, int ldb,
                                                     std::int64_t stride_b, const void* beta, const void* c, int c_type,
                                                     int ldc, std::int64_t stride_c, void* d, int d_type, int ldd,
                                                     std::int64_t stride_d, int batch, int compute, int, std::int32_t,
                                                     std::uint32_t) {
  if (const int fault = planned_fault("rocblas_gemm_strided_batched_ex")) return fault;
  const int transposed = sluice::streams::kRocblasTransposed;
  ProductCall call{Element::f32,
                   transpose_a == transposed,
                   transpose_b == transposed,
                   m,
                   n,
                   k,
                   lda,
                   ldb,
                   ldc,
                   batch,
                   stride_a,
                   stride_b,
                   stride_c,
                   alpha,
                   beta,
                   a,
                   b,
                   d};
  const bool has_one_type = a_type == c_type && b_type == c_type && d_type == c_type;
  if (!has_one_type || !find_element(c_type, compute, call.element)) return sluice::streams::kRocblasNotImplemented;
  if (!has_sizes(call) || ldd != ldc || stride_d != stride_c) return kInvalidSize;
  if (c != d) return kInvalidPointer;
  return queue_product(enqueue(), *handle, call) == 0 ? 0 : kInternalError;
}

}  // namespace simulated
