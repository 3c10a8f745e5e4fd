// Tensors: immutable values. A Tensor is a handle on dense, column-major elements on one device; copying it copies the
// handle. Operations never change their arguments, so `Net best = model;` keeps the old weights.
//
// Like a shared_ptr, one Tensor object may be read from many threads and written by one. The identity of a tensor is
// its handle (`same_handle`): two places of a model that hold the same handle are tied.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <ranges>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/random.hpp"

namespace sluice::detail {
struct TensorRep;
SLUICE_API void retain(TensorRep* rep) noexcept;
SLUICE_API void release(TensorRep* rep) noexcept;

/// Place of a tensor on a tape; tape 0 means not tracked. Belongs to the Tensor object, not to the handle.
struct Slot {
  std::uint64_t tape = 0;
  std::uint32_t index = 0;
};
}  // namespace sluice::detail

namespace sluice::inline v0 {

class SLUICE_API Tensor {
 public:
  /// Holds nothing; converts to false. Stands for "no gradient" and "no bias".
  Tensor() noexcept = default;
  Tensor(const Tensor& other) noexcept : rep_(other.rep_), slot_(other.slot_) { detail::retain(rep_); }
  Tensor(Tensor&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)), slot_(std::exchange(other.slot_, {})) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(rep_, other.rep_);
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~Tensor() {
    if (rep_ != nullptr) detail::release(rep_);
  }

  /// Whether it holds something; says nothing of the elements: `if (a == b)` asks whether the comparison gave a tensor,
  /// which it always does. Write equal(a, b).
  explicit operator bool() const { return rep_ != nullptr; }

  // Each of these throws ArgumentError on a Tensor that holds nothing.
  const Shape& shape() const;
  DType dtype() const;
  Device device() const;
  int rank() const { return shape().rank(); }
  std::int64_t numel() const { return shape().numel(); }
  /// Size of dimension `dim`, 1 past the last; negative or >= 8 throws IndexError.
  std::int64_t size(int dim) const;

  /// The only element. Throws ShapeError unless numel() is 1, TypeError unless T is the element type.
  template <Element T>
  T item() const {
    T value{};
    copy_out(&value, dtype_of<T>(), "item");
    return value;
  }
  /// All elements, first dimension fastest. Throws TypeError unless T is the element type (cast first).
  template <Element T>
  std::vector<T> to_vector() const;
  /// The elements in place; CPU tensors only (DeviceError). Valid while this handle lives.
  template <Element T>
  std::span<const T> span() const {
    return {static_cast<const T*>(host_data(dtype_of<T>())), static_cast<std::size_t>(numel())};
  }
  /// The elements in place as bytes; CPU tensors only.
  std::span<const std::byte> bytes() const;

  /// Whether both are the same handle.
  bool same_handle(const Tensor& other) const { return rep_ == other.rep_; }

  // For the library's own use.
  explicit Tensor(detail::TensorRep* adopted) noexcept : rep_(adopted) {}
  detail::TensorRep* rep() const { return rep_; }
  detail::Slot slot() const { return slot_; }
  void set_slot(detail::Slot slot) { slot_ = slot; }

 private:
  void copy_out(void* destination, DType dtype, std::string_view operation) const;
  const void* host_data(DType dtype) const;

  detail::TensorRep* rep_ = nullptr;
  detail::Slot slot_;
};

/// "3×2 Tensor f32:" and the elements, cut in the middle when they are many.
SLUICE_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

// ---- Creation. All take sizes as any integers in braces, and put the tensor on the CPU unless a device is given.

SLUICE_API Tensor zeros(const Shape& shape, DType dtype = f32, const Device& device = Device());
SLUICE_API Tensor ones(const Shape& shape, DType dtype = f32, const Device& device = Device());
/// Elements equal to `value`, rounded to the type; an integer type that cannot hold it throws TypeError.
SLUICE_API Tensor full(const Shape& shape, double value, DType dtype = f32, const Device& device = Device());
SLUICE_API Tensor full(const Shape& shape, std::int64_t value, DType dtype = i64, const Device& device = Device());
template <Integer I>
Tensor full(const Shape& shape, I value, DType dtype = i64, const Device& device = Device()) {
  if (!std::in_range<std::int64_t>(value)) throw TypeError("full: the value does not fit i64, the widest integer type");
  return full(shape, static_cast<std::int64_t>(value), dtype, device);
}
SLUICE_API Tensor zeros_like(const Tensor& x);
SLUICE_API Tensor ones_like(const Tensor& x);
SLUICE_API Tensor full_like(const Tensor& x, double value);
/// first, first + step, ... below `last` (above it when step < 0). Integers unless `dtype` says otherwise.
SLUICE_API Tensor arange(std::int64_t last);
SLUICE_API Tensor arange(double first, double last, double step = 1, DType dtype = f32);
/// Uniform in [0, 1), floating types only; the number at an index depends on the key alone, on every device.
SLUICE_API Tensor rand(const Shape& shape, DType dtype = f32, RandomKey key = next_random_key(),
                       const Device& device = Device());
SLUICE_API Tensor rand(const Shape& shape, Generator& generator);
/// Standard normal, by Box and Muller on pairs of uniforms.
SLUICE_API Tensor randn(const Shape& shape, DType dtype = f32, RandomKey key = next_random_key());
SLUICE_API Tensor randn(const Shape& shape, Generator& generator);
/// 0 ... n-1 in random order, i64.
SLUICE_API Tensor randperm(std::int64_t n, RandomKey key = next_random_key());

/// The elements of `data`, first dimension fastest, copied. Throws ShapeError unless data.size() == shape.numel().
SLUICE_API Tensor from_bytes(const void* data, std::size_t bytes, const Shape& shape, DType dtype);
template <Element T>
Tensor from(std::span<const T> data, const Shape& shape) {
  return from_bytes(data.data(), data.size_bytes(), shape, dtype_of<T>());
}
/// From anything whose elements lie side by side: std::vector, std::array, std::span.
template <std::ranges::contiguous_range R>
  requires Element<std::ranges::range_value_t<R>>
Tensor from(const R& data, const Shape& shape) {
  return from(std::span<const std::ranges::range_value_t<R>>(std::ranges::data(data), std::ranges::size(data)), shape);
}
/// A vector as it lies.
template <std::ranges::contiguous_range R>
  requires Element<std::ranges::range_value_t<R>>
Tensor from(const R& data) {
  return from(data, Shape{std::ranges::size(data)});
}
SLUICE_API Tensor from(const std::vector<bool>& data);
SLUICE_API Tensor from(const std::vector<bool>& data, const Shape& shape);

/// From nested lists, written as on paper: tensor({{1, 2, 3}, {4, 5, 6}}) has shape (2, 3). A list of doubles gives
/// f32, the type of parameters; other element types are kept.
template <Element T>
Tensor tensor(std::initializer_list<T> list);
template <Element T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows);
template <Element T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> planes);
/// A 0-dimensional tensor.
template <Element T>
Tensor scalar(T value) {
  return from_bytes(&value, sizeof value, Shape{}, dtype_of<T>());
}

}  // namespace sluice::inline v0

namespace sluice::detail {
/// Elements in row-major order with the sizes met on the way; the common end of the three `tensor` overloads.
SLUICE_API Tensor from_nested(const void* row_major, DType dtype, std::span<const std::int64_t> sizes);
[[noreturn]] SLUICE_API void throw_ragged(std::size_t expected, std::size_t got);
}  // namespace sluice::detail

namespace sluice::inline v0 {

template <Element T>
std::vector<T> Tensor::to_vector() const {
  std::vector<T> values(static_cast<std::size_t>(numel()));
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<std::uint8_t> copy(values.size());  // vector<bool> has no data()
    copy_out(copy.data(), boolean, "to_vector");
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = copy[i] != 0;
  } else {
    copy_out(values.data(), dtype_of<T>(), "to_vector");
  }
  return values;
}

template <Element T>
Tensor tensor(std::initializer_list<T> list) {
  const std::int64_t sizes[] = {static_cast<std::int64_t>(list.size())};
  return detail::from_nested(list.begin(), dtype_of<T>(), sizes);
}

template <Element T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows) {
  const std::size_t columns = rows.size() == 0 ? 0 : rows.begin()->size();
  std::vector<T> flat;
  for (const auto& row : rows) {
    if (row.size() != columns) detail::throw_ragged(columns, row.size());
    flat.insert(flat.end(), row.begin(), row.end());
  }
  const std::int64_t sizes[] = {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns)};
  if constexpr (std::is_same_v<T, bool>) {
    const std::vector<std::uint8_t> copy(flat.begin(), flat.end());
    return detail::from_nested(copy.data(), boolean, sizes);
  } else {
    return detail::from_nested(flat.data(), dtype_of<T>(), sizes);
  }
}

template <Element T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> planes) {
  static_assert(!std::is_same_v<T, bool>, "tensor: three levels of bool lists; write integers and compare");
  const std::size_t rows = planes.size() == 0 ? 0 : planes.begin()->size();
  const std::size_t columns = rows == 0 ? 0 : planes.begin()->begin()->size();
  std::vector<T> flat;
  for (const auto& plane : planes) {
    if (plane.size() != rows) detail::throw_ragged(rows, plane.size());
    for (const auto& row : plane) {
      if (row.size() != columns) detail::throw_ragged(columns, row.size());
      flat.insert(flat.end(), row.begin(), row.end());
    }
  }
  const std::int64_t sizes[] = {static_cast<std::int64_t>(planes.size()), static_cast<std::int64_t>(rows),
                                static_cast<std::int64_t>(columns)};
  return detail::from_nested(flat.data(), dtype_of<T>(), sizes);
}

}  // namespace sluice::inline v0
