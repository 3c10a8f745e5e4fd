#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "sluice/ops.hpp"
#include "src/core/indices.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/core/visit_dtype.hpp"
#include "src/device/cpu_random.hpp"
#include "src/device/thread_pool.hpp"

namespace sluice::inline v0 {
namespace {

using detail::visit_dtype;

constexpr std::int64_t kFillGrain = std::int64_t{1} << 16;

// A fresh CPU tensor and its elements, to be filled before anybody else sees them.
template <class T>
struct Fresh {
  Fresh(const Shape& shape, DType dtype)
      : tensor(detail::empty(shape, dtype, detail::cpu_device_impl())),
        elements(reinterpret_cast<T*>(detail::dense_operand(tensor).host())) {}
  Tensor tensor;
  T* elements;
};

// `host` itself, or a copy of it on another device.
Tensor put_on(Tensor host, const Device& device) {
  if (device.impl() == detail::device_of_rep(host)) return host;
  Tensor there = detail::empty(host.shape(), host.dtype(), device.impl());
  const std::span<const std::byte> bytes = host.bytes();
  if (!bytes.empty()) device.impl()->write(*there.rep()->storage, 0, bytes.data(), bytes.size());
  detail::note_range(there, bytes.data());
  return there;
}

[[noreturn]] void throw_misfit(const std::string& value, DType dtype, std::string_view operation) {
  throw TypeError(fmt::format("{}: {} does not fit {}", operation, value, dtype.name()));
}

template <Element T>
T element_of(std::int64_t value, std::string_view operation) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    const auto converted = static_cast<T>(value);
    if (static_cast<std::int64_t>(converted) != value) throw_misfit(std::to_string(value), dtype_of<T>(), operation);
    return converted;
  }
}

template <Element T>
T element_of(double value, std::string_view operation) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    const bool is_integer = value >= -0x1p63 && value < 0x1p63 && value == std::trunc(value);
    if (!is_integer) throw_misfit(fmt::format("{}", value), dtype_of<T>(), operation);
    return element_of<T>(static_cast<std::int64_t>(value), operation);
  }
}

template <class T>
void fill(T* elements, std::int64_t count, T value) {
  detail::parallel_for(count, kFillGrain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(elements + begin, elements + end, value);
  });
}

template <class V>
Tensor filled(const Shape& shape, V value, DType dtype, const Device& device) {
  return visit_dtype(dtype, [&]<class T>() {
    const T element = element_of<T>(value, "full");
    const Fresh<T> fresh(shape, dtype);
    fill(fresh.elements, shape.numel(), element);
    return put_on(fresh.tensor, device);
  });
}

void require_floating(DType dtype, std::string_view operation) {
  if (dtype.is_floating()) return;
  throw TypeError(
      fmt::format("{}: {} is not a floating type; ask for f32 and cast the result", operation, dtype.name()));
}

// f32 numbers stored as T, a type of 16 bits.
template <class T, class F>
Tensor narrowed(const Tensor& wide, F convert) {
  const Fresh<T> fresh(wide.shape(), dtype_of<T>());
  const float* const from = wide.span<float>().data();
  detail::parallel_for(wide.numel(), kFillGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) fresh.elements[i] = T(convert(from[i]));
  });
  return fresh.tensor;
}

}  // namespace

Tensor zeros(const Shape& shape, DType dtype, const Device& device) {
  return filled(shape, std::int64_t{0}, dtype, device);
}

Tensor ones(const Shape& shape, DType dtype, const Device& device) {
  return filled(shape, std::int64_t{1}, dtype, device);
}

Tensor full(const Shape& shape, double value, DType dtype, const Device& device) {
  return filled(shape, value, dtype, device);
}

Tensor full(const Shape& shape, std::int64_t value, DType dtype, const Device& device) {
  return filled(shape, value, dtype, device);
}

Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype(), x.device()); }

Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype(), x.device()); }

Tensor full_like(const Tensor& x, double value) { return full(x.shape(), value, x.dtype(), x.device()); }

Tensor arange(std::int64_t last) {
  const std::int64_t count = std::max<std::int64_t>(last, 0);
  const Fresh<std::int64_t> fresh(Shape{count}, i64);
  std::iota(fresh.elements, fresh.elements + count, std::int64_t{0});
  return fresh.tensor;
}

Tensor arange(double first, double last, double step, DType dtype) {
  const double count = std::max(std::ceil((last - first) / step), 0.0);
  if (step == 0 || !(count <= 0x1p62)) {
    throw ArgumentError(
        fmt::format("arange: from {} to {} in steps of {} is not a finite row of numbers", first, last, step));
  }
  return visit_dtype(dtype, [&]<class T>() {
    const auto length = static_cast<std::int64_t>(count);
    const Fresh<T> fresh(Shape{length}, dtype);
    for (std::int64_t i = 0; i < length; ++i) {
      fresh.elements[i] = element_of<T>(first + static_cast<double>(i) * step, "arange");
    }
    return fresh.tensor;
  });
}

Tensor rand(const Shape& shape, DType dtype, RandomKey key, const Device& device) {
  require_floating(dtype, "rand");
  Tensor x = detail::empty(shape, dtype == f64 ? f64 : f32, device.impl());
  if (shape.numel() > 0) device.impl()->uniform(detail::dense_operand(x), shape.numel(), key);
  // Cut to the bits of the narrow type: rounding would give 1 now and then.
  if (dtype == f16) return cast(map([](Expr u) { return floor(u * 0x1p11) * 0x1p-11; }, std::move(x)), f16);
  if (dtype == bf16) return cast(map([](Expr u) { return floor(u * 0x1p8) * 0x1p-8; }, std::move(x)), bf16);
  return x;
}

Tensor rand(const Shape& shape, Generator& generator) { return rand(shape, f32, generator.next()); }

Tensor randn(const Shape& shape, DType dtype, RandomKey key) {
  require_floating(dtype, "randn");
  Tensor x = detail::empty(shape, dtype == f64 ? f64 : f32, detail::cpu_device_impl());
  detail::cpu_normal(detail::dense_operand(x), shape.numel(), key);
  if (dtype == f16) return narrowed<Float16>(x, [](float z) { return z; });
  if (dtype == bf16) return narrowed<BFloat16>(x, [](float z) { return z; });
  return x;
}

Tensor randn(const Shape& shape, Generator& generator) { return randn(shape, f32, generator.next()); }

Tensor randperm(std::int64_t n, RandomKey key) {
  Tensor order = arange(n);
  auto* const elements = reinterpret_cast<std::int64_t*>(detail::dense_operand(order).host());
  // Fisher and Yates. The place is the high part of a 64-bit number times the count of places, exact everywhere.
  for (std::int64_t i = n - 1; i > 0; --i) {
    const std::array<std::uint32_t, 4> words = philox(key, static_cast<std::uint64_t>(i));
    const std::uint64_t number = std::uint64_t{words[1]} << 32 | words[0];
    const auto product = static_cast<unsigned __int128>(number) * static_cast<std::uint64_t>(i + 1);
    std::swap(elements[i], elements[static_cast<std::int64_t>(product >> 64)]);
  }
  return order;
}

Tensor from_bytes(const void* data, std::size_t bytes, const Shape& shape, DType dtype) {
  const std::size_t count = bytes / dtype.size();
  if (bytes % dtype.size() != 0 || count != static_cast<std::size_t>(shape.numel())) {
    throw ShapeError(
        fmt::format("from: {} elements for shape {}, which has {}", count, to_string(shape), shape.numel()));
  }
  const Fresh<std::byte> fresh(shape, dtype);
  if (bytes > 0) std::memcpy(fresh.elements, data, bytes);
  return fresh.tensor;
}

Tensor from(const std::vector<bool>& data) { return from(data, Shape{data.size()}); }

Tensor from(const std::vector<bool>& data, const Shape& shape) {
  const std::vector<std::uint8_t> bytes(data.begin(), data.end());
  return from_bytes(bytes.data(), bytes.size(), shape, boolean);
}

}  // namespace sluice::inline v0

namespace sluice::detail {
namespace {

// `from` is row-major in (rows..., columns); `to` column-major of the same sizes.
template <class From, class To>
void reorder(const From* from, To* to, const Shape& shape) {
  std::array<std::int64_t, Shape::kMaxRank> index{};
  std::array<std::int64_t, Shape::kMaxRank> stride{};
  std::int64_t step = 1;
  for (int d = shape.rank() - 1; d >= 0; step *= shape[d--]) stride[static_cast<std::size_t>(d)] = step;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    std::int64_t source = 0;
    for (std::size_t d = 0; d < index.size(); ++d) source += index[d] * stride[d];
    to[i] = static_cast<To>(from[source]);
    for (std::size_t d = 0; d < index.size() && ++index[d] == shape[static_cast<int>(d)]; ++d) index[d] = 0;
  }
}

}  // namespace

Tensor from_nested(const void* row_major, DType dtype, std::span<const std::int64_t> sizes) {
  const Shape shape(sizes);
  return visit_dtype(dtype, [&]<class T>() {
    using Kept = std::conditional_t<std::is_same_v<T, double>, float, T>;
    const Fresh<Kept> fresh(shape, dtype_of<Kept>());
    reorder(static_cast<const T*>(row_major), fresh.elements, shape);
    return fresh.tensor;
  });
}

void throw_ragged(std::size_t expected, std::size_t got) {
  throw ShapeError(
      fmt::format("tensor: lists of {} and of {} elements side by side; all must be as long", expected, got));
}

}  // namespace sluice::detail
