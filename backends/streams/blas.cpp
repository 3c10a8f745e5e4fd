#include "backends/streams/blas.hpp"

#include <atomic>
#include <limits>

#include "backends/common/text.hpp"

namespace sluice::streams {
namespace {

using plugin::Failure;

std::atomic<bool> is_enabled{false};

int to_int(std::int64_t number) {
  if (number >= 0 && number <= std::numeric_limits<int>::max()) return static_cast<int>(number);
  throw Failure(SLUICE_UNSUPPORTED, std::string(blas().name) + ": a size of " + std::to_string(number));
}

void queue(Device& device, const sluice_gemm& g) {
  if (g.m == 0 || g.n == 0 || g.batch == 0) return;
  if (g.batch > 1 && g.stride_c == 0) throw Failure(SLUICE_ERROR, "gemm: several products into one matrix");
  const bool is_double = g.dtype == SLUICE_DTYPE_F64;
  const float alpha_f32 = static_cast<float>(g.alpha), beta_f32 = static_cast<float>(g.beta);
  const auto place = [&](sluice_memory memory, std::uint64_t offset) {
    return reinterpret_cast<void*>(device.use_rest(memory, offset));
  };
  BlasProduct product{};
  product.dtype = g.dtype;
  product.transpose_a = g.transpose_a != 0;
  product.transpose_b = g.transpose_b != 0;
  product.may_use_tf32 = (g.flags & SLUICE_GEMM_TF32) != 0;
  product.m = to_int(g.m);
  product.n = to_int(g.n);
  product.k = to_int(g.k);
  product.lda = to_int(g.lda);
  product.ldb = to_int(g.ldb);
  product.ldc = to_int(g.ldc);
  product.batch = to_int(g.batch);
  product.stride_a = g.stride_a;
  product.stride_b = g.stride_b;
  product.stride_c = g.stride_c;
  product.alpha = is_double ? static_cast<const void*>(&g.alpha) : &alpha_f32;
  product.beta = is_double ? static_cast<const void*>(&g.beta) : &beta_f32;
  product.a = place(g.a, g.offset_a);
  product.b = place(g.b, g.offset_b);
  product.c = place(g.c, g.offset_c);
  queue_product(device, product);
}

void require_component(std::uint32_t k) {
  if (k != 0) throw Failure(SLUICE_UNSUPPORTED, "there is no component " + std::to_string(k));
}

void require_library() {
  if (!blas().problem.empty()) throw Failure(SLUICE_UNSUPPORTED, std::string(blas().name) + ": " + blas().problem);
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
  component.state = blas().problem.empty() ? SLUICE_COMPONENT_FOUND : SLUICE_COMPONENT_MISSING;
  plugin::copy_text(component.name, blas().name);
  plugin::copy_text(component.file, blas().file);
  plugin::copy_text(component.version, blas().version);
  plugin::copy_text(component.reason, blas().problem);
}

void probe_component(Device& device, std::uint32_t k) {
  require_component(k);
  require_library();
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
  queue(device, gemm);
  device.read({*on_c, 0, sizeof c}, c);
  for (std::size_t i = 0; i < 4; ++i) {
    if (c[i] != expected[i]) throw Failure(SLUICE_ERROR, std::string(blas().name) + " gave a wrong product");
  }
}

void enable_component(std::uint32_t k) {
  require_component(k);
  require_library();
  is_enabled = true;
}

void multiply(Device& device, const sluice_gemm& gemm) {
  if (!is_enabled) throw Failure(SLUICE_UNSUPPORTED, std::string("gemm: ") + blas().name + " is not enabled");
  queue(device, gemm);
}

}  // namespace sluice::streams
