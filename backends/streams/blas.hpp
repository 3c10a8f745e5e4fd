// The vendor's BLAS, cuBLAS or rocBLAS, the only component of such a backend so far: matrix products, once the host has
// seen it give a right one. The vendor supplies blas() and queue_product().
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "backends/streams/device.hpp"

namespace sluice::streams {

struct Blas {
  const char* name;  ///< "cuBLAS"
  std::string file;
  std::string version;  ///< empty if it does not tell
  std::string problem;  ///< why it cannot be used; empty if it can
};

/// Opens the library at the first call; starts nothing in it.
const Blas& blas();

/// C = alpha op(A) op(B) + beta C for each matrix of a batch, column-major, on a device's compute stream.
struct BlasProduct {
  std::uint32_t dtype;  ///< of all matrices; they are multiplied in f64 if it is that, else in f32
  bool transpose_a, transpose_b;
  bool may_use_tf32;  ///< for the factors of f32
  int m, n, k, lda, ldb, ldc, batch;
  std::int64_t stride_a, stride_b, stride_c;
  const void *alpha, *beta;  ///< of the type that is computed in
  void *a, *b, *c;
};

/// SLUICE_UNSUPPORTED for element types and devices that the library does not do.
void queue_product(Device& device, const BlasProduct& product);

/// The library's handle of a device, made by `make` at its first product and kept, because making one takes long and
/// waits for the device.
template <class Handle, class Make>
Handle blas_handle(Device& device, const Make& make) {
  static auto* const mutex = new std::mutex;
  static auto* const handles = new std::map<const Device*, Handle>;
  const std::lock_guard guard(*mutex);
  Handle& handle = (*handles)[&device];
  if (handle == nullptr) handle = make();
  return handle;
}

// ---- What the table needs; see backend.h. SLUICE_UNSUPPORTED past the last component.

void describe_component(std::uint32_t k, sluice_component& component);
void probe_component(Device& device, std::uint32_t k);
void enable_component(std::uint32_t k);
/// SLUICE_UNSUPPORTED unless a component is enabled that does this.
void multiply(Device& device, const sluice_gemm& gemm);

}  // namespace sluice::streams
