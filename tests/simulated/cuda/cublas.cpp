// The simulated cuBLAS: libcublas.so.13.
#include "backends/cuda/cuda_api.hpp"
#include "tests/simulated/streams/call.hpp"
#include "tests/simulated/streams/product.hpp"

namespace simulated {
namespace {

constexpr int kNotStarted = 1, kInvalidSize = 7, kExecutionFailed = 13;

Enqueue enqueue() { return find_enqueue("libcuda.so.1", "cuSimulatedEnqueue"); }

bool find_element(int type, int compute, Element& element) {
  if (type == sluice::streams::kCudaF32 && compute == sluice::streams::kCublasComputeTf32) {
    element = Element::tf32;
    return true;
  }
  const bool is_double = type == sluice::streams::kCudaF64;
  if (compute != (is_double ? sluice::streams::kCublasCompute64F : sluice::streams::kCublasCompute32F)) return false;
  switch (type) {
    case sluice::streams::kCudaF16: element = Element::f16; return true;
    case sluice::streams::kCudaBf16: element = Element::bf16; return true;
    case sluice::streams::kCudaF32: element = Element::f32; return true;
    case sluice::streams::kCudaF64: element = Element::f64; return true;
    default: return false;
  }
}

}  // namespace

SIMULATED_EXPORT int cublasCreate_v2(BlasHandle** handle) {
  if (const int fault = planned_fault("cublasCreate_v2")) return fault;
  if (enqueue() == nullptr) return kNotStarted;
  *handle = new BlasHandle;
  return 0;
}

SIMULATED_EXPORT int cublasDestroy_v2(BlasHandle* handle) {
  delete handle;
  return 0;
}

SIMULATED_EXPORT int cublasSetStream_v2(BlasHandle* handle, Stream* stream) {
  handle->stream = stream;
  return 0;
}

SIMULATED_EXPORT int cublasGemmStridedBatchedEx(BlasHandle* handle, int transpose_a, int transpose_b, int m, int n,
                                                int k, const void* alpha, const void* a, int a_type, int lda,
                                                long long stride_a, const void* b, int b_type, int ldb,
                                                long long stride_b, const void* beta, void* c, int c_type, int ldc,
                                                long long stride_c, int batch, int compute, int) {
  if (const int fault = planned_fault("cublasGemmStridedBatchedEx")) return fault;
  ProductCall call{Element::f32, transpose_a != 0, transpose_b != 0, m,        n,     k,    lda, ldb, ldc,
                   batch,        stride_a,         stride_b,         stride_c, alpha, beta, a,   b,   c};
  if (a_type != c_type || b_type != c_type || !find_element(c_type, compute, call.element)) {
    return sluice::streams::kCublasNotSupported;
  }
  if (!has_sizes(call)) return kInvalidSize;
  return queue_product(enqueue(), *handle, call) == 0 ? 0 : kExecutionFailed;
}

}  // namespace simulated
