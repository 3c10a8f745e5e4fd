#include "backends/opencl/clblast.hpp"

#include <atomic>
#include <cstdint>
#include <string>

#include "backends/common/driver_library.hpp"
#include "backends/common/failure.hpp"
#include "backends/common/text.hpp"
#include "backends/opencl/cl_error.hpp"

namespace sluice::opencl {
namespace {

using plugin::Failure;

constexpr const char* kSgemm = "CLBlastSgemm";
constexpr int kColumnMajor = 102;
constexpr int kNotTransposed = 111;
constexpr int kTransposed = 112;
constexpr int kNotImplemented = -1024;
constexpr int kNoHalfPrecision = -2045;
constexpr int kNoDoublePrecision = -2044;

template <class T>
using Gemm = int (*)(int layout, int transpose_a, int transpose_b, std::size_t m, std::size_t n, std::size_t k, T alpha,
                     cl_mem a, std::size_t offset_a, std::size_t lda, cl_mem b, std::size_t offset_b, std::size_t ldb,
                     T beta, cl_mem c, std::size_t offset_c, std::size_t ldc, cl_command_queue* queue, cl_event* event);
using Sgemm = Gemm<float>;
template <class T>
using BatchedGemm = int (*)(int layout, int transpose_a, int transpose_b, std::size_t m, std::size_t n, std::size_t k,
                            T alpha, cl_mem a, std::size_t offset_a, std::size_t lda, std::size_t stride_a, cl_mem b,
                            std::size_t offset_b, std::size_t ldb, std::size_t stride_b, T beta, cl_mem c,
                            std::size_t offset_c, std::size_t ldc, std::size_t stride_c, std::size_t batch,
                            cl_command_queue* queue, cl_event* event);

std::atomic<bool> is_enabled{false};

const plugin::DriverLibrary& library() {
  static const auto* const instance = new plugin::DriverLibrary({"libclblast.so.1", "libclblast.so"});
  return *instance;
}

std::string problem() {
  if (!library().is_open()) return library().reason();
  return library().find(kSgemm) == nullptr ? "it has no CLBlastSgemm" : "";
}

/// A block that goes with the scope.
class Scratch {
 public:
  Scratch(Device& device, std::uint64_t bytes) : device_(device), range_{device.alloc(bytes), 0, bytes} {}
  ~Scratch() {
    try {
      device_.free(range_.memory);
    } catch (...) {  // nothing can be done about a block that does not go
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const Range& operator*() const { return range_; }
  cl_mem buffer() const { return device_.buffer_of(range_.memory); }

 private:
  Device& device_;
  Range range_;
};

}  // namespace

void describe_clblast(sluice_component& component) {
  const std::string why = problem();
  component.state = why.empty() ? SLUICE_COMPONENT_FOUND : SLUICE_COMPONENT_MISSING;
  plugin::copy_text(component.name, "CLBlast");
  plugin::copy_text(component.file, library().file_of(kSgemm));
  plugin::copy_text(component.version, "");
  plugin::copy_text(component.reason, why);
}

void probe_clblast(Device& device) {
  if (const std::string why = problem(); !why.empty()) throw Failure(SLUICE_UNSUPPORTED, "CLBlast: " + why);
  const auto sgemm = reinterpret_cast<Sgemm>(library().find(kSgemm));
  // Columns: (1 3; 2 4) (5 7; 6 8) = (23 31; 34 46).
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, expected[] = {23, 34, 31, 46};
  float c[] = {0, 0, 0, 0};
  const Scratch on_a(device, sizeof a), on_b(device, sizeof b), on_c(device, sizeof c);
  device.write(*on_a, a);
  device.write(*on_b, b);
  device.write(*on_c, c);
  cl_command_queue queue = device.queue();
  const int code = sgemm(kColumnMajor, kNotTransposed, kNotTransposed, 2, 2, 2, 1.0F, on_a.buffer(), 0, 2,
                         on_b.buffer(), 0, 2, 0.0F, on_c.buffer(), 0, 2, &queue, nullptr);
  if (code != 0) throw Failure(SLUICE_ERROR, "CLBlastSgemm: status " + std::to_string(code));
  device.read(*on_c, c);
  for (std::size_t i = 0; i < 4; ++i) {
    if (c[i] != expected[i]) throw Failure(SLUICE_ERROR, "CLBlastSgemm gave a wrong product");
  }
}

// ---- Products.

namespace {

/// A half's bits for 0 and 1, the only factors that are asked for.
std::uint16_t half_of(double number) { return number == 0 ? 0 : 0x3C00; }

void check_status(int code, const char* function) {
  if (code == 0) return;
  const bool is_lack = code == kNotImplemented || code == kNoHalfPrecision || code == kNoDoublePrecision;
  throw Failure(is_lack ? SLUICE_UNSUPPORTED : status_of(code),
                std::string(function) + ": status " + std::to_string(code));
}

template <class Function>
Function function_of(const std::string& name) {
  const auto function = reinterpret_cast<Function>(library().find(name.c_str()));
  if (function == nullptr) throw Failure(SLUICE_UNSUPPORTED, "CLBlast has no function " + name);
  return function;
}

template <class T>
void run_gemm(Device& device, const sluice_gemm& gemm, const std::string& name, T alpha, T beta) {
  const auto size = [](std::int64_t number) { return static_cast<std::size_t>(number); };
  const auto transpose = [](std::uint32_t is_transposed) { return is_transposed != 0 ? kTransposed : kNotTransposed; };
  const cl_mem a = device.buffer_of(gemm.a), b = device.buffer_of(gemm.b), c = device.buffer_of(gemm.c);
  const std::size_t at_a = gemm.offset_a / sizeof(T), at_b = gemm.offset_b / sizeof(T),
                    at_c = gemm.offset_c / sizeof(T);
  cl_command_queue queue = device.queue();
  int code = 0;
  if (gemm.batch == 1) {
    code = function_of<Gemm<T>>(name)(kColumnMajor, transpose(gemm.transpose_a), transpose(gemm.transpose_b),
                                      size(gemm.m), size(gemm.n), size(gemm.k), alpha, a, at_a, size(gemm.lda), b, at_b,
                                      size(gemm.ldb), beta, c, at_c, size(gemm.ldc), &queue, nullptr);
  } else {
    code = function_of<BatchedGemm<T>>(name + "StridedBatched")(
        kColumnMajor, transpose(gemm.transpose_a), transpose(gemm.transpose_b), size(gemm.m), size(gemm.n),
        size(gemm.k), alpha, a, at_a, size(gemm.lda), size(gemm.stride_a), b, at_b, size(gemm.ldb), size(gemm.stride_b),
        beta, c, at_c, size(gemm.ldc), size(gemm.stride_c), size(gemm.batch), &queue, nullptr);
  }
  check_status(code, name.c_str());
  device.flush();
}

}  // namespace

void enable_clblast() { is_enabled = true; }

void multiply(Device& device, const sluice_gemm& gemm) {
  if (!is_enabled) throw Failure(SLUICE_UNSUPPORTED, "CLBlast is not enabled");
  switch (gemm.dtype) {
    case SLUICE_DTYPE_F32:
      return run_gemm(device, gemm, kSgemm, static_cast<float>(gemm.alpha), static_cast<float>(gemm.beta));
    case SLUICE_DTYPE_F64: return run_gemm(device, gemm, "CLBlastDgemm", gemm.alpha, gemm.beta);
    case SLUICE_DTYPE_F16:
      if ((gemm.alpha != 0 && gemm.alpha != 1) || (gemm.beta != 0 && gemm.beta != 1)) break;
      return run_gemm(device, gemm, "CLBlastHgemm", half_of(gemm.alpha), half_of(gemm.beta));
    default: break;
  }
  throw Failure(SLUICE_UNSUPPORTED, "CLBlast multiplies no matrices of this kind");
}

}  // namespace sluice::opencl
