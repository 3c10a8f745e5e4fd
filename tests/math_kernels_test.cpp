// The elementary functions of the kernels against the C library in double precision: the worst error over random bit
// patterns, dense ranges and the neighbours of every place where a formula changes, and the values at special points.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numbers>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/cpu_prelude.h"
#include "kernels/math.h"

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMin = std::numeric_limits<float>::min();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
constexpr double kMaxUlp = 4.0;

float from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

// The distance of value from the true result in units of the last place, which for denormal results is 2^-149.
// A wrong class (NaN, infinity, sign) is infinitely far off.
double ulp_error(float value, double truth) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (std::isnan(truth) || std::isnan(value)) return std::isnan(truth) && std::isnan(value) ? 0 : kFar;
  if (std::signbit(truth) != std::signbit(value)) return kFar;
  const double size = std::fabs(truth);
  if (std::isinf(truth) || size >= 0x1p129) return std::isinf(value) ? 0 : kFar;
  const double measured = std::isinf(value) ? 0x1p128 : std::fabs(static_cast<double>(value));
  const int exponent = size < static_cast<double>(kMin) ? -126 : std::min(std::ilogb(size), 127);
  return std::fabs(measured - std::min(size, 0x1p128)) / std::ldexp(1.0, exponent - 23);
}

// The points around x, both signs.
void add_neighbours(std::vector<float>& points, double x, uint32_t reach) {
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(std::fabs(x)));
  for (uint32_t b = bits < reach ? 0 : bits - reach; b <= bits + reach; ++b) {
    points.push_back(from_bits(b));
    points.push_back(from_bits(b | 0x80000000u));
  }
}

// 2^20 patterns spread evenly over all floats, the ranges where the functions vary, and special neighbourhoods.
std::vector<float> sample_points() {
  std::vector<float> points;
  for (uint32_t i = 0; i < (1u << 20); ++i) points.push_back(from_bits(i * 2654435761u));
  for (double limit : {1.0, 5.0, 110.0, 8192.0}) {
    for (int i = -100000; i <= 100000; ++i) points.push_back(static_cast<float>(limit * i / 100000));
  }
  for (double special : {0.0, 0x1p-126, 0x1p-24, 0x1p-12, 0.55, 0.96, 4.0, 10.0, 16.6355, 20.0, 87.3365, 88.7228,
                         103.972, 104.0, 0x1p90, 0x1p127, 0x1.fffffep127}) {
    add_neighbours(points, special, 100);
  }
  for (int k = -126; k <= 127; ++k) {
    add_neighbours(points, std::ldexp(1.0, k), 20);
    add_neighbours(points, std::ldexp(std::numbers::sqrt2, k), 20);
    add_neighbours(points, (k + 0.5) * std::numbers::ln2, 20);
  }
  for (int k = 0; k <= 10430; ++k) add_neighbours(points, k * std::numbers::pi / 4, 2);
  return points;
}

struct Unary {
  const char* name;
  float (*function)(float);
  double (*reference)(double);
  float bound;
};

void PrintTo(const Unary& unary, std::ostream* out) { *out << unary.name; }

const Unary kUnary[] = {
    {"exp", [](float x) { return k_exp(x); }, [](double x) { return std::exp(x); }, kInf},
    {"expm1", [](float x) { return k_expm1(x); }, [](double x) { return std::expm1(x); }, kInf},
    {"log", [](float x) { return k_log(x); }, [](double x) { return std::log(x); }, kInf},
    {"log1p", [](float x) { return k_log1p(x); }, [](double x) { return std::log1p(x); }, kInf},
    {"tanh", [](float x) { return k_tanh(x); }, [](double x) { return std::tanh(x); }, kInf},
    {"erf", [](float x) { return k_erf(x); }, [](double x) { return std::erf(x); }, kInf},
    {"sin", [](float x) { return k_sin(x); }, [](double x) { return std::sin(x); }, kSinCosFast},
    {"cos", [](float x) { return k_cos(x); }, [](double x) { return std::cos(x); }, kSinCosFast},
};

// Keeps the worst error and where it was.
struct Worst {
  double error = 0;
  float x = 0;
  float y = 0;

  void add(double candidate, float at_x, float at_y = 0) {
    if (candidate > error) *this = {candidate, at_x, at_y};
  }
};

class UnaryKernel : public testing::TestWithParam<Unary> {};

TEST_P(UnaryKernel, StaysWithinFourUlp) {
  static const std::vector<float> points = sample_points();
  const Unary& unary = GetParam();
  Worst normal;
  Worst denormal;
  for (float x : points) {
    if (std::fabs(x) > unary.bound && std::isfinite(x)) continue;
    const double truth = unary.reference(static_cast<double>(x));
    const bool is_small = std::fabs(truth) < static_cast<double>(kMin);
    (is_small ? denormal : normal).add(ulp_error(unary.function(x), truth), x);
  }
  std::printf("%-6s %.3f ulp at %a (%.9g); denormal results %.3f ulp\n", unary.name, normal.error,
              static_cast<double>(normal.x), static_cast<double>(normal.x), denormal.error);
  EXPECT_LE(normal.error, kMaxUlp) << unary.name << " at " << normal.x;
  EXPECT_LE(denormal.error, 1.0) << unary.name << " at " << denormal.x;
}

INSTANTIATE_TEST_SUITE_P(MathKernels, UnaryKernel, testing::ValuesIn(kUnary),
                         [](const testing::TestParamInfo<Unary>& info) { return std::string(info.param.name); });

// Equal as values, zeros by sign, NaN to NaN.
testing::AssertionResult same(float value, float expected) {
  const bool both_nan = std::isnan(value) && std::isnan(expected);
  if (both_nan || (value == expected && std::signbit(value) == std::signbit(expected)))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "got " << value << ", expected " << expected;
}

TEST(MathKernels, SpecialValues) {
  struct Case {
    const char* name;
    float x;
    float expected;
  };
  const Case cases[] = {
      {"exp", 0.0f, 1.0f},       {"exp", -0.0f, 1.0f},
      {"exp", kInf, kInf},       {"exp", -kInf, 0.0f},
      {"exp", kNan, kNan},       {"exp", -kNan, kNan},
      {"exp", 89.0f, kInf},      {"exp", kMax, kInf},
      {"exp", -104.0f, 0.0f},    {"exp", -kMax, 0.0f},
      {"exp", kDenormal, 1.0f},  {"expm1", 0.0f, 0.0f},
      {"expm1", -0.0f, -0.0f},   {"expm1", kInf, kInf},
      {"expm1", -kInf, -1.0f},   {"expm1", kNan, kNan},
      {"expm1", -30.0f, -1.0f},  {"expm1", -kMax, -1.0f},
      {"expm1", 89.0f, kInf},    {"expm1", kDenormal, kDenormal},
      {"log", 1.0f, 0.0f},       {"log", 0.0f, -kInf},
      {"log", -0.0f, -kInf},     {"log", -1.0f, kNan},
      {"log", -kDenormal, kNan}, {"log", -kInf, kNan},
      {"log", kInf, kInf},       {"log", kNan, kNan},
      {"log1p", 0.0f, 0.0f},     {"log1p", -0.0f, -0.0f},
      {"log1p", -1.0f, -kInf},   {"log1p", -1.5f, kNan},
      {"log1p", -kInf, kNan},    {"log1p", kInf, kInf},
      {"log1p", kNan, kNan},     {"log1p", -kDenormal, -kDenormal},
      {"tanh", 0.0f, 0.0f},      {"tanh", -0.0f, -0.0f},
      {"tanh", kInf, 1.0f},      {"tanh", -kInf, -1.0f},
      {"tanh", kNan, kNan},      {"tanh", kDenormal, kDenormal},
      {"tanh", 20.0f, 1.0f},     {"tanh", -kMax, -1.0f},
      {"erf", 0.0f, 0.0f},       {"erf", -0.0f, -0.0f},
      {"erf", kInf, 1.0f},       {"erf", -kInf, -1.0f},
      {"erf", kNan, kNan},       {"erf", 5.0f, 1.0f},
      {"erf", -kMax, -1.0f},     {"erf", kDenormal, kDenormal},
      {"sin", 0.0f, 0.0f},       {"sin", -0.0f, -0.0f},
      {"sin", kInf, kNan},       {"sin", -kInf, kNan},
      {"sin", kNan, kNan},       {"sin", kDenormal, kDenormal},
      {"cos", 0.0f, 1.0f},       {"cos", -0.0f, 1.0f},
      {"cos", kInf, kNan},       {"cos", -kInf, kNan},
      {"cos", kNan, kNan},       {"cos", kDenormal, 1.0f},
  };
  for (const Case& c : cases) {
    for (const Unary& unary : kUnary) {
      if (std::string(unary.name) != c.name) continue;
      EXPECT_TRUE(same(unary.function(c.x), c.expected)) << c.name << " of " << c.x;
    }
  }
}

// A generator of pairs; the k-th kind of pair stresses one part of the function.
class PowPairs {
 public:
  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next()) * 0x1p-32; }

  float any_float() { return from_bits(next()); }

  // The y that makes x^y about 2^t, t uniform a little beyond the range of floats.
  float exponent_for(float x) {
    const double y = (uniform() * 282 - 152) / std::log2(static_cast<double>(x));
    return std::isfinite(static_cast<float>(y)) ? static_cast<float>(y) : 1.5f;
  }

 private:
  uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 32);
  }

  uint64_t state_ = 1;
};

TEST(MathKernels, PowStaysWithinFourUlp) {
  PowPairs random;
  Worst normal;
  Worst denormal;
  auto check = [&](float x, float y) {
    const double truth = std::pow(static_cast<double>(x), static_cast<double>(y));
    const bool is_small = std::fabs(truth) < static_cast<double>(kMin);
    (is_small ? denormal : normal).add(ulp_error(k_pow(x, y), truth), x, y);
  };
  for (int i = 0; i < 300000; ++i) {
    check(random.any_float(), random.any_float());
    const float wide = static_cast<float>(std::exp2(random.uniform() * 276 - 148));
    check(wide, random.exponent_for(wide));
    const float narrow = static_cast<float>(0.5 + 1.5 * random.uniform());
    check(narrow, random.exponent_for(narrow));
    const float close = static_cast<float>(1 + (random.uniform() - 0.5) * std::exp2(-23 * random.uniform()));
    check(close, random.exponent_for(close));
    const float base = static_cast<float>(200 * random.uniform() - 100);
    check(base, static_cast<float>(static_cast<int>(82 * random.uniform()) - 41) * 0.5f);
  }
  std::printf("pow    %.3f ulp at %a, %a; denormal results %.3f ulp\n", normal.error, static_cast<double>(normal.x),
              static_cast<double>(normal.y), denormal.error);
  EXPECT_LE(normal.error, kMaxUlp) << normal.x << " to the " << normal.y;
  EXPECT_LE(denormal.error, 1.0) << denormal.x << " to the " << denormal.y;
}

// Every pair of special values; the double-precision function follows C99 there, and every result is exact or rounds as
// the power of floats does.
TEST(MathKernels, PowSpecialPairsFollowC99) {
  const float values[] = {0.0f, kDenormal, kMin,  0.5f,       0.99999994f, 1.0f,        1.0000001f,  1.5f, 2.0f, 3.0f,
                          4.0f, 5.5f,      64.0f, 8388607.5f, 8388609.0f,  16777215.0f, 16777216.0f, kMax, kInf, kNan};
  for (float size : values) {
    for (float power : values) {
      for (float x : {size, -size}) {
        for (float y : {power, -power}) {
          const double truth = std::pow(static_cast<double>(x), static_cast<double>(y));
          EXPECT_LE(ulp_error(k_pow(x, y), truth), 2.0) << x << " to the " << y << " gives " << k_pow(x, y);
        }
      }
    }
  }
}

TEST(MathKernels, PowSpecialValues) {
  EXPECT_TRUE(same(k_pow(kNan, 0.0f), 1.0f));
  EXPECT_TRUE(same(k_pow(1.0f, kNan), 1.0f));
  EXPECT_TRUE(same(k_pow(-1.0f, kInf), 1.0f));
  EXPECT_TRUE(same(k_pow(-2.0f, 3.0f), -8.0f));
  EXPECT_TRUE(same(k_pow(-2.0f, 0.5f), kNan));
  EXPECT_TRUE(same(k_pow(-0.0f, -3.0f), -kInf));
  EXPECT_TRUE(same(k_pow(-0.0f, -2.0f), kInf));
  EXPECT_TRUE(same(k_pow(-0.0f, 3.0f), -0.0f));
  EXPECT_TRUE(same(k_pow(-kInf, 3.0f), -kInf));
  EXPECT_TRUE(same(k_pow(-kInf, -3.0f), -0.0f));
  EXPECT_TRUE(same(k_pow(-kInf, 0.5f), kInf));
  EXPECT_TRUE(same(k_pow(0.5f, -kInf), kInf));
  EXPECT_TRUE(same(k_pow(kNan, 1.0f), kNan));
}

}  // namespace
