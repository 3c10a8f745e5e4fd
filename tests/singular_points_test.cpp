// Derivatives at 0, +-1, +-inf and NaN, against a written table, and the gradients that must not become NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sluice/ops.hpp"
#include "src/core/program.hpp"
#include "src/core/typed_program.hpp"
#include "tools/sluice/conformance_rows.hpp"

namespace sluice {
namespace {

constexpr float kInf = INFINITY;
constexpr float kNaN = NAN;

using detail::Op;

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

TEST(SingularPoints, RowsFollowTheTable) {
  for (const conformance::SingularPoint& point : conformance::singular_points()) {
    const conformance::OpReference& row = conformance::op_reference(point.op);
    const std::string where = std::string(row.name) + " at " + std::to_string(point.x) + ", " + std::to_string(point.y);
    if (row.arity == 1) {
      expect_same(derivative(point.op, {point.x}, 0), point.dx, where);
    } else {
      expect_same(derivative(point.op, {point.x, point.y}, 0), point.dx, where + ", in x");
      expect_same(derivative(point.op, {point.x, point.y}, 1), point.dy, where + ", in y");
    }
  }
}

TEST(SingularPoints, EveryDifferentiableRowIsInTheTable) {
  for (const conformance::OpReference& row : conformance::op_references()) {
    if (!row.differentiable || row.op == Op::where) continue;  // where has a test of its own
    const bool listed = std::ranges::any_of(
        conformance::singular_points(), [&](const conformance::SingularPoint& point) { return point.op == row.op; });
    EXPECT_TRUE(listed) << row.name << " has no line in tools/sluice/conformance_singular.cpp";
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
