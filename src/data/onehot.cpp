#include "sluice/onehot.hpp"

#include <array>

#include "sluice/model.hpp"
#include "sluice/ops.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::detail {
namespace {

void check_values(const Tensor& values) {
  require_value(values, "onehotbatch");
  if (values.dtype().is_integer()) return;
  throw TypeError("onehotbatch: values are " + std::string(values.dtype().name()) +
                  "; labels are integers, so write cast(values, i64)");
}

std::vector<std::int64_t> integers_of(const Tensor& values) {
  return cpu_device()(cast(detach(values), i64)).to_vector<std::int64_t>();
}

void check_label_count(std::int64_t labels) {
  if (labels < 0) throw ArgumentError("onehotbatch: " + std::to_string(labels) + " labels; give 0 or more");
}

[[noreturn]] void throw_outside(std::int64_t value, std::int64_t labels) {
  throw IndexError("onehot: Value " + std::to_string(value) + " not found in labels, which are 0 ... " +
                   std::to_string(labels - 1));
}

void check_cold(const Tensor& y) {
  require_value(y, "onecold");
  if (y.rank() == 0) throw ShapeError("onecold: a 0-dimensional tensor has no columns");
  if (y.rank() > 1 || !y.dtype().is_floating()) return;
  if (!any(isnan(detach(y))).item<bool>()) return;
  throw ArgumentError("onecold: the vector holds NaN, so no element is the greatest");
}

/// Whether all integers of `values` are among 0 ... labels - 1. The device is asked only if nothing is known of them.
bool are_labels(const Tensor& values, std::int64_t labels) {
  const IntegerRange& known = values.rep()->storage->range;
  if (known.least >= 0 && known.greatest < labels) return true;
  const Function outside = trace<2>([](Expr value, Expr count) { return (value < 0) | (value >= count); });
  const std::array inputs{detach(values), full({}, labels, i64, values.device())};
  return !map_reduce_program(outside.program(), outside.params(), inputs, Combine::max, {}, {}).item<bool>();
}

/// The columns, made where the values are.
Tensor columns_there(const Tensor& values, std::int64_t labels) {
  Shape rows{labels};
  for (int dim = 0; dim < values.rank(); ++dim) rows = rows.inserted(dim + 1, 1);
  const Tensor numbers = reshape(values.device()(arange(labels)), rows);
  return map([](Expr value, Expr row) { return value == row; }, reshape(detach(values), values.shape().inserted(0, 1)),
             numbers);
}

}  // namespace

Tensor onehot_columns(std::span<const std::int64_t> places, std::int64_t labels, const Shape& places_shape) {
  const Shape shape = places_shape.inserted(0, labels);
  Tensor columns = zeros(shape, boolean);
  auto* const elements = reinterpret_cast<std::uint8_t*>(dense_operand(columns).host());
  for (std::size_t i = 0; i < places.size(); ++i) {
    elements[i * static_cast<std::size_t>(labels) + static_cast<std::size_t>(places[i])] = 1;
  }
  return columns;
}

void throw_no_label(const std::string& value) {
  throw ArgumentError("onehot: Value " + value + " not found in labels; every value must be one of them");
}

std::vector<std::int64_t> cold_places(const Tensor& y, std::size_t labels) {
  require_value(y, "onecold");
  if (y.rank() > 0 && static_cast<std::uint64_t>(y.shape()[0]) != labels) {
    throw ShapeError("onecold: " + std::to_string(labels) + " labels for columns of a tensor of size " +
                     to_string(y.shape()));
  }
  return cpu_device()(onecold(y)).to_vector<std::int64_t>();
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

Tensor onehotbatch(const Tensor& values, std::int64_t labels) {
  detail::check_label_count(labels);
  detail::check_values(values);
  const bool is_host = detail::device_of_rep(values)->is_host();
  if (!is_host && values.numel() > 0 && detail::are_labels(values, labels)) {
    return detail::columns_there(values, labels);
  }
  const std::vector<std::int64_t> places = detail::integers_of(values);
  for (const std::int64_t place : places) {
    if (place < 0 || place >= labels) detail::throw_outside(place, labels);
  }
  return values.device()(detail::onehot_columns(places, labels, values.shape()));
}

Tensor onehotbatch(const Tensor& values, const std::vector<std::int64_t>& labels) {
  detail::check_values(values);
  const std::vector<std::int64_t> places = detail::places_of(detail::integers_of(values), labels);
  return values.device()(detail::onehot_columns(places, static_cast<std::int64_t>(labels.size()), values.shape()));
}

Tensor onehot(std::int64_t value, std::int64_t labels) {
  detail::check_label_count(labels);
  if (value < 0 || value >= labels) detail::throw_outside(value, labels);
  return detail::onehot_columns(std::span(&value, 1), labels, Shape{});
}

Tensor onecold(const Tensor& y) {
  detail::check_cold(y);
  return argmax(y, 0, {.keepdims = false});
}

}  // namespace sluice::inline v0
