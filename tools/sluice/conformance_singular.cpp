// Derivatives at 0, +-1, +-inf and NaN: what was decided, as a written table.
#include <cmath>

#include "tools/sluice/conformance_rows.hpp"

namespace sluice::conformance {
namespace {

constexpr float kInf = INFINITY;
constexpr float kNaN = NAN;
constexpr float kErf1 = 0.415107497f;  // 2/sqrt(pi) exp(-1)
constexpr float kE = 2.71828183f, kOneOverE = 0.367879441f;
constexpr float kSin1 = 0.841470985f, kCos1 = 0.540302306f;

using detail::Op;

// Derivatives at 0, 1, -1, inf, -inf and NaN.
#define AT_SIX(op, at_0, at_1, at_minus_1, at_inf, at_minus_inf, at_nan)                          \
  {op, 0, 0, at_0, 0}, {op, 1, 0, at_1, 0}, {op, -1, 0, at_minus_1, 0}, {op, kInf, 0, at_inf, 0}, \
      {op, -kInf, 0, at_minus_inf, 0}, {                                                          \
    op, kNaN, 0, at_nan, 0                                                                        \
  }

constexpr SingularPoint kPoints[] = {
    AT_SIX(Op::neg, -1, -1, -1, -1, -1, -1),
    AT_SIX(Op::abs, 0, 1, -1, 1, -1, kNaN),
    AT_SIX(Op::sign, 0, 0, 0, 0, 0, 0),
    AT_SIX(Op::round, 0, 0, 0, 0, 0, 0),
    AT_SIX(Op::floor, 0, 0, 0, 0, 0, 0),
    AT_SIX(Op::exp, 1, kE, kOneOverE, kInf, 0, kNaN),
    AT_SIX(Op::expm1, 1, kE, kOneOverE, kInf, 0, kNaN),
    AT_SIX(Op::log, kInf, 1, -1, 0, -0.0f, kNaN),
    AT_SIX(Op::log1p, 1, 0.5f, kInf, 0, -0.0f, kNaN),
    AT_SIX(Op::sqrt, 0, 0.5f, kNaN, 0, kNaN, kNaN),
    AT_SIX(Op::tanh, 1, 0.419974342f, 0.419974342f, 0, 0, kNaN),
    AT_SIX(Op::erf, 1.12837917f, kErf1, kErf1, 0, 0, kNaN),
    AT_SIX(Op::sin, 1, kCos1, kCos1, kNaN, kNaN, kNaN),
    AT_SIX(Op::cos, 0, -kSin1, kSin1, kNaN, kNaN, kNaN),
    // Rows of two operands.
    {Op::add, kInf, 0, 1, 1},
    {Op::sub, 0, kNaN, 1, -1},  //
    {Op::mul, 0, kInf, kInf, 0},
    {Op::mul, kNaN, 0, 0, kNaN},
    {Op::div, 1, 0, kInf, -kInf},
    {Op::div, 0, 1, 1, 0},
    {Op::div, 1, kInf, 0, 0},
    {Op::pow, 0, 0, 0, 0},
    {Op::pow, 0, 2, 0, 0},
    {Op::pow, 2, 0, 0, 0.693147181f},
    {Op::pow, -1, 2, -2, 0},
    {Op::pow, 1, kInf, kInf, 0},
    {Op::pow, 0, 1, 1, 0},
    {Op::max, 1, 1, 0, 1},
    {Op::max, kNaN, 0, 0, 1},
    {Op::max, 2, 1, 1, 0},
    {Op::min, 1, 1, 0, 1},
    {Op::min, -1, 1, 1, 0},
    {Op::min, -kInf, kInf, 1, 0},
    {Op::mod, 5, 3, 1, -1},
    {Op::floor_div, 5, 3, 0, 0},
};
#undef AT_SIX

}  // namespace

std::span<const SingularPoint> singular_points() { return kPoints; }

}  // namespace sluice::conformance
