// Every row of the op table against its reference: a million points and more, half of them random bit patterns, which
// reach every exponent, infinities and NaN; half uniform where the function does something.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>

#include "sluice/ops.hpp"
#include "src/core/map.hpp"
#include "src/core/typed_program.hpp"
#include "tools/sluice/conformance_rows.hpp"

namespace sluice {
namespace {

using conformance::OpReference;

constexpr std::size_t kPoints = 1 << 20;

class Row : public testing::TestWithParam<OpReference> {};

INSTANTIATE_TEST_SUITE_P(OpTable, Row, testing::ValuesIn(conformance::op_references()),
                         [](const auto& info) { return std::string(info.param.name); });

std::vector<float> sample(std::mt19937& random, double low, double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<float> values(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i) {
    values[i] =
        i % 2 == 0 ? std::bit_cast<float>(static_cast<std::uint32_t>(random())) : static_cast<float>(uniform(random));
  }
  const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 2.0f, 0.5f};
  for (float& value : values) {
    if (random() % 64 == 0) value = special[random() % std::size(special)];
  }
  return values;
}

/// Distance in units of the last place of the float nearest to `expected`; infinite when one is special, not the other.
double ulp_error(float got, double expected) {
  if (std::isnan(expected)) return std::isnan(got) ? 0 : INFINITY;
  const auto rounded = static_cast<float>(expected);
  if (std::isinf(rounded) || std::isinf(got)) {
    // A result just below the largest float may round to infinity, and the other way round.
    return got == rounded ? 0 : std::fabs(expected) > 3.402823e38 && std::fabs(got) > 3.402822e38f ? 1 : INFINITY;
  }
  if (std::fabs(expected) < 1.17549435e-38) return std::fabs(got - expected) / 1.4e-45 <= 4 ? 0 : INFINITY;
  const int exponent = std::ilogb(rounded);
  return std::fabs(got - expected) / std::ldexp(1.0, exponent - 23);
}

Tensor apply(const OpReference& row, std::vector<Tensor> inputs) {
  return detail::run_map1(detail::row_program(row.op), {}, inputs);
}

TEST_P(Row, IsWithinFourUlpInFloat) {
  const OpReference& row = GetParam();
  std::mt19937 random(20261130);
  std::vector<std::vector<float>> values;
  std::vector<Tensor> inputs;
  for (int k = 0; k < row.arity; ++k) {
    values.push_back(sample(random, row.low, row.high));
    inputs.push_back(from(values.back()));
  }
  Tensor output = apply(row, inputs);
  if (output.dtype() == boolean) output = cast(output, f32);
  const std::span<const float> got = output.span<float>();
  double worst = 0;
  std::size_t at = 0;
  const auto argument = [&](std::size_t k, std::size_t i) {
    return k < values.size() ? static_cast<double>(values[k][i]) : 0.0;
  };
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double error = ulp_error(got[i], row.value(argument(0, i), argument(1, i), argument(2, i)));
    if (error > worst) {
      worst = error;
      at = i;
    }
  }
  std::printf("%-12s worst %.3g ulp at (%.9g, %.9g, %.9g): %.9g\n", row.name, worst, argument(0, at), argument(1, at),
              argument(2, at), static_cast<double>(got[at]));
  EXPECT_LE(worst, 4);
}

TEST_P(Row, IsRightInDouble) {
  const OpReference& row = GetParam();
  if (row.op == detail::Op::floor_div) return;  // its reference rounds the quotient as a float does
  std::mt19937 random(7);
  std::vector<std::vector<double>> values;
  std::vector<Tensor> inputs;
  for (int k = 0; k < row.arity; ++k) {
    std::uniform_real_distribution<double> uniform(row.low, row.high);
    values.emplace_back(4096);
    for (double& value : values.back()) value = uniform(random);
    inputs.push_back(from(values.back()));
  }
  const std::vector<double> got = cast(apply(row, inputs), f64).to_vector<double>();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto argument = [&](std::size_t k) { return k < values.size() ? values[k][i] : 0.0; };
    const double expected = row.value(argument(0), argument(1), argument(2));
    ASSERT_NEAR(got[i], expected, 1e-13 * std::max(1.0, std::fabs(expected))) << row.name << " at " << argument(0);
  }
}

TEST_P(Row, DerivativeAgreesWithFiniteDifferences) {
  const OpReference& row = GetParam();
  if (!row.differentiable) return;
  std::mt19937 random(11);
  // Away from kinks and steps: the fractional part of every argument lies in [0.1, 0.4].
  std::uniform_real_distribution<double> fraction(0.1, 0.4);
  for (int trial = 0; trial < 200; ++trial) {
    std::array<double, 3> x{};
    for (double& value : x) {
      const double whole = static_cast<double>(static_cast<int>(random() % 7)) - (row.low >= 0 ? 0 : 3);
      value = whole + fraction(random);
    }
    if (row.op == detail::Op::where) x[0] = trial % 2;
    if (x[0] == x[1] || std::isnan(row.value(x[0], x[1], x[2]))) continue;
    std::vector<Tensor> inputs;
    for (int k = 0; k < row.arity; ++k) inputs.push_back(from(std::vector<double>{x[static_cast<std::size_t>(k)]}));
    detail::Tape tape;
    for (Tensor& input : inputs) tape.track(input);
    tape.backward(sum(detail::map_program1(detail::row_program(row.op), {}, inputs) * 1.5));
    for (int k = row.op == detail::Op::where ? 1 : 0; k < row.arity; ++k) {
      const auto value_at = [&](double step) {
        std::array<double, 3> moved = x;
        moved[static_cast<std::size_t>(k)] += step;
        return row.value(moved[0], moved[1], moved[2]);
      };
      constexpr double kStep = 1e-6;
      const double expected = 1.5 * (value_at(kStep) - value_at(-kStep)) / (2 * kStep);
      const Tensor gradient = tape.gradient(inputs[static_cast<std::size_t>(k)]);
      const double got = gradient ? gradient.item<double>() : 0;
      ASSERT_NEAR(got, expected, 2e-6 * std::max(1.0, std::fabs(expected)))
          << row.name << " input " << k << " at " << x[0] << ", " << x[1];
    }
  }
}

// ---- Integers wrap as their own width does.

template <class T>
class IntegerRows : public testing::Test {};
using IntegerTypes = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(IntegerRows, IntegerTypes);

TYPED_TEST(IntegerRows, WrapAndDivideAsWritten) {
  using T = TypeParam;
  std::mt19937_64 random(3);
  std::vector<T> x(20000), y(20000);
  const T edges[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{1}, static_cast<T>(-1)};
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = random() % 4 == 0 ? edges[random() % 5] : static_cast<T>(random());
    y[i] = random() % 4 == 0 ? edges[random() % 5] : static_cast<T>(random() % 3 == 0 ? random() % 7 : random());
  }
  for (const char* name :
       {"add", "sub", "mul", "floor_div", "mod", "max", "min", "neg", "abs", "sign", "round", "floor"}) {
    const auto& all = conformance::op_references();
    const auto row = std::ranges::find_if(all, [&](const auto& r) { return std::string(r.name) == name; });
    std::vector<Tensor> inputs{from(x)};
    if (row->arity == 2) inputs.push_back(from(y));
    const std::vector<T> got = apply(*row, inputs).template to_vector<T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(got[i], static_cast<T>(conformance::integer_value(row->op, x[i], y[i], 0, dtype_of<T>())))
          << name << " of " << +x[i] << " and " << +y[i];
    }
  }
}

}  // namespace
}  // namespace sluice
