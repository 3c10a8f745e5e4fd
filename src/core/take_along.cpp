// One element per column along any dimension: a gather of single elements from the flat tensor.
#include <string>
#include <vector>

#include "sluice/ops.hpp"
#include "src/core/indices.hpp"
#include "src/core/recorded.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::inline v0 {
namespace {

void check_shapes(const Shape& x, const Shape& indices, int dim) {
  if (indices == x.with(dim, 1)) return;
  throw ShapeError("take_along: indices " + to_string(indices) + " do not fit " + to_string(x) + "; " +
                   to_string(x.with(dim, 1)) + " is needed for dimension " + std::to_string(dim));
}

Tensor uploaded(const std::vector<std::int64_t>& values, const Shape& shape, detail::DeviceImpl* device) {
  Tensor x = detail::empty(shape, i64, device);
  if (!values.empty()) device->write(*x.rep()->storage, 0, values.data(), values.size() * sizeof(std::int64_t));
  return x;
}

std::int64_t stride_of(const Shape& shape, int dim) {
  std::int64_t stride = 1;
  for (int d = 0; d < dim; ++d) stride *= shape[d];
  return stride;
}

// Flat place of element 0 of every column along `dim`.
Tensor column_starts(const Shape& shape, int dim, detail::DeviceImpl* device) {
  const Shape columns = shape.with(dim, 1);
  const std::int64_t inner = stride_of(shape, dim);
  std::vector<std::int64_t> starts(static_cast<std::size_t>(columns.numel()));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    starts[i] = place / inner * inner * shape[dim] + place % inner;
  }
  return uploaded(starts, columns, device);
}

// The device met a place of -1; says which index it came from.
[[noreturn]] void throw_out_of_range(const Tensor& indices, const Shape& shape, int dim) {
  const std::vector<std::int64_t> values = indices.to_vector<std::int64_t>();
  std::size_t position = 0;
  while (position + 1 < values.size() && values[position] >= 0 && values[position] < shape[dim]) ++position;
  throw IndexError("take_along: index " + std::to_string(values[position]) + " at position " +
                   std::to_string(position) + " is out of range for size " + std::to_string(shape[dim]) +
                   " of dimension " + std::to_string(dim) + " of " + to_string(shape));
}

Tensor taken(const Tensor& x, const Tensor& indices, int dim) {
  const Shape& shape = x.shape();
  const std::int64_t size = shape[dim];
  const std::int64_t inner = stride_of(shape, dim);
  const Tensor places =
      map([=](auto index, auto start) { return where((index < 0) | (index >= size), -1, index * inner + start); },
          detach(indices), column_starts(shape, dim, detail::device_of_rep(x)));
  const detail::IntegerRange& known = indices.rep()->storage->range;
  if (known.least >= 0 && known.greatest < size) places.rep()->storage->range = {0, x.numel() - 1};
  try {
    return gather(reshape(x, {x.numel()}), places);
  } catch (const IndexError&) {
    throw_out_of_range(indices, shape, dim);
  }
}

// g where the index says so, 0 elsewhere.
Tensor put_along(const Tensor& g, const Tensor& indices, int dim, std::int64_t size) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  Shape along;
  for (int d = 0; d < dim; ++d) along = along.with(d, 1);
  const Tensor number = uploaded(numbers, along.with(dim, size), detail::device_of_rep(g));
  return map([](auto value, auto index, auto here) { return where(index == here, value, 0); }, g, indices, number);
}

}  // namespace

Tensor take_along(const Tensor& x, const Tensor& indices, int dim) {
  detail::require_value(x, "take_along");
  detail::checked_dim(dim, x.rank(), "take_along");
  const Tensor index = detail::index_operand(indices, "take_along");
  const std::array both{x, index};
  detail::common_device(both, "take_along");
  check_shapes(x.shape(), index.shape(), dim);
  return detail::recorded(taken(detach(x), index, dim), x, [index, dim, size = x.shape()[dim]](const Tensor& g) {
    return put_along(g, index, dim, size);
  });
}

}  // namespace sluice::inline v0
