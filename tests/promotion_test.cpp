// Element types of results, against a table written from the promotion rules, and the values that depend on them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "sluice/ops.hpp"

namespace sluice {
namespace {

constexpr DType kAll[] = {boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64};

/// The table of two operands, rows and columns in the order of kAll.
const char* const kTable[10][10] = {
    {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"u8", "u8", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i8", "i16", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i16", "i16", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i32", "i32", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64"},
    {"i64", "i64", "i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64"},
    {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64"},
    {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32", "f64"},
    {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64"},
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
};

TEST(Promotion, FollowsTheTableForOrderedRows) {
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 10; ++j) {
      const Tensor result = max(ones({2}, kAll[i]), ones({2}, kAll[j]));
      EXPECT_EQ(result.dtype().name(), kTable[i][j]) << kAll[i] << " with " << kAll[j];
      EXPECT_EQ(cast(result, f64).to_vector<double>(), (std::vector<double>{1, 1}));
      EXPECT_EQ((ones({2}, kAll[i]) < ones({2}, kAll[j])).dtype(), boolean);
    }
  }
}

TEST(Promotion, BoolCountsAsI32InArithmetic) {
  for (const DType other : kAll) {
    const DType expected = other == boolean || (other.is_integer() && other != i64) ? i32 : other;
    EXPECT_EQ((ones({2}, boolean) + ones({2}, other)).dtype(), expected) << other;
  }
  EXPECT_EQ((ones({2}, boolean) + ones({2}, boolean)).to_vector<std::int32_t>(), (std::vector<std::int32_t>{2, 2}));
  EXPECT_EQ(neg(ones({1}, boolean)).item<std::int32_t>(), -1);
  EXPECT_EQ(where(ones({1}, boolean), ones({1}, boolean), zeros({1}, boolean)).dtype(), boolean);
  EXPECT_EQ((ones({1}, boolean) & (ones({1}, f32) * 3)).dtype(), boolean);
}

TEST(Promotion, FloatingRowsLiftIntegersToF32) {
  for (const DType dtype : {boolean, u8, i8, i16, i32, i64}) {
    EXPECT_EQ((ones({2}, dtype) / 2).dtype(), f32) << dtype;
    EXPECT_EQ(exp(ones({2}, dtype)).dtype(), f32) << dtype;
    EXPECT_EQ(pow(ones({2}, dtype), ones({2}, dtype)).dtype(), f32) << dtype;
    EXPECT_NEAR(exp(ones({1}, dtype)).item<float>(), std::exp(1.0), 1e-6);
  }
  EXPECT_EQ(exp(ones({2}, f16)).dtype(), f16);
  EXPECT_EQ(tensor<std::uint8_t>({51, 255}).dtype(), u8);
  EXPECT_NEAR((tensor<std::uint8_t>({51, 255}) / 255).to_vector<float>()[0], 0.2, 1e-7);
}

TEST(Promotion, NumbersAdaptToTensors) {
  for (const DType dtype : {f16, bf16, f32, f64}) EXPECT_EQ((ones({1}, dtype) * 2.5).dtype(), dtype);
  for (const DType dtype : {u8, i8, i16, i32, i64}) {
    EXPECT_EQ((ones({1}, dtype) * 2).dtype(), dtype) << dtype;
    EXPECT_EQ((ones({1}, dtype) * 100).dtype(), dtype) << dtype;
    EXPECT_EQ((ones({1}, dtype) * 2.0).dtype(), f32) << dtype;
  }
  EXPECT_EQ((ones({1}, boolean) * 100).dtype(), i32);
  EXPECT_THROW(ones({1}, u8) + 300, TypeError);
  EXPECT_THROW(ones({1}, u8) + (-1), TypeError);
  EXPECT_THROW(ones({1}, i8) + 128, TypeError);
  EXPECT_EQ((ones({1}, i8) + 127).item<std::int8_t>(), -128);
  EXPECT_EQ((ones({1}, i64) * (std::int64_t{1} << 60)).item<std::int64_t>(), std::int64_t{1} << 60);
}

TEST(Promotion, DoubleKeepsItsDigits) {
  const Tensor x = tensor<double>({1.0}) * 1;
  EXPECT_EQ(x.dtype(), f32) << "a list of doubles is f32";
  const Tensor y = from(std::vector<double>{1.0 / 3});
  EXPECT_EQ((y * 3.3).item<double>(), 1.0 / 3 * 3.3);
  EXPECT_EQ((from(std::vector<std::int64_t>{9007199254740993}) + 0).item<std::int64_t>(), 9007199254740993);
}

TEST(Promotion, NarrowIntegersWrapAtEveryNode) {
  const Tensor x = from(std::vector<std::uint8_t>{200});
  EXPECT_EQ(map([](auto a) { return floor_div(a + a, 2); }, x).item<std::uint8_t>(), 72);  // 400 wraps to 144
  EXPECT_EQ((x * x).item<std::uint8_t>(), 64);
  EXPECT_EQ(abs(from(std::vector<std::int8_t>{-128})).item<std::int8_t>(), -128);
}

TEST(Cast, TruncatesAndSaturatesFloats) {
  const Tensor x = from(std::vector<float>{1.9f, -1.9f, 300, -300, NAN, INFINITY, -INFINITY, 3e9f});
  EXPECT_EQ(cast(x, u8).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 0, 255, 0, 0, 255, 0, 255}));
  EXPECT_EQ(cast(x, i8).to_vector<std::int8_t>(), (std::vector<std::int8_t>{1, -1, 127, -128, 0, 127, -128, 127}));
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(cast(x, i32).to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, -1, 300, -300, 0, kMax, kMin, kMax}));
  constexpr auto kLong = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(cast(x, i64).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, -1, 300, -300, 0, kLong, -kLong - 1, 3000000000}));
  EXPECT_EQ(cast(x, boolean).to_vector<bool>(), (std::vector<bool>{true, true, true, true, true, true, true, true}));
  EXPECT_EQ(cast(cast(x, f64), i16).to_vector<std::int16_t>(),
            (std::vector<std::int16_t>{1, -1, 300, -300, 0, 32767, -32768, 32767}));
}

TEST(Cast, WrapsIntegers) {
  const Tensor x = from(std::vector<std::int64_t>{257, -1, std::int64_t{1} << 40});
  EXPECT_EQ(cast(x, u8).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 255, 0}));
  EXPECT_EQ(cast(x, i32).to_vector<std::int32_t>(), (std::vector<std::int32_t>{257, -1, 0}));
}

/// The value of 16 bits by the definition of the two formats.
double half_value(unsigned bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = (bits & ((1u << fraction_bits) - 1)) / std::ldexp(1.0, fraction_bits);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, exponent - bias);
}

TEST(Cast, ReadsAndWritesEveryHalf) {
  std::vector<std::uint16_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  for (const DType dtype : {f16, bf16}) {
    const Tensor half = from_bytes(bits.data(), bits.size() * 2, Shape{65536}, dtype);
    const std::vector<float> wide = cast(half, f32).to_vector<float>();
    const Tensor back = cast(from(wide), dtype);
    for (unsigned i = 0; i < bits.size(); ++i) {
      const double expected = half_value(i, dtype == f16 ? 5 : 8);
      std::uint16_t got = 0;
      std::memcpy(&got, back.bytes().data() + std::size_t{2} * i, 2);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(wide[i]) && std::isnan(half_value(got, dtype == f16 ? 5 : 8))) << dtype << " " << i;
      } else {
        ASSERT_EQ(wide[i], expected) << dtype << " " << i;
        ASSERT_EQ(got, i) << dtype;
      }
    }
  }
}

TEST(Cast, RoundsToNearestEven) {
  // Halfway between two halves: 1 + 2^-11 goes to 1, 1 + 3 * 2^-11 to 1 + 2^-9.
  const Tensor x = from(std::vector<float>{1 + 0x1p-11f, 1 + 3 * 0x1p-11f, 65519.0f, 65520.0f, 0x1p-25f, 0x1.8p-25f});
  const std::vector<float> half = cast(cast(x, f16), f32).to_vector<float>();
  EXPECT_EQ(half, (std::vector<float>{1, 1 + 0x1p-9f, 65504, INFINITY, 0, 0x1p-24f}));
  const Tensor y = from(std::vector<float>{1 + 0x1p-8f, 1 + 3 * 0x1p-8f});
  EXPECT_EQ(cast(cast(y, bf16), f32).to_vector<float>(), (std::vector<float>{1, 1 + 0x1p-6f}));
}

}  // namespace
}  // namespace sluice
