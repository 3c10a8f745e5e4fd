// One line per row of the op table: its value by the C++ library or by definition, and the range to sample. A row
// without a line here does not compile.
#include "tools/sluice/conformance_rows.hpp"

#include <cmath>

namespace sluice::conformance {
namespace {

template <class T>
T nan_or(T x, T y, T value) {
  return std::isnan(x) || std::isnan(y) ? T(NAN) : value;
}
template <class T>
T floored_mod(T x, T y) {
  const T r = std::fmod(x, y);
  return r != 0 && std::signbit(r) != std::signbit(y) ? r + y : r;
}
/// In double the quotient as a float rounds it, for operands that are floats.
double quotient(double x, double y) { return static_cast<double>(static_cast<float>(x / y)); }
long double quotient(long double x, long double y) { return x / y; }

#define REFERENCE(name, expression, low, high)        \
  struct Reference_##name {                           \
    template <class T>                                \
    static T value(T x, T y, T z) {                   \
      (void)x, (void)y, (void)z;                      \
      return static_cast<T>(expression);              \
    }                                                 \
    static constexpr double kLow = low, kHigh = high; \
  };

REFERENCE(add, x + y, -100, 100)
REFERENCE(sub, x - y, -100, 100)
REFERENCE(mul, x* y, -100, 100)
REFERENCE(div, x / y, -100, 100)
REFERENCE(floor_div, std::floor(quotient(x, y)), -100, 100)
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
REFERENCE(neg, std::copysign(x, std::signbit(x) ? T(1) : T(-1)), -100, 100)
REFERENCE(abs, std::fabs(x), -100, 100)
REFERENCE(sign, std::isnan(x) || x == 0 ? x : std::copysign(T(1), x), -2, 2)
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
#define SLUICE_ROW(name, arity, kind, result, ...) \
  {detail::Op::name,                               \
   #name,                                          \
   arity,                                          \
   Reference_##name::value<double>,                \
   Reference_##name::value<long double>,           \
   Reference_##name::kLow,                         \
   Reference_##name::kHigh,                        \
   RowKind::kind,                                  \
   kDifferentiable_##result},
      SLUICE_OPS(SLUICE_ROW)
#undef SLUICE_ROW
  };
  return all;
}

const OpReference& op_reference(detail::Op op) {
  constexpr auto kFirst = static_cast<std::size_t>(detail::Op::constant) + 1;
  return op_references()[static_cast<std::size_t>(op) - kFirst];
}

}  // namespace sluice::conformance
