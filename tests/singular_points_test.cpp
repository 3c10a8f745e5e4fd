// Derivatives at 0, +-1, +-inf and NaN, against a written table, and the gradients that must not become NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "op_reference.hpp"
#include "sluice/ops.hpp"
#include "src/core/program.hpp"
#include "src/core/typed_program.hpp"

namespace sluice {
namespace {

constexpr float kInf = INFINITY;
constexpr float kNaN = NAN;
constexpr float kPoints[] = {0, 1, -1, kInf, -kInf, kNaN};

struct UnaryRow {
  detail::Op op;
  float derivative[6];  // at kPoints
};

using detail::Op;
const float kErf1 = 0.415107497f;  // 2/sqrt(pi) exp(-1)
const UnaryRow kUnary[] = {
    {Op::neg, {-1, -1, -1, -1, -1, -1}},
    {Op::abs, {0, 1, -1, 1, -1, kNaN}},
    {Op::sign, {0, 0, 0, 0, 0, 0}},
    {Op::round, {0, 0, 0, 0, 0, 0}},
    {Op::floor, {0, 0, 0, 0, 0, 0}},
    {Op::exp, {1, 2.71828183f, 0.367879441f, kInf, 0, kNaN}},
    {Op::expm1, {1, 2.71828183f, 0.367879441f, kInf, 0, kNaN}},
    {Op::log, {kInf, 1, -1, 0, -0.0f, kNaN}},
    {Op::log1p, {1, 0.5f, kInf, 0, -0.0f, kNaN}},
    {Op::sqrt, {0, 0.5f, kNaN, 0, kNaN, kNaN}},
    {Op::tanh, {1, 0.419974342f, 0.419974342f, 0, 0, kNaN}},
    {Op::erf, {1.12837917f, kErf1, kErf1, 0, 0, kNaN}},
    {Op::sin, {1, 0.540302306f, 0.540302306f, kNaN, kNaN, kNaN}},
    {Op::cos, {0, -0.841470985f, 0.841470985f, kNaN, kNaN, kNaN}},
};

void expect_same(float got, float expected, const std::string& where) {
  if (std::isnan(expected)) EXPECT_TRUE(std::isnan(got)) << where << " gave " << got;
  else if (std::isinf(expected)) EXPECT_EQ(got, expected) << where;
  else EXPECT_NEAR(got, expected, 1e-6) << where;
}

float derivative(detail::Op op, std::vector<float> at, std::size_t input, float incoming = 1) {
  std::vector<Tensor> inputs;
  for (const float value : at) inputs.push_back(scalar(value));
  detail::Tape tape;
  for (Tensor& x : inputs) tape.track(x);
  Tensor result = detail::map_program1(detail::row_program(op), {}, inputs);
  tape.backward(incoming == 1 ? result : result * incoming);
  const Tensor gradient = tape.gradient(inputs[input]);
  return gradient ? gradient.item<float>() : 0;
}

TEST(SingularPoints, OneOperandRowsFollowTheTable) {
  for (const UnaryRow& row : kUnary) {
    for (std::size_t i = 0; i < 6; ++i) {
      expect_same(derivative(row.op, {kPoints[i]}, 0), row.derivative[i],
                  std::string(detail::row_name(row.op)) + " at " + std::to_string(kPoints[i]));
    }
  }
}

TEST(SingularPoints, EveryDifferentiableRowIsInATable) {
  const Op binary[] = {Op::add, Op::sub, Op::mul, Op::div,       Op::pow,
                       Op::max, Op::min, Op::mod, Op::floor_div, Op::where};
  for (const auto& row : test::op_references()) {
    if (!row.differentiable) continue;
    const bool listed = std::ranges::any_of(kUnary, [&](const UnaryRow& u) { return u.op == row.op; }) ||
                        std::ranges::find(binary, row.op) != std::end(binary);
    EXPECT_TRUE(listed) << row.name << " has no line in a table of this file";
  }
}

struct BinaryCase {
  detail::Op op;
  float x, y, dx, dy;
};
const BinaryCase kBinary[] = {
    {Op::add, kInf, 0, 1, 1},     {Op::sub, 0, kNaN, 1, -1},
    {Op::mul, 0, kInf, kInf, 0},  {Op::mul, kNaN, 0, 0, kNaN},
    {Op::div, 1, 0, kInf, -kInf}, {Op::div, 0, 1, 1, 0},
    {Op::div, 1, kInf, 0, 0},     {Op::pow, 0, 0, 0, 0},
    {Op::pow, 0, 2, 0, 0},        {Op::pow, 2, 0, 0, 0.693147181f},
    {Op::pow, -1, 2, -2, 0},      {Op::pow, 1, kInf, kInf, 0},
    {Op::pow, 0, 1, 1, 0},        {Op::max, 1, 1, 0, 1},
    {Op::max, kNaN, 0, 0, 1},     {Op::max, 2, 1, 1, 0},
    {Op::min, 1, 1, 0, 1},        {Op::min, -1, 1, 1, 0},
    {Op::min, -kInf, kInf, 1, 0}, {Op::mod, 5, 3, 1, -1},
    {Op::floor_div, 5, 3, 0, 0},
};

TEST(SingularPoints, TwoOperandRowsFollowTheTable) {
  for (const BinaryCase& c : kBinary) {
    const std::string where =
        std::string(detail::row_name(c.op)) + " at " + std::to_string(c.x) + ", " + std::to_string(c.y);
    expect_same(derivative(c.op, {c.x, c.y}, 0), c.dx, where + ", in x");
    expect_same(derivative(c.op, {c.x, c.y}, 1), c.dy, where + ", in y");
  }
}

TEST(SingularPoints, WhereSendsTheGradientToTheChosenBranchOnly) {
  EXPECT_EQ(derivative(Op::where, {1, 2, kNaN}, 1), 1);
  EXPECT_EQ(derivative(Op::where, {1, 2, kNaN}, 2), 0);
  EXPECT_EQ(derivative(Op::where, {0, kInf, 3}, 1), 0);
  EXPECT_EQ(derivative(Op::where, {0, kInf, 3}, 2), 1);
}

TEST(SingularPoints, AZeroIncomingGradientStaysZeroWhereTheFactorIsInfinite) {
  EXPECT_EQ(derivative(Op::log, {0}, 0, 0), 0);
  EXPECT_EQ(derivative(Op::div, {1, 0}, 0, 0), 0);
  EXPECT_EQ(derivative(Op::div, {1, 0}, 1, 0), 0);
  EXPECT_EQ(derivative(Op::pow, {0, 0.5f}, 0, 0), 0);
}

template <class F>
std::vector<float> gradient_at(F f, const std::vector<float>& values) {
  Tensor x = from(values);
  detail::Tape tape;
  tape.track(x);
  tape.backward(sum(map(f, x)));
  return tape.gradient(x).template to_vector<float>();
}

TEST(SingularPoints, GuardedBranchesHaveNoNaN) {
  const auto guarded = gradient_at([](auto x) { return where(x > 0, sqrt(x), 0); }, {-4, 0, 4});
  EXPECT_EQ(guarded, (std::vector<float>{0, 0, 0.25f}));
  const auto logarithm = gradient_at([](auto x) { return where(x > 0, log(x), 0); }, {0, 2});
  EXPECT_EQ(logarithm, (std::vector<float>{0, 0.5f}));
  const auto inverse = gradient_at([](auto x) { return where(x == 0, 0, 1 / x); }, {0, 2});
  EXPECT_EQ(inverse, (std::vector<float>{0, -0.25f}));
  const auto root_of_square = gradient_at([](auto x) { return sqrt(x * x); }, {0, -3});
  EXPECT_EQ(root_of_square, (std::vector<float>{0, -1}));
}

}  // namespace
}  // namespace sluice
