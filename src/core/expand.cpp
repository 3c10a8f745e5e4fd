// Broadcasting made real.
#include <string>

#include "sluice/ops.hpp"
#include "src/core/map.hpp"
#include "src/core/recorded.hpp"
#include "src/core/strided_copy.hpp"

namespace sluice::inline v0 {
namespace {

Tensor expanded(const Tensor& x, const Shape& shape) {
  if (shape.numel() == x.numel()) return detail::view(x, x.rep()->offset, shape);
  Tensor y = detail::empty(shape, x.dtype(), detail::device_of_rep(x));
  detail::strided_copy(shape, detail::broadcast_operand(x, shape), detail::dense_operand(y));
  return y;
}

}  // namespace

Tensor expand(const Tensor& x, const Shape& shape) {
  detail::require_value(x, "expand");
  bool fits = x.rank() <= shape.rank();
  for (int dim = 0; fits && dim < x.rank(); ++dim) fits = x.shape()[dim] == shape[dim] || x.shape()[dim] == 1;
  if (!fits) {
    throw ShapeError("expand: " + to_string(x.shape()) + " does not broadcast to " + to_string(shape) +
                     "; sizes must be equal or 1, first dimensions aligned");
  }
  return detail::recorded(expanded(x, shape), x,
                          [from = x.shape()](const Tensor& g) { return reshape(detail::sum_to_shape(g, from), from); });
}

}  // namespace sluice::inline v0
