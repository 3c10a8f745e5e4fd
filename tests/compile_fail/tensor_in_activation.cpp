// expect: no matching function for call to|no matching constructor|cannot convert
#include "sluice/layers.hpp"

sluice::Dense f(const sluice::Tensor& scale) {
  return sluice::Dense(2, 3, [scale](sluice::Expr x) { return x * scale; });
}
