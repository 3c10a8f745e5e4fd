// A cuBLAS for the simulated driver: products of floats and doubles by three loops, queued like the real one's. Where
// TF32 is asked for, factors are rounded to it.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>

#include "backends/cuda/cuda_api.hpp"
#include "tests/simulated/cuda/settings.hpp"

#define SIMULATED_EXPORT extern "C" __attribute__((visibility("default")))

struct cublasContext {
  sluice::streams::Stream stream;
};

namespace simulated_cuda {
namespace {

using sluice::streams::CublasHandle;

constexpr int kNotInitialized = 1, kInvalidValue = 7, kExecutionFailed = 13;

/// The simulated driver's way in for this library.
using Enqueue = int (*)(sluice::streams::Stream stream, const void* const* addresses, int count,
                        void (*run)(void* const* bytes, void* data), void (*drop)(void* data), void* data);

Enqueue find_enqueue() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return driver == nullptr ? nullptr : reinterpret_cast<Enqueue>(dlsym(driver, "cuSimulatedEnqueue"));
}

struct Product {
  bool is_tf32;
  int transpose_a, transpose_b, m, n, k, lda, ldb, ldc, batch;
  long long stride_a, stride_b, stride_c;
  double alpha, beta;
};

/// To 10 bits of mantissa, ties to even.
float to_tf32(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0xFFFU + ((bits >> 13U) & 1U)) & ~0x1FFFU;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

template <class T>
double factor(const Product& p, T x) {
  return p.is_tf32 ? to_tf32(static_cast<float>(x)) : static_cast<double>(x);
}

template <class T>
void multiply(const Product& p, const T* a, const T* b, T* c) {
  for (int i = 0; i < p.m; ++i) {
    for (int j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int l = 0; l < p.k; ++l) {
        const T x = p.transpose_a != 0 ? a[l + std::int64_t{i} * p.lda] : a[i + std::int64_t{l} * p.lda];
        const T y = p.transpose_b != 0 ? b[j + std::int64_t{l} * p.ldb] : b[l + std::int64_t{j} * p.ldb];
        sum += factor(p, x) * factor(p, y);
      }
      T& to = c[i + std::int64_t{j} * p.ldc];
      to = static_cast<T>(p.alpha * sum + (p.beta == 0 ? 0 : p.beta * static_cast<double>(to)));
    }
  }
}

template <class T>
void run(void* const* bytes, void* data) {
  const Product& p = *static_cast<const Product*>(data);
  for (int k = 0; k < p.batch; ++k) {
    multiply(p, static_cast<const T*>(bytes[0]) + k * p.stride_a, static_cast<const T*>(bytes[1]) + k * p.stride_b,
             static_cast<T*>(bytes[2]) + k * p.stride_c);
  }
}

template <class T>
double number_at(const void* value) {
  T number{};
  std::memcpy(&number, value, sizeof number);
  return static_cast<double>(number);
}

}  // namespace

SIMULATED_EXPORT int cublasCreate_v2(CublasHandle* handle) {
  if (find_enqueue() == nullptr) return kNotInitialized;
  *handle = new cublasContext{};
  return 0;
}

SIMULATED_EXPORT int cublasDestroy_v2(CublasHandle handle) {
  delete handle;
  return 0;
}

SIMULATED_EXPORT int cublasSetStream_v2(CublasHandle handle, sluice::streams::Stream stream) {
  handle->stream = stream;
  return 0;
}

SIMULATED_EXPORT int cublasGemmStridedBatchedEx(CublasHandle handle, int transpose_a, int transpose_b, int m, int n,
                                                int k, const void* alpha, const void* a, int a_type, int lda,
                                                long long stride_a, const void* b, int b_type, int ldb,
                                                long long stride_b, const void* beta, void* c, int c_type, int ldc,
                                                long long stride_c, int batch, int compute, int) {
  const bool is_tf32 = compute == sluice::streams::kCublasComputeTf32;
  const bool is_float =
      c_type == sluice::streams::kCudaF32 && (is_tf32 || compute == sluice::streams::kCublasCompute32F);
  const bool is_double = c_type == sluice::streams::kCudaF64 && compute == sluice::streams::kCublasCompute64F;
  if (a_type != c_type || b_type != c_type || (!is_float && !is_double)) return sluice::streams::kCublasNotSupported;
  if (m < 0 || n < 0 || k < 0 || lda < 1 || ldb < 1 || ldc < m) return kInvalidValue;
  auto product = std::make_unique<Product>();
  *product = {is_tf32, transpose_a, transpose_b, m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c, 0, 0};
  product->alpha = is_double ? number_at<double>(alpha) : number_at<float>(alpha);
  product->beta = is_double ? number_at<double>(beta) : number_at<float>(beta);
  const void* const addresses[] = {a, b, c};
  const auto drop = [](void* data) { delete static_cast<Product*>(data); };
  const int code =
      find_enqueue()(handle->stream, addresses, 3, is_double ? run<double> : run<float>, drop, product.release());
  return code == 0 ? 0 : kExecutionFailed;
}

}  // namespace simulated_cuda
