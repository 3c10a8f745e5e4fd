// Gradients of models.
//
//   auto [loss, grads] = withgradient([&](auto& m) { return mse(m(x), y); }, model);   // grads is a Net
//
// The function is called with a shallow copy of the model whose parameters are tracked, so a const model may be
// differentiated by several threads. What layers keep in buffers and counters while training (running means, Dropout's
// place in its stream) is put back into a model that is not const; a const one keeps its state, so its Dropout repeats
// its masks.
#pragma once

#include <array>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "sluice/model.hpp"

namespace sluice::inline v0 {

/// What a function gave, detached, and the gradient of its (first) result: of the model's type, with empty tensors
/// where nothing flows. Of tied tensors the first place holds the whole gradient, the others are empty.
template <class V, class G>
struct ValueAndGradient {
  V value;
  G grad;
};

}  // namespace sluice::inline v0

namespace sluice::detail {

/// One call of `withgradient`: the tape and what it tracks of each model.
class SLUICE_API GradientCall {
 public:
  GradientCall();
  ~GradientCall();
  GradientCall(const GradientCall&) = delete;
  GradientCall& operator=(const GradientCall&) = delete;

  /// Tracks the parameters of `copy`, whose shared pointers are cloned first.
  void track(ModelRef copy);
  /// Throws ShapeError unless `loss` has no dimensions.
  void backward(const Tensor& loss);
  /// Turns the next of the tracked copies, in order, into its gradient.
  void make_gradient(ModelRef copy);

 private:
  Tape tape_;
  std::vector<std::vector<Tensor>> tracked_;  // for every place: what is tracked there, empty where nothing is or a tie
  std::size_t next_ = 0;
};

/// Buffers and counters of `model` take the values of those of `copy`.
SLUICE_API void put_back(ModelRef model, ModelRef copy);

template <class V>
const Tensor& loss_of(const V& value) {
  if constexpr (std::is_same_v<V, Tensor>) {
    return value;
  } else {
    static_assert(TupleLike<V>, "the function returns its loss, a Tensor, or a tuple whose first element is the loss");
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(std::get<0>(value))>, Tensor>,
                  "the first element of the tuple is the loss, a Tensor");
    return std::get<0>(value);
  }
}

/// Tensors in a result lose their place on the tape, which is about to end.
template <class V>
void detach_all(V& value) {
  if constexpr (std::is_same_v<V, Tensor>) {
    value.set_slot({});
  } else if constexpr (TupleLike<V>) {
    std::apply([](auto&... each) { (detach_all(each), ...); }, value);
  } else if constexpr (std::is_same_v<V, std::vector<Tensor>>) {
    for (Tensor& each : value) each.set_slot({});
  }
}

/// x -> y elementwise by `forward`, whose gradient is `pullback`, a function of x, y and the incoming gradient.
SLUICE_API Tensor apply_with_pullback(const Function& forward, Function pullback, const Tensor& x);

template <class M>
void put_back_state(M& model, ModelRef copy) {
  if constexpr (!std::is_const_v<M>) put_back(model_ref(model), copy);
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// The value of f(models...) and its gradient: one model gives a gradient of its type, several a tuple. f returns the
/// loss, a tensor without dimensions, or a tuple that begins with it.
template <class F, class... M>
  requires(sizeof...(M) > 0)
auto withgradient(F&& f, M&&... models) {
  static_assert((std::is_copy_constructible_v<std::remove_cvref_t<M>> && ...),
                "gradient works on a copy of the model, and this one cannot be copied");
  std::tuple<std::remove_cvref_t<M>...> copies(std::as_const(models)...);
  auto value = std::apply(
      [&](auto&... copy) {
        detail::GradientCall call;
        (call.track(detail::model_ref(copy)), ...);
        auto result = std::invoke(f, copy...);
        call.backward(detail::loss_of(result));
        detail::detach_all(result);
        (detail::put_back_state<std::remove_reference_t<M>>(models, detail::model_ref(copy)), ...);
        (call.make_gradient(detail::model_ref(copy)), ...);
        return result;
      },
      copies);
  if constexpr (sizeof...(M) == 1) {
    using Gradient = std::tuple_element_t<0, decltype(copies)>;
    return ValueAndGradient<decltype(value), Gradient>{std::move(value), std::get<0>(std::move(copies))};
  } else {
    return ValueAndGradient<decltype(value), decltype(copies)>{std::move(value), std::move(copies)};
  }
}

/// The gradient alone.
template <class F, class... M>
auto gradient(F&& f, M&&... models) {
  return withgradient(std::forward<F>(f), std::forward<M>(models)...).grad;
}

/// A scalar function with a derivative of the user's own; what `with_derivative` makes.
template <class F, class D>
struct WithDerivative {
  F function;
  D derivative;

  Tensor operator()(const Tensor& x) const {
    const auto pullback = [this](Expr v, Expr y, Expr g) -> Expr {
      if constexpr (std::is_invocable_v<const D&, Expr, Expr>) return g * derivative(v, y);
      else return (void)y, g * derivative(v);
    };
    return detail::apply_with_pullback(trace<1>(function), trace<3>(pullback), x);
  }
  std::string describe() const { return "<function>"; }
  SLUICE_FIELDS()
};

/// `f`, a function of one scalar, as a function of tensors (and a layer) whose derivative is `derivative(x)` or
/// `derivative(x, y)` with y = f(x):
///
///   const auto sign_through = with_derivative([](auto x) { return sign(x); }, [](auto) { return 1; });
template <class F, class D>
WithDerivative<F, D> with_derivative(F f, D derivative) {
  return {std::move(f), std::move(derivative)};
}

}  // namespace sluice::inline v0
