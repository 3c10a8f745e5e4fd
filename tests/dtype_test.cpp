#include "sluice/dtype.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

namespace sluice {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The value of a half by the formula of IEEE 754.
double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(DType, NamesSizesAndKinds) {
  const struct {
    DType dtype;
    const char* name;
    std::size_t size;
    bool is_floating, is_integer;
  } kRows[] = {{boolean, "bool", 1, false, false}, {u8, "u8", 1, false, true},     {i8, "i8", 1, false, true},
               {i16, "i16", 2, false, true},       {i32, "i32", 4, false, true},   {i64, "i64", 8, false, true},
               {f16, "f16", 2, true, false},       {bf16, "bf16", 2, true, false}, {f32, "f32", 4, true, false},
               {f64, "f64", 8, true, false}};
  for (const auto& row : kRows) {
    EXPECT_EQ(row.dtype.name(), row.name);
    EXPECT_EQ(row.dtype.size(), row.size) << row.name;
    EXPECT_EQ(row.dtype.is_floating(), row.is_floating) << row.name;
    EXPECT_EQ(row.dtype.is_integer(), row.is_integer) << row.name;
  }
  std::ostringstream out;
  out << bf16;
  EXPECT_EQ(out.str(), "bf16");
}

TEST(DType, OfCppTypes) {
  EXPECT_EQ(dtype_of<bool>(), boolean);
  EXPECT_EQ(dtype_of<unsigned char>(), u8);
  EXPECT_EQ(dtype_of<signed char>(), i8);
  EXPECT_EQ(dtype_of<short>(), i16);
  EXPECT_EQ(dtype_of<int>(), i32);
  EXPECT_EQ(dtype_of<long long>(), i64);
  EXPECT_EQ(dtype_of<std::int64_t>(), i64);
  EXPECT_EQ(dtype_of<Float16>(), f16);
  EXPECT_EQ(dtype_of<BFloat16>(), bf16);
  EXPECT_EQ(dtype_of<float>(), f32);
  EXPECT_EQ(dtype_of<double>(), f64);
}

TEST(Promote, FollowsTheWrittenTable) {
  // Rows and columns in the order of DType::Code.
  const DType kTable[DType::kCount][DType::kCount] = {
      {boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64}, {u8, u8, i16, i16, i32, i64, f16, bf16, f32, f64},
      {i8, i16, i8, i16, i32, i64, f16, bf16, f32, f64},     {i16, i16, i16, i16, i32, i64, f16, bf16, f32, f64},
      {i32, i32, i32, i32, i32, i64, f16, bf16, f32, f64},   {i64, i64, i64, i64, i64, i64, f16, bf16, f32, f64},
      {f16, f16, f16, f16, f16, f16, f16, f32, f32, f64},    {bf16, bf16, bf16, bf16, bf16, bf16, f32, bf16, f32, f64},
      {f32, f32, f32, f32, f32, f32, f32, f32, f32, f64},    {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64}};
  for (int a = 0; a < DType::kCount; ++a) {
    for (int b = 0; b < DType::kCount; ++b) {
      EXPECT_EQ(promote(DType(DType::Code(a)), DType(DType::Code(b))), kTable[a][b]) << a << " and " << b;
    }
  }
}

TEST(Float16, EveryBitPatternWidensExactlyAndComesBack) {
  for (int i = 0; i < 0x10000; ++i) {
    Float16 half;
    half.bits = static_cast<std::uint16_t>(i);
    const auto wide = static_cast<float>(half);
    const bool is_nan = (i & 0x7c00) == 0x7c00 && (i & 0x3ff) != 0;
    ASSERT_EQ(std::isnan(wide), is_nan) << i;
    if (is_nan) continue;
    const float infinity = (i & 0x8000) != 0 ? -kInf : kInf;
    ASSERT_EQ(static_cast<double>(wide), (i & 0x7c00) == 0x7c00 ? infinity : half_value(half.bits)) << i;
    ASSERT_EQ(Float16(wide).bits, i);
  }
}

TEST(Float16, RoundsToTheNearestAndTiesToEven) {
  for (std::uint16_t i = 0; i < 0x7bff; ++i) {
    const double low = half_value(i);
    const double high = half_value(static_cast<std::uint16_t>(i + 1));
    const auto middle = static_cast<float>((low + high) / 2);  // exact in float
    EXPECT_EQ(Float16(middle).bits, i % 2 == 0 ? i : i + 1) << i;
    EXPECT_EQ(Float16(std::nextafter(middle, 0.0f)).bits, i) << i;
    EXPECT_EQ(Float16(std::nextafter(middle, kInf)).bits, i + 1) << i;
    EXPECT_EQ(Float16(-std::nextafter(middle, kInf)).bits, 0x8000 | (i + 1)) << i;
  }
}

TEST(Float16, OverflowsToInfinityAndKeepsNan) {
  EXPECT_EQ(Float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Float16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(Float16(-kInf).bits, 0xfc00);
  EXPECT_EQ(Float16(-0.0f).bits, 0x8000);
  EXPECT_EQ(Float16(1e-30f).bits, 0);
  EXPECT_TRUE(std::isnan(static_cast<float>(Float16(std::bit_cast<float>(0x7f800001)))));  // payload in low bits
}

TEST(BFloat16, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t i = 0; i < 0x7f80; ++i) {
    const std::uint32_t middle = i << 16 | 0x8000;
    EXPECT_EQ(BFloat16(std::bit_cast<float>(i << 16)).bits, i);
    EXPECT_EQ(BFloat16(std::bit_cast<float>(middle)).bits, i + i % 2) << i;
    EXPECT_EQ(BFloat16(std::bit_cast<float>(middle - 1)).bits, i) << i;
    EXPECT_EQ(BFloat16(std::bit_cast<float>(middle + 1)).bits, i + 1) << i;
  }
  EXPECT_EQ(static_cast<float>(BFloat16(-2.5f)), -2.5f);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7fffffff)))));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0xff800001)))));
}

}  // namespace
}  // namespace sluice
