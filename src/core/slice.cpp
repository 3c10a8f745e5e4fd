// A range of indices along one dimension.
#include <string>

#include "sluice/ops.hpp"
#include "src/core/recorded.hpp"
#include "src/core/strided_copy.hpp"

namespace sluice::inline v0 {
namespace {

struct Range {
  int dim;
  std::int64_t first, step, count;
};

Range checked_range(const Shape& shape, int dim, std::int64_t first, std::int64_t last, std::int64_t step) {
  detail::checked_dim(dim, shape.rank(), "slice");
  if (step < 1) throw ArgumentError("slice: a step of " + std::to_string(step) + "; it must be at least 1");
  if (first < 0 || first > last || last > shape[dim]) {
    throw IndexError("slice: " + std::to_string(first) + " ... " + std::to_string(last) +
                     " does not lie within dimension " + std::to_string(dim) + " of " + to_string(shape) +
                     "; 0 <= first <= last <= " + std::to_string(shape[dim]) + " is needed");
  }
  const std::int64_t length = last - first;
  const std::int64_t count = length / step + (length % step != 0 ? 1 : 0);
  // A step that is never taken may be too large to multiply strides with.
  return {dim, first, count > 1 ? step : 1, count};
}

// Without a gap between its elements in memory.
bool is_dense(const Shape& shape, const Range& range) {
  if (range.step != 1) return false;
  for (int dim = range.dim + 1; dim < shape.rank(); ++dim) {
    if (shape[dim] != 1) return false;
  }
  return true;
}

Tensor sliced(const Tensor& x, const Range& range) {
  const Shape shape = x.shape().with(range.dim, range.count);
  const detail::Operand from = detail::part_of(x, range.dim, range.first, range.step);
  if (is_dense(x.shape(), range)) return detail::view(x, shape.numel() == 0 ? x.rep()->offset : from.offset, shape);
  Tensor y = detail::empty(shape, x.dtype(), detail::device_of_rep(x));
  detail::strided_copy(shape, from, detail::dense_operand(y));
  return y;
}

}  // namespace

Tensor slice(const Tensor& x, int dim, std::int64_t first, std::int64_t last, std::int64_t step) {
  detail::require_value(x, "slice");
  const Range range = checked_range(x.shape(), dim, first, last, step);
  return detail::recorded(sliced(x, range), x, [range, shape = x.shape()](const Tensor& g) {
    Tensor gradient = zeros(shape, g.dtype(), g.device());
    detail::strided_copy(g.shape(), detail::dense_operand(g),
                         detail::part_of(gradient, range.dim, range.first, range.step));
    return gradient;
  });
}

}  // namespace sluice::inline v0
