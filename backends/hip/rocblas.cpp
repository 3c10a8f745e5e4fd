// rocBLAS, for backends/streams/blas.cpp. Its first call ends the process on a GPU that it has no kernels for; the host
// makes that call in a process of its own, see src/device/component_probe.hpp.
#include <string>

#include "backends/common/driver_library.hpp"
#include "backends/hip/hip_info.hpp"
#include "backends/streams/blas.hpp"

namespace sluice::streams {
namespace {

using plugin::DriverLibrary;
using plugin::Failure;

constexpr const char* kProduct = "rocblas_gemm_strided_batched_ex";

struct LoadedRocblas {
  RocblasApi api{};
  Blas facts{"rocBLAS", "", "", ""};
};

// The one of the run-time's own generation first: another opens a second run-time.
DriverLibrary open_rocblas() {
  switch (runtime_version() / 10000000) {
    case 5: return DriverLibrary({"librocblas.so.3", "librocblas.so.0", "librocblas.so.4", "librocblas.so"});
    case 6: return DriverLibrary({"librocblas.so.4", "librocblas.so.5", "librocblas.so.3", "librocblas.so"});
    default: return DriverLibrary({"librocblas.so.5", "librocblas.so.4", "librocblas.so"});
  }
}

LoadedRocblas* load_rocblas() {
  auto* const loaded = new LoadedRocblas;
  const DriverLibrary library = open_rocblas();
  if (!library.is_open()) {
    loaded->facts.problem = library.reason();
    return loaded;
  }
  FunctionFinder finder(library);
#define SLUICE_ROCBLAS_FIND(name, parameters) finder.find(loaded->api.name, #name);
  SLUICE_ROCBLAS_FUNCTIONS(SLUICE_ROCBLAS_FIND)
#undef SLUICE_ROCBLAS_FIND
  if (!finder.missing().empty()) loaded->facts.problem = "it lacks " + finder.missing();
  loaded->facts.file = library.file_of(kProduct);
  return loaded;
}

const LoadedRocblas& rocblas() {
  static const auto* const instance = load_rocblas();
  return *instance;
}

void check_rocblas(int status, const char* function) {
  if (status == 0 || status == kRocblasPerfDegraded) return;
  const std::string text = std::string(function) + ": rocBLAS status " + std::to_string(status);
  if (status == kRocblasMemoryError) throw Failure(SLUICE_OUT_OF_MEMORY, text);
  const bool is_unsupported =
      status == kRocblasNotImplemented || status == kRocblasExcluded || status == kRocblasArchMismatch;
  throw Failure(is_unsupported ? SLUICE_UNSUPPORTED : SLUICE_ERROR, text);
}

// Without atomic additions, which would give other sums at every run.
RocblasHandle make_handle(Stream stream) {
  const RocblasApi& f = rocblas().api;
  RocblasHandle made = nullptr;
  check_rocblas(f.rocblas_create_handle(&made), "rocblas_create_handle");
  const int stream_status = f.rocblas_set_stream(made, stream);
  const int atomics_status = f.rocblas_set_atomics_mode(made, kRocblasNoAtomics);
  if (stream_status != 0 || atomics_status != 0) f.rocblas_destroy_handle(made);
  check_rocblas(stream_status, "rocblas_set_stream");
  check_rocblas(atomics_status, "rocblas_set_atomics_mode");
  return made;
}

int type_of(std::uint32_t dtype) {
  switch (dtype) {
    case SLUICE_DTYPE_F16: return kRocblasF16;
    case SLUICE_DTYPE_BF16: return kRocblasBf16;
    case SLUICE_DTYPE_F32: return kRocblasF32;
    case SLUICE_DTYPE_F64: return kRocblasF64;
    default: throw Failure(SLUICE_UNSUPPORTED, "rocBLAS: no products of element type " + std::to_string(dtype));
  }
}

int operation_of(bool is_transposed) { return is_transposed ? kRocblasTransposed : kRocblasNotTransposed; }

}  // namespace

const Blas& blas() { return rocblas().facts; }

// Its result D lies where C is.
void queue_product(Device& device, const BlasProduct& p) {
  const int type = type_of(p.dtype);
  const auto handle = blas_handle<RocblasHandle>(device, [&] { return make_handle(device.stream()); });
  const int status = rocblas().api.rocblas_gemm_strided_batched_ex(
      handle, operation_of(p.transpose_a), operation_of(p.transpose_b), p.m, p.n, p.k, p.alpha, p.a, type, p.lda,
      p.stride_a, p.b, type, p.ldb, p.stride_b, p.beta, p.c, type, p.ldc, p.stride_c, p.c, type, p.ldc, p.stride_c,
      p.batch, type == kRocblasF64 ? kRocblasF64 : kRocblasF32, kRocblasStandard, 0, 0);
  check_rocblas(status, kProduct);
}

}  // namespace sluice::streams
