// cuBLAS, for backends/streams/blas.cpp.
#include "backends/streams/blas.hpp"

#include <string>

#include "backends/common/driver_library.hpp"

namespace sluice::streams {
namespace {

using plugin::Failure;

constexpr const char* kProduct = "cublasGemmStridedBatchedEx";

struct LoadedCublas {
  CublasApi api{};
  Blas facts{"cuBLAS", "", "", ""};
};

LoadedCublas* load_cublas() {
  auto* const loaded = new LoadedCublas;
  const plugin::DriverLibrary library({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"});
  if (!library.is_open()) {
    loaded->facts.problem = library.reason();
    return loaded;
  }
  FunctionFinder finder(library);
#define SLUICE_CUBLAS_FIND(name, type, parameters) finder.find(loaded->api.name, #name);
  SLUICE_CUBLAS_FUNCTIONS(SLUICE_CUBLAS_FIND)
#undef SLUICE_CUBLAS_FIND
  if (!finder.missing().empty()) loaded->facts.problem = "it lacks " + finder.missing();
  loaded->facts.file = library.file_of(kProduct);
  return loaded;
}

const LoadedCublas& cublas() {
  static const auto* const instance = load_cublas();
  return *instance;
}

void check_cublas(int status, const char* function) {
  if (status == 0) return;
  const std::string text = std::string(function) + ": cuBLAS status " + std::to_string(status);
  if (status == kCublasAllocFailed) throw Failure(SLUICE_OUT_OF_MEMORY, text);
  const bool is_unsupported = status == kCublasNotSupported || status == kCublasArchMismatch;
  throw Failure(is_unsupported ? SLUICE_UNSUPPORTED : SLUICE_ERROR, text);
}

CublasHandle make_handle(Stream stream) {
  CublasHandle made = nullptr;
  check_cublas(cublas().api.cublasCreate_v2(&made), "cublasCreate");
  if (const int status = cublas().api.cublasSetStream_v2(made, stream); status != 0) {
    cublas().api.cublasDestroy_v2(made);
    check_cublas(status, "cublasSetStream");
  }
  return made;
}

int type_of(std::uint32_t dtype) {
  switch (dtype) {
    case SLUICE_DTYPE_F16: return kCudaF16;
    case SLUICE_DTYPE_BF16: return kCudaBf16;
    case SLUICE_DTYPE_F32: return kCudaF32;
    case SLUICE_DTYPE_F64: return kCudaF64;
    default: throw Failure(SLUICE_UNSUPPORTED, "cuBLAS: no products of element type " + std::to_string(dtype));
  }
}

int compute_type(const BlasProduct& p) {
  if (p.dtype == SLUICE_DTYPE_F64) return kCublasCompute64F;
  return p.dtype == SLUICE_DTYPE_F32 && p.may_use_tf32 ? kCublasComputeTf32 : kCublasCompute32F;
}

int operation_of(bool is_transposed) { return is_transposed ? kCublasTransposed : kCublasNotTransposed; }

}  // namespace

const Blas& blas() { return cublas().facts; }

void queue_product(Device& device, const BlasProduct& p) {
  const int type = type_of(p.dtype);
  const auto handle = blas_handle<CublasHandle>(device, [&] { return make_handle(device.stream()); });
  const int status = cublas().api.cublasGemmStridedBatchedEx(
      handle, operation_of(p.transpose_a), operation_of(p.transpose_b), p.m, p.n, p.k, p.alpha, p.a, type, p.lda,
      p.stride_a, p.b, type, p.ldb, p.stride_b, p.beta, p.c, type, p.ldc, p.stride_c, p.batch, compute_type(p),
      kCublasDefaultAlgorithm);
  check_cublas(status, kProduct);
}

}  // namespace sluice::streams
