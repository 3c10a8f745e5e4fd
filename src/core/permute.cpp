// Dimensions in another order.
#include <algorithm>
#include <string>

#include "sluice/ops.hpp"
#include "src/core/recorded.hpp"
#include "src/core/strided_copy.hpp"

namespace sluice::inline v0 {
namespace {

void check_order(const Shape& shape, const std::vector<int>& order) {
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool good = order.size() == static_cast<std::size_t>(shape.rank());
  for (std::size_t i = 0; i < sorted.size(); ++i) good = good && sorted[i] == static_cast<int>(i);
  if (good) return;
  std::string text;
  for (const int dim : order) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  throw ArgumentError("permute: {" + text + "} does not name every dimension of " + to_string(shape) + " once");
}

Tensor permuted_copy(const Tensor& x, const std::vector<int>& order) {
  const detail::Operand dense = detail::dense_operand(x);
  detail::Operand from = dense;
  Shape shape = x.shape();
  for (int dim = 0; dim < shape.rank(); ++dim) {
    const int source = order[static_cast<std::size_t>(dim)];
    from.strides[static_cast<std::size_t>(dim)] = dense.strides[static_cast<std::size_t>(source)];
    shape = shape.with(dim, x.shape()[source]);
  }
  Tensor y = detail::empty(shape, x.dtype(), detail::device_of_rep(x));
  detail::strided_copy(shape, from, detail::dense_operand(y));
  return y;
}

std::vector<int> inverse_of(const std::vector<int>& order) {
  std::vector<int> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return inverse;
}

}  // namespace

Tensor permute(const Tensor& x, const std::vector<int>& order) {
  detail::require_value(x, "permute");
  check_order(x.shape(), order);
  return detail::recorded(permuted_copy(x, order), x,
                          [order](const Tensor& g) { return permute(g, inverse_of(order)); });
}

Tensor transpose(const Tensor& x) {
  detail::require_value(x, "transpose");
  const int rank = x.rank();
  if (rank == 0) return reshape(x, x.shape());
  if (rank == 1) return reshape(x, Shape{1, x.numel()});
  std::vector<int> order{1, 0};
  for (int dim = 2; dim < rank; ++dim) order.push_back(dim);
  return permute(x, order);
}

}  // namespace sluice::inline v0
