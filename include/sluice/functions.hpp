// Activation functions and what else is used as a layer without parameters.
//
// Each is a Pointwise object: relu(tensor) is one pass, relu(expr) becomes part of a program, and Dense(64, 32, relu)
// is one pass with its bias. tanh, exp and the like are functions (expr.hpp, ops.hpp) and are used the same way. All
// are right to rounding for large arguments, where neither values nor gradients overflow, and pass NaN on.
#pragma once

#include <string>

#include "sluice/gradient.hpp"
#include "sluice/ops.hpp"

namespace sluice::detail {
// Conditions instead of min, max and abs where the derivative at 0 counts.

/// -|x|; the derivative at 0 is 1.
inline Expr minus_abs(Expr x) { return where(x > 0, -x, x); }
/// x where it is not positive, else 0; the derivative at 0 is 1.
inline Expr negative_part(Expr x) { return where(x > 0, 0, x); }
/// log(1 + exp(x))
inline Expr softplus_of(Expr x) { return max(x, 0) + log1p(exp(minus_abs(x))); }
/// 1 / (1 + exp(-x))
inline Expr sigmoid_of(Expr x) {
  const Expr e = exp(minus_abs(x));
  return where(x > 0, 1, e) / (1 + e);
}
/// x * gate, 0 where the gate is closed even if x is infinite.
inline Expr gated(Expr x, Expr gate) { return where(gate == 0, 0, x * gate); }
}  // namespace sluice::detail

namespace sluice::inline v0 {

inline constexpr Pointwise identity{[](Expr x) { return x; }, "identity"};
/// 1 / (1 + exp(-x))
inline constexpr Pointwise sigmoid{[](Expr x) { return detail::sigmoid_of(x); }, "sigmoid"};
/// (x + 3) / 6 within 0 and 1
inline constexpr Pointwise hardsigmoid{[](Expr x) { return clamp((x + 3) / 6, 0, 1); }, "hardsigmoid"};
/// log(sigmoid(x))
inline constexpr Pointwise logsigmoid{[](Expr x) { return -detail::softplus_of(-x); }, "logsigmoid"};
/// x within -1 and 1
inline constexpr Pointwise hardtanh{[](Expr x) { return clamp(x, -1, 1); }, "hardtanh"};
/// max(x, 0)
inline constexpr Pointwise relu{[](Expr x) { return max(x, 0); }, "relu"};
/// x, or slope * x below 0; the derivative at 0 is the slope.
inline constexpr Pointwise leakyrelu{[](Expr x, Expr slope = 0.01) { return where(x > 0, x, slope * x); }, "leakyrelu"};
/// x within 0 and 6
inline constexpr Pointwise relu6{[](Expr x) { return clamp(x, 0, 6); }, "relu6"};
/// x, or alpha * (exp(x) - 1) below 0
inline constexpr Pointwise elu{
    [](Expr x, Expr alpha = 1) { return where(x > 0, x, alpha * expm1(detail::negative_part(x))); }, "elu"};
/// x times the normal distribution function, by tanh: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
inline constexpr Pointwise gelu{[](Expr x) {
                                  const Expr c = clamp(x, -100, 100);  // its cube must not overflow
                                  const Expr u = 1.5957691216057308 * c * (1 + 0.044715 * c * c);
                                  return detail::gated(x, detail::sigmoid_of(u));
                                },
                                "gelu"};
/// x times the normal distribution function: 0.5 x (1 + erf(x / sqrt(2)))
inline constexpr Pointwise gelu_erf{[](Expr x) { return detail::gated(x, 0.5 * (1 + erf(0.7071067811865476 * x))); },
                                    "gelu_erf"};
/// x * sigmoid(x)
inline constexpr Pointwise swish{[](Expr x) { return detail::gated(x, detail::sigmoid_of(x)); }, "swish"};
/// x * hardsigmoid(x)
inline constexpr Pointwise hardswish{[](Expr x) { return detail::gated(x, clamp((x + 3) / 6, 0, 1)); }, "hardswish"};
/// x * tanh(x)
inline constexpr Pointwise lisht{[](Expr x) { return x * tanh(x); }, "lisht"};
/// Scaled so that a layer of normal inputs gives normal outputs.
inline constexpr Pointwise selu{
    [](Expr x) { return 1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * expm1(detail::negative_part(x))); },
    "selu"};
/// x, or alpha * (exp(x / alpha) - 1) below 0
inline constexpr Pointwise celu{
    [](Expr x, Expr alpha = 1) { return where(x > 0, x, alpha * expm1(detail::negative_part(x) / alpha)); }, "celu"};
/// x above theta, else 0
inline constexpr Pointwise trelu{[](Expr x, Expr theta = 1) { return where(x <= theta, 0, x); }, "trelu"};
/// x / (1 + |x|)
inline constexpr Pointwise softsign{[](Expr x) { return x / (1 + abs(x)); }, "softsign"};
/// log(1 + exp(x))
inline constexpr Pointwise softplus{[](Expr x) { return detail::softplus_of(x); }, "softplus"};
/// log(cosh(x))
inline constexpr Pointwise logcosh{[](Expr x) {
                                     const Expr a = abs(x);
                                     return a + log1p(expm1(-2 * a) / 2);
                                   },
                                   "logcosh"};
/// x * tanh(softplus(x))
inline constexpr Pointwise mish{[](Expr x) { return detail::gated(x, tanh(detail::softplus_of(x))); }, "mish"};
/// x - tanh(x)
inline constexpr Pointwise tanhshrink{[](Expr x) { return x - tanh(x); }, "tanhshrink"};
/// x drawn towards 0 by lambda, 0 within it
inline constexpr Pointwise softshrink{[](Expr x, Expr lambda = 0.5) { return min(max(x - lambda, 0), x + lambda); },
                                      "softshrink"};

/// Leaky relu whose slope is drawn from [1/8, 1/3) per element while a gradient is taken, and is their mean 11/48
/// otherwise. As the activation of a layer it always has the mean slope.
struct RandomRelu {
  static constexpr const char* label = "rrelu";
  SLUICE_API Tensor operator()(const Tensor& x) const;
  Expr operator()(Expr x) const { return where(x > 0, x, 11.0 / 48.0 * x); }
  SLUICE_FIELDS()
  std::string describe() const { return label; }
};
inline constexpr RandomRelu rrelu{};

/// The first half of dimension `dim` times the sigmoid of the second.
SLUICE_API Tensor glu(const Tensor& x, int dim = 0);

/// All but the last dimension in one, as a layer.
struct Flatten {
  Tensor operator()(const Tensor& x) const { return flatten_batch(x); }
  std::string describe() const { return "flatten"; }
};
inline constexpr Flatten flatten{};

/// The activation of a layer: a traced function and its name. Made from a Pointwise object, from a function of the op
/// table such as tanh, or from a lambda of one traced value.
class SLUICE_API Activation {
 public:
  /// identity
  Activation();
  Activation(Expr (*function)(Expr));  // NOLINT(google-explicit-constructor): Dense(64, 32, tanh)
  template <class F>
    requires(std::is_class_v<F> && !std::is_same_v<F, Activation> && std::is_invocable_r_v<Expr, const F&, Expr>)
  Activation(const F& f) : function_(trace<1>([&f](Expr x) { return f(x); })) {  // NOLINT(google-explicit-constructor)
    if constexpr (requires { std::string(f.label); }) name_ = f.label;
  }

  Tensor operator()(Tensor x) const;
  /// Inside a trace, so that it fuses with what is around it.
  Expr operator()(Expr x) const;
  const std::string& name() const { return name_; }
  bool is_identity() const { return name_ == "identity"; }
  std::string describe() const { return name_; }
  SLUICE_FIELDS()

 private:
  Function function_;
  std::string name_ = "<function>";
};

}  // namespace sluice::inline v0

namespace sluice::detail {
/// The only output of `function`, of one input, as part of the trace in progress.
SLUICE_API Expr inlined(const Function& function, Expr x);
}  // namespace sluice::detail
