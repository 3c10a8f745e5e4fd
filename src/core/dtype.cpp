#include "sluice/dtype.hpp"

#include <algorithm>
#include <bit>
#include <ostream>

namespace sluice::inline v0 {
namespace {

// `value` >> `shift` rounded to nearest, ties to even; 0 < shift < 32.
std::uint32_t shift_to_nearest(std::uint32_t value, int shift) {
  const std::uint32_t half = std::uint32_t{1} << (shift - 1);
  const std::uint32_t odd = (value >> shift) & 1;
  return (value + half - 1 + odd) >> shift;
}

std::uint16_t half_from_float(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000) {
    half = 0x7e00 | ((magnitude >> 13) & 0x3ff);  // the quiet bit keeps a payload of low bits a NaN
  } else if (magnitude >= 0x477ff000) {           // 65520 and more round to infinity
    half = 0x7c00;
  } else if (magnitude >= 0x38800000) {  // normal, 2^-14 and more
    half = shift_to_nearest(magnitude - 0x38000000, 13);
  } else if (magnitude > 0x33000000) {  // denormal; 2^-25 and less round to 0
    const int exponent = static_cast<int>(magnitude >> 23);
    half = shift_to_nearest((magnitude & 0x7fffff) | 0x800000, 126 - exponent);
  }
  return static_cast<std::uint16_t>(sign | half);
}

float float_from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1f;
  const std::uint32_t mantissa = half & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t biased = exponent == 0x1f ? 0xff : exponent + 112;
  return std::bit_cast<float>(sign | (biased << 23) | (mantissa << 13));
}

}  // namespace

Float16::Float16(float value) : bits(half_from_float(value)) {}

Float16::operator float() const { return float_from_half(bits); }

BFloat16::BFloat16(float value) {
  const std::uint32_t wide = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (wide & 0x7fffffff) > 0x7f800000;
  bits = static_cast<std::uint16_t>(is_nan ? (wide >> 16) | 0x40 : (wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
}

BFloat16::operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::string_view DType::name() const {
  constexpr std::string_view kNames[kCount] = {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};
  return kNames[code_];
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << dtype.name(); }

DType promote(DType a, DType b) {
  const DType::Code low = std::min(a.code(), b.code());
  const DType::Code high = std::max(a.code(), b.code());
  if (low == DType::kU8 && high == DType::kI8) return i16;
  if (low == DType::kF16 && high == DType::kBF16) return f32;
  return DType(high);
}

}  // namespace sluice::inline v0
