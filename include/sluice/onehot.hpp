// Labels as columns with a single true, and back.
//
//   Tensor y = onehotbatch(digits, 10);          // bool, (10, n)
//   Tensor guess = onecold(model(x));            // i64, (n)
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "sluice/tensor.hpp"

namespace sluice::detail {

/// A bool column of `labels` rows for each place; all places are in range.
SLUICE_API Tensor onehot_columns(std::span<const std::int64_t> places, std::int64_t labels, const Shape& places_shape);
[[noreturn]] SLUICE_API void throw_no_label(const std::string& value);
/// Places of the greatest along dimension 0, on the CPU. Throws ArgumentError for a vector that holds NaN.
SLUICE_API std::vector<std::int64_t> cold_places(const Tensor& y, std::size_t labels);

template <class T>
std::string label_text(const T& value) {
  if constexpr (std::is_convertible_v<T, std::string>) return "\"" + std::string(value) + "\"";
  else if constexpr (std::is_enum_v<T>) return std::to_string(static_cast<std::int64_t>(value));
  else if constexpr (std::is_same_v<T, char>) return {'\'', value, '\''};
  else if constexpr (requires(std::ostringstream& out) { out << value; }) {
    std::ostringstream out;
    if constexpr (sizeof(T) == 1) out << static_cast<int>(value);
    else out << value;
    return out.str();
  } else return "";
}

/// Places of values in `labels`; the first of equal labels counts.
template <class T>
std::vector<std::int64_t> places_of(const std::vector<T>& values, const std::vector<T>& labels) {
  std::map<T, std::int64_t> place_of;
  for (std::size_t i = 0; i < labels.size(); ++i) place_of.try_emplace(labels[i], static_cast<std::int64_t>(i));
  std::vector<std::int64_t> places;
  places.reserve(values.size());
  for (const T& value : values) {
    const auto found = place_of.find(value);
    if (found == place_of.end()) throw_no_label(label_text(value));
    places.push_back(found->second);
  }
  return places;
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// Bool, (labels, shape of values...), on the device of `values`: true where the row is the value. Labels are 0 ...
/// labels-1, values of any integer type. Throws IndexError naming a value that is not among them.
SLUICE_API Tensor onehotbatch(const Tensor& values, std::int64_t labels);
/// The same with any list of integers as labels; the values are looked up on the CPU.
SLUICE_API Tensor onehotbatch(const Tensor& values, const std::vector<std::int64_t>& labels);
/// Labels of any type that has an order.
template <class T>
Tensor onehotbatch(const std::vector<T>& values, const std::vector<std::type_identity_t<T>>& labels) {
  const std::vector<std::int64_t> places = detail::places_of(values, labels);
  return detail::onehot_columns(places, static_cast<std::int64_t>(labels.size()), Shape{places.size()});
}
template <Integer T>
Tensor onehotbatch(const std::vector<T>& values, std::int64_t labels) {
  return onehotbatch(from(std::vector<std::int64_t>(values.begin(), values.end())), labels);
}

/// A bool vector that is true where the label is `value`.
template <class T>
Tensor onehot(const T& value, const std::vector<std::type_identity_t<T>>& labels) {
  const std::vector<std::int64_t> places = detail::places_of(std::vector<T>{value}, labels);
  return detail::onehot_columns(places, static_cast<std::int64_t>(labels.size()), Shape{});
}
SLUICE_API Tensor onehot(std::int64_t value, std::int64_t labels);

/// Place (i64) of the greatest of each column, without the first dimension. Throws ArgumentError for a vector that
/// holds NaN; in a matrix, NaN counts as the greatest.
SLUICE_API Tensor onecold(const Tensor& y);
/// The labels at these places; of a vector, a single one.
template <class T>
std::vector<T> onecold(const Tensor& y, const std::vector<T>& labels) {
  std::vector<T> result;
  for (const std::int64_t place : detail::cold_places(y, labels.size())) {
    result.push_back(labels[static_cast<std::size_t>(place)]);
  }
  return result;
}

}  // namespace sluice::inline v0
