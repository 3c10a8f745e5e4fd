// cuBLAS, CUDA's only component so far: matrix products, once the host has seen it give a right one.
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <string>

#include "backends/common/driver_library.hpp"
#include "backends/common/text.hpp"
#include "backends/streams/device.hpp"

namespace sluice::streams {
namespace {

using plugin::Failure;

constexpr const char* kProduct = "cublasGemmStridedBatchedEx";

std::atomic<bool> is_enabled{false};

const plugin::DriverLibrary& library() {
  static const auto* const instance =
      new plugin::DriverLibrary({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"});
  return *instance;
}

struct LoadedCublas {
  CublasApi api{};
  std::string problem;
};

const LoadedCublas& cublas() {
  static const auto* const instance = [] {
    auto* const loaded = new LoadedCublas;
    if (!library().is_open()) {
      loaded->problem = library().reason();
      return loaded;
    }
    std::string missing;
#define SLUICE_CUBLAS_FIND(name, type, parameters)                                        \
  loaded->api.name = reinterpret_cast<decltype(loaded->api.name)>(library().find(#name)); \
  if (loaded->api.name == nullptr) missing += missing.empty() ? #name : ", " #name;
    SLUICE_CUBLAS_FUNCTIONS(SLUICE_CUBLAS_FIND)
#undef SLUICE_CUBLAS_FIND
    if (!missing.empty()) loaded->problem = "it lacks " + missing;
    return loaded;
  }();
  return *instance;
}

void check_cublas(int status, const char* function) {
  if (status == 0) return;
  const std::string text = std::string(function) + ": cuBLAS status " + std::to_string(status);
  if (status == kCublasAllocFailed) throw Failure(SLUICE_OUT_OF_MEMORY, text);
  const bool is_unsupported = status == kCublasNotSupported || status == kCublasArchMismatch;
  throw Failure(is_unsupported ? SLUICE_UNSUPPORTED : SLUICE_ERROR, text);
}

/// One for each device, made at its first product and kept, because making one takes long and waits for the device.
CublasHandle handle_of(Device& device) {
  static auto* const mutex = new std::mutex;
  static auto* const handles = new std::map<const Device*, CublasHandle>;
  const std::lock_guard guard(*mutex);
  CublasHandle& handle = (*handles)[&device];
  if (handle != nullptr) return handle;
  CublasHandle made = nullptr;
  check_cublas(cublas().api.cublasCreate_v2(&made), "cublasCreate");
  if (const int status = cublas().api.cublasSetStream_v2(made, device.stream()); status != 0) {
    cublas().api.cublasDestroy_v2(made);
    check_cublas(status, "cublasSetStream");
  }
  return handle = made;
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

int compute_type(const sluice_gemm& g) {
  if (g.dtype == SLUICE_DTYPE_F64) return kCublasCompute64F;
  const bool may_round = g.dtype == SLUICE_DTYPE_F32 && (g.flags & SLUICE_GEMM_TF32) != 0;
  return may_round ? kCublasComputeTf32 : kCublasCompute32F;
}

int to_int(std::int64_t number) {
  if (number >= 0 && number <= std::numeric_limits<int>::max()) return static_cast<int>(number);
  throw Failure(SLUICE_UNSUPPORTED, "cuBLAS: a size of " + std::to_string(number));
}

int operation_of(std::uint32_t transpose) { return transpose != 0 ? kCublasTransposed : kCublasNotTransposed; }

void call_cublas(Device& device, const sluice_gemm& g) {
  if (g.m == 0 || g.n == 0 || g.batch == 0) return;
  if (g.batch > 1 && g.stride_c == 0) throw Failure(SLUICE_ERROR, "gemm: several products into one matrix");
  const int type = type_of(g.dtype);
  const bool is_double = type == kCudaF64;
  // Numbers of the type that it computes in.
  const float alpha_f32 = static_cast<float>(g.alpha), beta_f32 = static_cast<float>(g.beta);
  const void* const alpha = is_double ? static_cast<const void*>(&g.alpha) : &alpha_f32;
  const void* const beta = is_double ? static_cast<const void*>(&g.beta) : &beta_f32;
  const auto pointer = [](DevicePointer address) { return reinterpret_cast<void*>(address); };
  void* const a = pointer(device.use_rest(g.a, g.offset_a));
  void* const b = pointer(device.use_rest(g.b, g.offset_b));
  void* const c = pointer(device.use_rest(g.c, g.offset_c));
  const int status = cublas().api.cublasGemmStridedBatchedEx(
      handle_of(device), operation_of(g.transpose_a), operation_of(g.transpose_b), to_int(g.m), to_int(g.n),
      to_int(g.k), alpha, a, type, to_int(g.lda), g.stride_a, b, type, to_int(g.ldb), g.stride_b, beta, c, type,
      to_int(g.ldc), g.stride_c, to_int(g.batch), compute_type(g), kCublasDefaultAlgorithm);
  check_cublas(status, kProduct);
}

void require_component(std::uint32_t k) {
  if (k != 0) throw Failure(SLUICE_UNSUPPORTED, "there is no component " + std::to_string(k));
}

void require_cublas() {
  if (!cublas().problem.empty()) throw Failure(SLUICE_UNSUPPORTED, "cuBLAS: " + cublas().problem);
}

/// A block that goes with the scope.
class Scratch {
 public:
  Scratch(Device& device, const float (&numbers)[4]) : device_(device), memory_(device.alloc(sizeof numbers)) {
    device.write({memory_, 0, sizeof numbers}, numbers);
  }
  ~Scratch() {
    try {
      device_.free(memory_);
    } catch (...) {  // nothing can be done about a block that does not go
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  sluice_memory operator*() const { return memory_; }

 private:
  Device& device_;
  sluice_memory memory_;
};

}  // namespace

void describe_component(std::uint32_t k, sluice_component& component) {
  require_component(k);
  component.state = cublas().problem.empty() ? SLUICE_COMPONENT_FOUND : SLUICE_COMPONENT_MISSING;
  plugin::copy_text(component.name, "cuBLAS");
  plugin::copy_text(component.file, library().file_of(kProduct));
  plugin::copy_text(component.version, "");
  plugin::copy_text(component.reason, cublas().problem);
}

void probe_component(Device& device, std::uint32_t k) {
  require_component(k);
  require_cublas();
  // Columns: (1 3; 2 4) (5 7; 6 8) = (23 31; 34 46).
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, expected[] = {23, 34, 31, 46};
  float c[] = {0, 0, 0, 0};
  const Scratch on_a(device, a), on_b(device, b), on_c(device, c);
  sluice_gemm gemm{};
  gemm.size = sizeof gemm;
  gemm.dtype = SLUICE_DTYPE_F32;
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = 2;
  gemm.batch = 1;
  gemm.a = *on_a;
  gemm.b = *on_b;
  gemm.c = *on_c;
  gemm.alpha = 1;
  call_cublas(device, gemm);
  device.read({*on_c, 0, sizeof c}, c);
  for (std::size_t i = 0; i < 4; ++i) {
    if (c[i] != expected[i]) throw Failure(SLUICE_ERROR, "cuBLAS gave a wrong product");
  }
}

void enable_component(std::uint32_t k) {
  require_component(k);
  require_cublas();
  is_enabled = true;
}

void multiply(Device& device, const sluice_gemm& gemm) {
  if (!is_enabled) throw Failure(SLUICE_UNSUPPORTED, "gemm: cuBLAS is not enabled");
  call_cublas(device, gemm);
}

}  // namespace sluice::streams
