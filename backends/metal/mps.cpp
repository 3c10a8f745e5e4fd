#include "backends/metal/mps.hpp"

#include <array>
#include <atomic>
#include <string>

#include "backends/common/driver_library.hpp"
#include "backends/common/failure.hpp"
#include "backends/common/text.hpp"

namespace sluice::metal {
namespace {

using plugin::Failure;

constexpr const char* kSupports = "MPSSupportsMTLDevice";

std::atomic<bool> is_enabled{false};

const plugin::DriverLibrary& library() {
  static const auto* const instance =
      new plugin::DriverLibrary({"/System/Library/Frameworks/MetalPerformanceShaders.framework/MetalPerformanceShaders",
                                 "MetalPerformanceShaders"});
  return *instance;
}

std::string problem() {
  if (!library().is_open()) return library().reason();
  return library().find(kSupports) == nullptr ? std::string("it has no ") + kSupports : "";
}

std::uint64_t element_bytes(const sluice_gemm& gemm) { return gemm.dtype == SLUICE_DTYPE_F32 ? 4 : 2; }

/// A column-major matrix as its transpose in rows, which is what the library knows.
struct Rows {
  std::int64_t rows, columns, step, stride;
  sluice_memory memory;
  std::uint64_t offset;
};

Reference make_matrix(const Device::Recording& recording, const sluice_gemm& gemm, const Rows& m) {
  const std::uint64_t unit = element_bytes(gemm);
  const auto number = [](std::int64_t n) { return static_cast<NSUInteger>(n); };
  const std::uint64_t row_bytes = number(m.step) * unit, matrix_bytes = number(m.stride) * unit;
  const std::uint64_t bytes =
      matrix_bytes * (number(gemm.batch) - 1) + row_bytes * (number(m.rows) - 1) + number(m.columns) * unit;
  const id buffer = recording.use({m.memory, m.offset, bytes});
  const id shape =
      send().matrices(class_named("MPSMatrixDescriptor"), number(m.rows), number(m.columns), number(gemm.batch),
                      row_bytes, gemm.batch > 1 ? matrix_bytes : row_bytes * number(m.rows),
                      gemm.dtype == SLUICE_DTYPE_F32 ? kMpsFloat32 : kMpsFloat16);
  Reference matrix(send().init_matrix(send().allocate(class_named("MPSMatrix")), buffer, m.offset, shape));
  if (!matrix) throw Failure(SLUICE_UNSUPPORTED, "Metal Performance Shaders takes no such matrix");
  return matrix;
}

void check_kind(const sluice_gemm& gemm, const Rows& a, const Rows& b, const Rows& c) {
  const auto refuse = [](const char* what) {
    throw Failure(SLUICE_UNSUPPORTED, std::string("Metal Performance Shaders: ") + what);
  };
  if (gemm.dtype != SLUICE_DTYPE_F32 && gemm.dtype != SLUICE_DTYPE_F16) refuse("products of f32 and f16 only");
  if (gemm.m < 1 || gemm.n < 1 || gemm.k < 1 || gemm.batch < 1) refuse("no empty products");
  for (const Rows& each : {a, b, c}) {
    if (each.step < each.columns) refuse("columns that overlap");
    if (gemm.batch == 1) continue;
    if (each.stride < each.rows * each.step) refuse("no batches of matrices that overlap");
    if (each.stride % each.step != 0) refuse("no batches whose matrices are not whole columns apart");
  }
}

// In rows the product is transposed as well: c' = op(b)' op(a)'.
void encode(Device& device, const sluice_gemm& gemm) {
  const auto rows = [](bool is_transposed, std::int64_t m, std::int64_t n, std::int64_t step, std::int64_t stride,
                       sluice_memory memory, std::uint64_t offset) {
    return is_transposed ? Rows{m, n, step, stride, memory, offset} : Rows{n, m, step, stride, memory, offset};
  };
  const Rows a = rows(gemm.transpose_a != 0, gemm.m, gemm.k, gemm.lda, gemm.stride_a, gemm.a, gemm.offset_a);
  const Rows b = rows(gemm.transpose_b != 0, gemm.k, gemm.n, gemm.ldb, gemm.stride_b, gemm.b, gemm.offset_b);
  const Rows c = rows(false, gemm.m, gemm.n, gemm.ldc, gemm.stride_c, gemm.c, gemm.offset_c);
  check_kind(gemm, a, b, c);
  const Reference product(send().init_product(send().allocate(class_named("MPSMatrixMultiplication")), device.handle(),
                                              BOOL(gemm.transpose_b != 0), BOOL(gemm.transpose_a != 0),
                                              static_cast<NSUInteger>(gemm.n), static_cast<NSUInteger>(gemm.m),
                                              static_cast<NSUInteger>(gemm.k), gemm.alpha, gemm.beta));
  if (!product) throw Failure(SLUICE_UNSUPPORTED, "Metal Performance Shaders does not know this device");
  send().set_batch_size(product.get(), static_cast<NSUInteger>(gemm.batch));
  const Device::Recording recording(device);
  const id buffer = recording.queue().command_buffer();
  const Reference left = make_matrix(recording, gemm, b), right = make_matrix(recording, gemm, a),
                  result = make_matrix(recording, gemm, c);
  send().encode_product(product.get(), buffer, left.get(), right.get(), result.get());
  recording.queue().recorded("a product of Metal Performance Shaders");
}

}  // namespace

void describe_mps(sluice_component& component) {
  const std::string why = problem();
  component.state = why.empty() ? SLUICE_COMPONENT_FOUND : SLUICE_COMPONENT_MISSING;
  plugin::copy_text(component.name, "MPS");
  plugin::copy_text(component.file, library().file_of(kSupports));
  plugin::copy_text(component.version, "");
  plugin::copy_text(component.reason, why);
}

void probe_mps(Device& device) {
  if (const std::string why = problem(); !why.empty()) throw Failure(SLUICE_UNSUPPORTED, "MPS: " + why);
  const auto supports = reinterpret_cast<BOOL (*)(id)>(library().find(kSupports));
  if (supports(device.handle()) == 0) throw Failure(SLUICE_UNSUPPORTED, "MPS does not know this device");
  // Columns: (1 3; 2 4) (5 7; 6 8) = (23 31; 34 46), one behind the other in one block.
  const std::array<float, 12> numbers = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::array<float, 4> expected = {23, 34, 31, 46};
  std::array<float, 4> got{};
  const sluice_memory memory = device.alloc(sizeof numbers);
  device.write({memory, 0, sizeof numbers}, numbers.data());
  sluice_gemm gemm{};
  gemm.dtype = SLUICE_DTYPE_F32;
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = 2;
  gemm.batch = 1;
  gemm.a = gemm.b = gemm.c = memory;
  gemm.offset_b = 16;
  gemm.offset_c = 32;
  gemm.alpha = 1;
  encode(device, gemm);
  device.read({memory, 32, sizeof got}, got.data());
  device.free(memory);
  if (got != expected) throw Failure(SLUICE_ERROR, "MPSMatrixMultiplication gave a wrong product");
}

void enable_mps() { is_enabled = true; }

void multiply(Device& device, const sluice_gemm& gemm) {
  if (!is_enabled) throw Failure(SLUICE_UNSUPPORTED, "MPS is not enabled");
  encode(device, gemm);
}

}  // namespace sluice::metal
