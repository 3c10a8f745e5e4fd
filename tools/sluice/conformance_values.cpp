#include "tools/sluice/conformance_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "sluice/model.hpp"

namespace sluice::conformance {
namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();

/// Sixteen bits: a sign, an exponent, and the digits after the hidden one.
Real half_value(std::uint32_t bits, Format format) {
  const int stored = format.digits - 1;
  const std::uint32_t digits = bits & ((1U << stored) - 1);
  const std::uint32_t exponent = (bits & 0x7FFF) >> stored;
  const Real sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x7FFFU >> stored) return digits == 0 ? sign * kInfinity : kNaN;
  if (exponent == 0) return sign * std::ldexp(Real(digits), format.least - stored);
  const int power = static_cast<int>(exponent) - 1 + format.least - stored;
  return sign * std::ldexp(Real(digits + (1U << stored)), power);
}

std::uint16_t half_bits(Real x, Format format) {
  const int stored = format.digits - 1;
  const std::uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  const std::uint32_t special = 0x7FFFU >> stored << stored;
  if (std::isnan(x)) return static_cast<std::uint16_t>(special | 1U << (stored - 1));
  if (std::isinf(x)) return static_cast<std::uint16_t>(sign | special);
  const Real size = std::fabs(x);
  if (size == 0) return static_cast<std::uint16_t>(sign);
  // The hidden digit of a normal number adds one to the exponent by itself.
  const int exponent = std::max(std::ilogb(size), format.least);
  const auto digits = static_cast<std::uint32_t>(std::ldexp(size, stored - exponent));
  const auto above = static_cast<std::uint32_t>(exponent - format.least);
  return static_cast<std::uint16_t>(sign | ((above << stored) + digits));
}

template <class T>
T element(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::int64_t integer_at(const std::byte* bytes, DType dtype) {
  switch (dtype.code()) {
    case DType::kI8: return element<std::int8_t>(bytes);
    case DType::kI16: return element<std::int16_t>(bytes);
    case DType::kI32: return element<std::int32_t>(bytes);
    case DType::kI64: return element<std::int64_t>(bytes);
    default: return element<std::uint8_t>(bytes);
  }
}

Real number_at(const std::byte* bytes, DType dtype) {
  switch (dtype.code()) {
    case DType::kF16:
    case DType::kBF16: return half_value(element<std::uint16_t>(bytes), format_of(dtype));
    case DType::kF32: return Real(element<float>(bytes));
    case DType::kF64: return Real(element<double>(bytes));
    default: return Real(integer_at(bytes, dtype));
  }
}

void put_number(std::byte* bytes, Real value, DType dtype) {
  const auto put = [bytes](const auto& number) { std::memcpy(bytes, &number, sizeof number); };
  switch (dtype.code()) {
    case DType::kF16:
    case DType::kBF16: return put(half_bits(value, format_of(dtype)));
    case DType::kF32: return put(static_cast<float>(value));
    case DType::kF64: return put(static_cast<double>(value));
    default: break;
  }
  const auto integer = static_cast<std::int64_t>(value);
  std::memcpy(bytes, &integer, dtype.size());  // the low bytes come first
}

Real greatest_integer(DType dtype) {
  if (dtype == boolean) return 1;
  const int bits = static_cast<int>(dtype.size()) * 8;
  return std::ldexp(Real(1), dtype == u8 ? bits : bits - 1) - 1;
}

std::vector<std::byte> bytes_of(const Tensor& x) {
  const Tensor here = detach(x) | cpu_device();
  const std::span<const std::byte> bytes = here.bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Format format_of(DType dtype) {
  switch (dtype.code()) {
    case DType::kF16: return {11, -14, 15};
    case DType::kBF16: return {8, -126, 127};
    case DType::kF64: return {53, -1022, 1023};
    default: return {24, -126, 127};
  }
}

Real unit_at(Real x, DType dtype) {
  const Format format = format_of(dtype);
  const int exponent = x == 0 ? format.least : std::clamp(std::ilogb(x), format.least, format.greatest);
  return std::ldexp(Real(1), exponent - format.digits + 1);
}

Real rounded(Real x, DType dtype) {
  if (dtype == boolean) return x != 0 ? 1 : 0;
  if (!dtype.is_floating()) {
    const Real most = greatest_integer(dtype);
    const Real least = dtype == u8 ? 0 : -most - 1;
    return std::isnan(x) ? 0 : std::clamp(std::trunc(x), least, most);
  }
  if (x == 0 || std::isnan(x) || std::isinf(x)) return x;
  const Real unit = unit_at(x, dtype);
  const Real nearest = std::nearbyint(x / unit) * unit;
  const Real limit = std::ldexp(Real(1), format_of(dtype).greatest + 1);
  if (std::fabs(nearest) >= limit) return std::copysign(kInfinity, x);
  return std::copysign(nearest, x);
}

Array array_of(const Tensor& x) {
  const std::vector<std::byte> bytes = bytes_of(x);
  const std::size_t size = x.dtype().size();
  Array result{x.shape(), std::vector<Real>(bytes.size() / size)};
  for (std::size_t i = 0; i < result.at.size(); ++i) result.at[i] = number_at(bytes.data() + i * size, x.dtype());
  return result;
}

Tensor tensor_of(const Array& values, DType dtype) {
  std::vector<std::byte> bytes(values.at.size() * dtype.size());
  for (std::size_t i = 0; i < values.at.size(); ++i) {
    put_number(bytes.data() + i * dtype.size(), rounded(values.at[i], dtype), dtype);
  }
  return from_bytes(bytes.data(), bytes.size(), values.shape, dtype);
}

std::vector<std::int64_t> integers_of(const Tensor& x) {
  const std::vector<std::byte> bytes = bytes_of(x);
  const std::size_t size = x.dtype().size();
  std::vector<std::int64_t> result(bytes.size() / size);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = integer_at(bytes.data() + i * size, x.dtype());
  return result;
}

Tensor tensor_of_integers(const std::vector<std::int64_t>& values, DType dtype) {
  std::vector<std::byte> bytes(values.size() * dtype.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t value = dtype == boolean ? std::int64_t{values[i] != 0} : values[i];
    std::memcpy(bytes.data() + i * dtype.size(), &value, dtype.size());
  }
  return from_bytes(bytes.data(), bytes.size(), Shape{values.size()}, dtype);
}

double Judge::error(Real got, Real expected, Real magnitude) const {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected) ? 0 : HUGE_VAL;
  if (got == expected) return 0;
  if (!dtype.is_floating()) return static_cast<double>(std::fabs(got - expected));
  const Format format = format_of(dtype);
  // A result beyond the largest number is as far away as the number that would come next.
  const Real limit = std::ldexp(Real(1), format.greatest + 1);
  const Real reach = limit * (1 + std::ldexp(Real(16), -format.digits));
  if (std::isinf(expected)) return HUGE_VAL;
  if (std::isinf(got) && std::fabs(expected) * (1 + std::ldexp(Real(16), -format.digits)) < limit) return HUGE_VAL;
  if (!std::isinf(got) && std::fabs(expected) > reach) return HUGE_VAL;
  if (flushes && got == 0 && std::fabs(expected) < std::ldexp(Real(1), -126)) return 0;
  const Real near = std::clamp(got, -limit, limit);
  const Real aim = std::clamp(expected, -limit, limit);
  const Real scale = std::max(std::fabs(aim), std::isfinite(magnitude) ? std::fabs(magnitude) : Real(0));
  return static_cast<double>(std::fabs(near - aim) / unit_at(scale, dtype));
}

}  // namespace sluice::conformance
