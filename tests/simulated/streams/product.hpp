// Matrix products for a simulated BLAS: three loops, queued on a simulated driver like those of the real one.
#pragma once

#include <cstdint>

#include "tests/simulated/streams/driver.hpp"

namespace simulated {

/// tf32 is f32 whose factors are rounded to 10 bits of mantissa.
enum class Element : std::uint8_t { f16, bf16, tf32, f32, f64 };

/// As the functions of a BLAS take it; `alpha` and `beta` are of the type that is computed in.
struct ProductCall {
  Element element;
  bool transpose_a, transpose_b;
  int m, n, k, lda, ldb, ldc, batch;
  std::int64_t stride_a, stride_b, stride_c;
  const void *alpha, *beta;
  const void *a, *b;
  void* c;
};

struct BlasHandle {
  Stream* stream = nullptr;
};

/// enqueue_work() as a driver exports it under a name of its own; null if the driver cannot be opened.
using Enqueue = int (*)(Stream* stream, const void* const* addresses, int count,
                        void (*run)(void* const* bytes, void* data), void (*drop)(void* data), void* data);
Enqueue find_enqueue(const char* driver, const char* function);

/// Whether the sizes are such as a BLAS takes.
bool has_sizes(const ProductCall& call);
/// The driver's code.
int queue_product(Enqueue enqueue, const BlasHandle& handle, const ProductCall& call);

}  // namespace simulated
