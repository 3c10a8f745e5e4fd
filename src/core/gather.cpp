// Picking and adding columns by index.
#include <algorithm>
#include <string>

#include "sluice/ops.hpp"
#include "src/core/indices.hpp"
#include "src/core/recorded.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::detail {
namespace {

template <class T>
IntegerRange range_of(const T* values, std::int64_t count) {
  const auto [least, greatest] = std::minmax_element(values, values + count);
  return {*least, *greatest};
}

}  // namespace

void note_range(const Tensor& x, const void* values) {
  if (x.numel() == 0) return;
  IntegerRange& range = x.rep()->storage->range;
  if (x.dtype() == i64) range = range_of(static_cast<const std::int64_t*>(values), x.numel());
  if (x.dtype() == i32) range = range_of(static_cast<const std::int32_t*>(values), x.numel());
}

Tensor index_operand(const Tensor& indices, std::string_view operation) {
  require_value(indices, operation);
  if (indices.dtype() == i64) return detach(indices);
  if (indices.dtype() == i32) {
    Tensor wide = cast(detach(indices), i64);
    wide.rep()->storage->range = indices.rep()->storage->range;
    return wide;
  }
  throw TypeError(std::string(operation) + ": indices are " + std::string(indices.dtype().name()) +
                  "; give i64 or i32");
}

}  // namespace sluice::detail

namespace sluice::inline v0 {
namespace {

void check_device(const Tensor& x, const Tensor& indices, std::string_view operation) {
  const std::array both{x, indices};
  detail::common_device(both, operation);
}

// (features..., sizes of the last dimensions).
Shape joined_shape(const Shape& shape, int features, std::span<const std::int64_t> last, std::string_view operation) {
  std::vector<std::int64_t> sizes(shape.begin(), shape.begin() + features);
  sizes.insert(sizes.end(), last.begin(), last.end());
  if (sizes.size() > static_cast<std::size_t>(Shape::kMaxRank)) {
    throw ShapeError(std::string(operation) + ": the result of " + to_string(shape) + " and indices of " +
                     to_string(Shape(last)) + " would have " + std::to_string(sizes.size()) + " dimensions; at most " +
                     std::to_string(Shape::kMaxRank) + " are possible");
  }
  return Shape(sizes);
}

std::int64_t column_size(const Shape& shape, int features) {
  std::int64_t size = 1;
  for (int dim = 0; dim < features; ++dim) size *= shape[dim];
  return size;
}

detail::IndexCall index_call(const Tensor& from, const Tensor& to, const Tensor& indices, std::int64_t column,
                             std::int64_t bound) {
  return {detail::dense_operand(from),
          detail::dense_operand(to),
          detail::dense_operand(indices),
          column,
          indices.numel(),
          bound};
}

Tensor gathered(const Tensor& x, const Tensor& indices) {
  const int features = x.rank() - 1;
  Tensor y =
      detail::empty(joined_shape(x.shape(), features, indices.shape(), "gather"), x.dtype(), detail::device_of_rep(x));
  // With nothing to read or write there may still be a wrong index to report.
  if (indices.numel() > 0) {
    const std::int64_t column = column_size(x.shape(), features);
    detail::device_of_rep(x)->gather(index_call(x, y, indices, column, x.shape().back()));
  }
  return y;
}

Tensor scattered(const Tensor& updates, const Tensor& indices, std::int64_t n) {
  const int features = updates.rank() - indices.rank();
  const std::int64_t sizes[] = {n};
  const Shape shape = joined_shape(updates.shape(), features, sizes, "scatter_add");
  if (indices.numel() == 0) return zeros(shape, updates.dtype(), updates.device());
  Tensor y = detail::empty(shape, updates.dtype(), detail::device_of_rep(updates));
  const std::int64_t column = column_size(shape, features);
  detail::device_of_rep(updates)->scatter_add(index_call(updates, y, indices, column, n));
  return y;
}

void check_updates(const Shape& updates, const Shape& indices) {
  const int features = updates.rank() - indices.rank();
  bool fits = features >= 0;
  for (int dim = 0; fits && dim < indices.rank(); ++dim) fits = updates[features + dim] == indices[dim];
  if (fits) return;
  throw ShapeError("scatter_add: updates " + to_string(updates) + " do not end in the shape of the indices, " +
                   to_string(indices));
}

}  // namespace

Tensor gather(const Tensor& x, const Tensor& indices) {
  detail::require_value(x, "gather");
  if (x.rank() == 0)
    throw ShapeError("gather: a 0-dimensional tensor has no columns to choose from; reshape it to {1}");
  const Tensor index = detail::index_operand(indices, "gather");
  check_device(x, index, "gather");
  return detail::recorded(gathered(x, index), x,
                          [index, n = x.shape().back()](const Tensor& g) { return scatter_add(g, index, n); });
}

Tensor scatter_add(const Tensor& updates, const Tensor& indices, std::int64_t n) {
  detail::require_value(updates, "scatter_add");
  const Tensor index = detail::index_operand(indices, "scatter_add");
  if (n < 0) throw ArgumentError("scatter_add: the result cannot have " + std::to_string(n) + " columns");
  check_updates(updates.shape(), index.shape());
  check_device(updates, index, "scatter_add");
  if (updates.dtype() == boolean) return scatter_add(cast(updates, i32), index, n);
  return detail::recorded(scattered(updates, index, n), updates, [index](const Tensor& g) { return gather(g, index); });
}

}  // namespace sluice::inline v0
