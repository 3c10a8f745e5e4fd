#include "tests/simulated/streams/product.hpp"

#include <dlfcn.h>

#include <bit>
#include <cstring>
#include <memory>

namespace simulated {
namespace {

/// A number of 16 bits with the exponent of a float.
struct Bf16 {
  std::uint16_t bits;
  explicit Bf16(double x) {
    const auto wide = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    bits = static_cast<std::uint16_t>((wide + 0x7FFFU + ((wide >> 16U) & 1U)) >> 16U);
  }
  explicit operator double() const {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U));
  }
};

/// A float that gives only what TF32 holds of it.
struct Tf32 {
  std::uint32_t bits;
  explicit Tf32(double x) : bits(std::bit_cast<std::uint32_t>(static_cast<float>(x))) {}
  explicit operator double() const {
    const std::uint32_t rounded = (bits + 0xFFFU + ((bits >> 13U) & 1U)) & ~0x1FFFU;
    return static_cast<double>(std::bit_cast<float>(rounded));
  }
};

struct Product {
  ProductCall call;
  double alpha, beta;
};

template <class T>
void multiply(const Product& product, const T* a, const T* b, T* c) {
  const ProductCall& p = product.call;
  for (int i = 0; i < p.m; ++i) {
    for (int j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int l = 0; l < p.k; ++l) {
        const T x = p.transpose_a ? a[l + std::int64_t{i} * p.lda] : a[i + std::int64_t{l} * p.lda];
        const T y = p.transpose_b ? b[j + std::int64_t{l} * p.ldb] : b[l + std::int64_t{j} * p.ldb];
        sum += static_cast<double>(x) * static_cast<double>(y);
      }
      T& to = c[i + std::int64_t{j} * p.ldc];
      to = static_cast<T>(product.alpha * sum + (product.beta == 0 ? 0 : product.beta * static_cast<double>(to)));
    }
  }
}

template <class T>
void run(void* const* bytes, void* data) {
  const Product& product = *static_cast<const Product*>(data);
  const ProductCall& p = product.call;
  for (int k = 0; k < p.batch; ++k) {
    multiply(product, static_cast<const T*>(bytes[0]) + k * p.stride_a,
             static_cast<const T*>(bytes[1]) + k * p.stride_b, static_cast<T*>(bytes[2]) + k * p.stride_c);
  }
}

using Run = void (*)(void* const*, void*);

Run run_of(Element element) {
  switch (element) {
    case Element::f16: return run<_Float16>;
    case Element::bf16: return run<Bf16>;
    case Element::tf32: return run<Tf32>;
    case Element::f32: return run<float>;
    default: return run<double>;
  }
}

double number_at(const void* value, bool is_double) {
  double wide = 0;
  float narrow = 0;
  if (is_double) std::memcpy(&wide, value, sizeof wide);
  else std::memcpy(&narrow, value, sizeof narrow);
  return is_double ? wide : static_cast<double>(narrow);
}

}  // namespace

Enqueue find_enqueue(const char* driver, const char* function) {
  void* const library = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Enqueue>(dlsym(library, function));
}

bool has_sizes(const ProductCall& p) {
  return p.m >= 0 && p.n >= 0 && p.k >= 0 && p.lda >= 1 && p.ldb >= 1 && p.ldc >= p.m;
}

int queue_product(Enqueue enqueue, const BlasHandle& handle, const ProductCall& call) {
  const bool is_double = call.element == Element::f64;
  auto product =
      std::make_unique<Product>(Product{call, number_at(call.alpha, is_double), number_at(call.beta, is_double)});
  const void* const addresses[] = {call.a, call.b, call.c};
  const auto drop = [](void* data) { delete static_cast<Product*>(data); };
  return enqueue(handle.stream, addresses, 3, run_of(call.element), drop, product.release());
}

}  // namespace simulated
