// One line per row of the op table: its value by the C++ library or by definition, and the range to sample. A row
// without a line here does not compile.
#include "op_reference.hpp"

#include <cmath>

namespace sluice::test {
namespace {

double nan_or(double x, double y, double value) { return std::isnan(x) || std::isnan(y) ? NAN : value; }
/// The quotient as the type at hand rounds it: the sampled operands are floats.
double float_quotient(double x, double y) { return static_cast<double>(static_cast<float>(x / y)); }
double floored_mod(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && std::signbit(r) != std::signbit(y) ? r + y : r;
}

#define REFERENCE(name, expression, low, high)          \
  struct Reference_##name {                             \
    static double value(double x, double y, double z) { \
      (void)x, (void)y, (void)z;                        \
      return expression;                                \
    }                                                   \
    static constexpr double kLow = low, kHigh = high;   \
  };

REFERENCE(add, x + y, -100, 100)
REFERENCE(sub, x - y, -100, 100)
REFERENCE(mul, x* y, -100, 100)
REFERENCE(div, x / y, -100, 100)
REFERENCE(floor_div, std::floor(float_quotient(x, y)), -100, 100)
REFERENCE(mod, floored_mod(x, y), -100, 100)
REFERENCE(pow, std::pow(x, y), 0, 20)
REFERENCE(max, nan_or(x, y, x > y ? x : y), -100, 100)
REFERENCE(min, nan_or(x, y, x < y ? x : y), -100, 100)
REFERENCE(lt, std::isless(x, y), -2, 2)
REFERENCE(le, std::islessequal(x, y), -2, 2)
REFERENCE(eq, std::islessequal(x, y) && std::isgreaterequal(x, y), -2, 2)
REFERENCE(logical_and, x != 0 && y != 0, -2, 2)
REFERENCE(logical_or, x != 0 || y != 0, -2, 2)
REFERENCE(logical_not, !(x != 0), -2, 2)
REFERENCE(where, x != 0 ? y : z, -2, 2)
REFERENCE(isnan, std::isnan(x), -2, 2)
REFERENCE(neg, std::copysign(x, std::signbit(x) ? 1.0 : -1.0), -100, 100)
REFERENCE(abs, std::fabs(x), -100, 100)
REFERENCE(sign, std::isnan(x) || x == 0 ? x : std::copysign(1.0, x), -2, 2)
REFERENCE(round, std::nearbyint(x), -10, 10)
REFERENCE(floor, std::floor(x), -10, 10)
REFERENCE(exp, std::exp(x), -90, 90)
REFERENCE(expm1, std::expm1(x), -20, 20)
REFERENCE(log, std::log(x), 0, 10)
REFERENCE(log1p, std::log1p(x), -1, 10)
REFERENCE(sqrt, std::sqrt(x), 0, 100)
REFERENCE(tanh, std::tanh(x), -10, 10)
REFERENCE(erf, std::erf(x), -5, 5)
REFERENCE(sin, std::sin(x), -10000, 10000)
REFERENCE(cos, std::cos(x), -10000, 10000)

constexpr bool kDifferentiable_same = true, kDifferentiable_truth = false;

}  // namespace

const std::vector<OpReference>& op_references() {
  static const std::vector<OpReference> all = {
#define SLUICE_ROW(name, arity, kind, result, ...)                                                                  \
  {detail::Op::name,        #name, arity, Reference_##name::value, Reference_##name::kLow, Reference_##name::kHigh, \
   kDifferentiable_##result},
      SLUICE_OPS(SLUICE_ROW)
#undef SLUICE_ROW
  };
  return all;
}

}  // namespace sluice::test
