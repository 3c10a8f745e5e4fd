// Element types: ten of them, their C++ counterparts, and how two of them promote.
//
// A DType is a value (`f32`, `i64`, ...). It is also a function that converts the floating tensors of anything:
// `f16(model)`, `f32(tensor)`. Float16 and BFloat16 are storage types: arithmetic on them is done in f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "sluice/error.hpp"

namespace sluice::inline v0 {

/// IEEE half precision, 16 bits; conversion rounds to nearest even.
struct SLUICE_API Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value);
  explicit operator float() const;
  bool operator==(const Float16&) const = default;
};

/// The upper half of a float; conversion rounds to nearest even and keeps NaN a NaN.
struct SLUICE_API BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const;
  bool operator==(const BFloat16&) const = default;
};

/// An element type. Small, comparable, usable in switch through code().
class SLUICE_API DType {
 public:
  enum Code : std::uint8_t { kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64 };
  static constexpr int kCount = 10;

  /// f32, the type of parameters.
  constexpr DType() : code_(kF32) {}
  constexpr explicit DType(Code code) : code_(code) {}

  constexpr Code code() const { return code_; }
  /// Bytes of one element.
  constexpr std::size_t size() const {
    constexpr std::uint8_t kSizes[kCount] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
    return kSizes[code_];
  }
  constexpr bool is_floating() const { return code_ >= kF16; }
  constexpr bool is_integer() const { return code_ >= kU8 && code_ <= kI64; }
  /// "f32", "i64", "bool", ...
  std::string_view name() const;
  constexpr bool operator==(const DType&) const = default;

  /// A copy of `value` (a tensor, or anything that holds tensors) whose floating tensors have this type, which must be
  /// floating. Integers and booleans stay as they are. Defined in model.hpp.
  template <class T>
  T operator()(T value) const;

 private:
  Code code_;
};

inline constexpr DType boolean{DType::kBool};
inline constexpr DType u8{DType::kU8};
inline constexpr DType i8{DType::kI8};
inline constexpr DType i16{DType::kI16};
inline constexpr DType i32{DType::kI32};
inline constexpr DType i64{DType::kI64};
inline constexpr DType f16{DType::kF16};
inline constexpr DType bf16{DType::kBF16};
inline constexpr DType f32{DType::kF32};
inline constexpr DType f64{DType::kF64};

SLUICE_API std::ostream& operator<<(std::ostream& out, DType dtype);

/// The type that holds values of both: bool < u8, i8 < i16 < i32 < i64 < f16, bf16 < f32 < f64. u8 with i8 gives i16,
/// f16 with bf16 gives f32, an integer with a float gives that float.
SLUICE_API DType promote(DType a, DType b);

/// C++ types that can be elements: bool, (u)int8, int16, int32, int64 under any name, Float16, BFloat16, float, double.
template <class T>
concept Element =
    std::is_same_v<T, bool> || std::is_same_v<T, std::uint8_t> ||
    (std::is_integral_v<T> && std::is_signed_v<T> && !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t>) ||
    std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// The element type of a C++ type: dtype_of<float>() is f32.
template <Element T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return boolean;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return u8;
  else if constexpr (std::is_same_v<T, Float16>) return f16;
  else if constexpr (std::is_same_v<T, BFloat16>) return bf16;
  else if constexpr (std::is_same_v<T, float>) return f32;
  else if constexpr (std::is_same_v<T, double>) return f64;
  else if constexpr (sizeof(T) == 1) return i8;
  else if constexpr (sizeof(T) == 2) return i16;
  else if constexpr (sizeof(T) == 4) return i32;
  else return i64;
}

}  // namespace sluice::inline v0
