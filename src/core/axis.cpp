// Tensors seen as (inner, length, outer), for what works along an axis.
#include <algorithm>

#include "src/core/reduce.hpp"

namespace sluice::detail {

bool together(const Shape& shape, const ReducedDims& dims) {
  int changes = 0;
  bool last = false;
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] == 1) continue;
    const bool reduced = dims.reduced[static_cast<std::size_t>(dim)];
    changes += reduced != last;
    last = reduced;
  }
  return changes <= 1 || (changes == 2 && !last);
}

AxisView axis_view(const Tensor& x, const ReducedDims& dims) {
  AxisView view;
  std::int64_t inner = 1;
  if (together(x.shape(), dims)) {
    for (int dim = 0; dim < x.rank(); ++dim) {
      if (dims.reduced[static_cast<std::size_t>(dim)] && x.shape()[dim] != 1) break;
      inner *= x.shape()[dim];
    }
    view.x = x;
  } else {
    for (int dim = 0; dim < x.rank(); ++dim) view.order.push_back(dim);
    std::ranges::stable_partition(view.order, [&](int dim) { return !dims.reduced[static_cast<std::size_t>(dim)]; });
    view.x = permute(x, view.order);
    inner = dims.kept.numel();
  }
  const std::int64_t columns = dims.kept.numel();
  view.x = reshape(view.x, Shape{inner, dims.length, inner == 0 ? 0 : columns / inner});
  return view;
}

Tensor undo_view(const Tensor& y, const AxisView& view, const Shape& shape) {
  if (view.order.empty()) return reshape(y, shape);
  Shape permuted = shape;
  std::vector<int> inverse(view.order.size());
  for (std::size_t i = 0; i < view.order.size(); ++i) {
    permuted = permuted.with(static_cast<int>(i), shape[view.order[i]]);
    inverse[static_cast<std::size_t>(view.order[i])] = static_cast<int>(i);
  }
  return permute(reshape(y, permuted), inverse);
}

AxisCall axis_call(const Tensor& x, const Tensor& output) {
  return {dense_operand(x), dense_operand(output), x.shape()[0], x.shape()[1], x.shape()[2]};
}

}  // namespace sluice::detail
