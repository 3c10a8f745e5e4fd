// Numbers of the conformance check, without a line of the library: what the bits of an element stand for, how a real
// number is rounded to a type, and how far apart two numbers are. Everything is computed in long double.
#pragma once

#include <cstdint>
#include <vector>

#include "sluice/tensor.hpp"

namespace sluice::conformance {

using Real = long double;

/// Elements as real numbers, first dimension fastest.
struct Array {
  Shape shape;
  std::vector<Real> at;
};

inline constexpr DType kAllTypes[] = {boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64};

/// A floating type: digits of the significand with the hidden one, and the exponents of normal numbers.
struct Format {
  int digits, least, greatest;
};
Format format_of(DType dtype);

/// One unit in the last place of numbers as great as `x` in a floating type.
Real unit_at(Real x, DType dtype);
/// The nearest number of the type: ties to even for floats; integers and bool truncate and saturate, NaN gives 0.
Real rounded(Real x, DType dtype);

/// What the bits of a tensor of any device stand for.
Array array_of(const Tensor& x);
/// The rounded numbers as a tensor on the CPU.
Tensor tensor_of(const Array& values, DType dtype);
/// Integers as they are, wrapped to the type; exact where long double is not.
std::vector<std::int64_t> integers_of(const Tensor& x);
Tensor tensor_of_integers(const std::vector<std::int64_t>& values, DType dtype);

/// How a number is judged.
struct Judge {
  DType dtype;
  /// The device may take denormals of f32 for 0, as operands and as results.
  bool flushes = false;

  /// Distance of `got` from `expected` in units of the last place of the greater of `expected` and `magnitude`, and for
  /// integers the plain difference. Infinite where one is special and the other is not.
  double error(Real got, Real expected, Real magnitude = 0) const;
};

}  // namespace sluice::conformance
