// Scalar programs and how a C++ lambda becomes one.
//
// A program is a short straight-line list of scalar operations with one or more outputs. `trace` calls a generic lambda
// once with symbolic values (Expr); what it does to them is the program:
//
//   Tensor y = map([](auto h, auto b) { return tanh(h + b); }, matmul(W, x), bias);   // one pass over memory
//
// An Expr does not convert to bool, so `if` and `?:` on it do not compile: write where(condition, a, b). Integers from
// -2 to 16 are part of the program; all other numbers are run-time parameters, so a learning rate that changes at every
// step never causes a compilation.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice/op_table.hpp"
#include "sluice/tape.hpp"

namespace sluice::inline v0 {

/// A number on its way into a program or an operation: remembers whether it was written as an integer.
struct Scalar {
  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T value)  // NOLINT(google-explicit-constructor): x * 2 is how it is written
      : is_floating(std::is_floating_point_v<T>),
        floating(static_cast<double>(value)),
        integer(std::is_floating_point_v<T> ? 0 : static_cast<std::int64_t>(value)) {}
  bool is_floating;
  double floating;
  std::int64_t integer;
};

}  // namespace sluice::inline v0

namespace sluice::detail {

enum class Op : std::uint16_t {
  input,     // operand[0] is its number
  param,     // operand[0] is its slot, operand[1] whether it is a floating number
  constant,  // operand[0] is the value + 2, values -2 ... 16
#define SLUICE_ROW(name, ...) name,
  SLUICE_OPS(SLUICE_ROW)
#undef SLUICE_ROW
      kCount
};

/// One operation of a program; operands are earlier nodes.
struct Node {
  Op op;
  std::array<std::uint16_t, 3> operand{};
  bool operator==(const Node&) const = default;
};

class Program;

/// The interned program of this structure: equal structures give the same pointer, which lives for ever. Parameter
/// slots are the caller's first, then those whose values the program brings itself.
SLUICE_API const Program* intern(std::span<const Node> nodes, std::span<const std::uint16_t> outputs, int inputs,
                                 int caller_params, std::span<const Scalar> own_params);

/// The trace in progress on this thread. One at a time: tracing inside a trace throws.
class SLUICE_API Trace {
 public:
  explicit Trace(int inputs);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void output(std::uint16_t node);
  /// The finished program.
  const Program* program();
  /// Values of its parameters, in slot order. Valid until the next trace of this thread.
  std::span<const Scalar> params() const;

  // For the derivative, which builds on a program that exists.
  void reserve_params(int caller_params, std::span<const Scalar> own_params);
  const std::vector<Node>& nodes() const;
  const std::vector<std::uint16_t>& outputs() const;

  /// Adds a node to this thread's trace, or finds an equal one. Throws ArgumentError outside a trace.
  static std::uint16_t emit(Node node);
  static std::uint16_t emit(const Scalar& value);

 private:
  int inputs_;
};

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// A symbolic value inside a trace. Numbers convert to it; it converts to nothing.
class SLUICE_API Expr {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  Expr(T value) : id_(detail::Trace::emit(Scalar(value))) {}      // NOLINT(google-explicit-constructor)
  Expr(const Scalar& value) : id_(detail::Trace::emit(value)) {}  // NOLINT(google-explicit-constructor)
  static Expr node(std::uint16_t id) { return Expr(id, 0); }
  std::uint16_t id() const { return id_; }

  /// Would decide at trace time what must be decided per element: use where(condition, a, b).
  explicit operator bool() const = delete;

#define SLUICE_FRIEND_1(name) friend SLUICE_API Expr name(Expr x);
#define SLUICE_FRIEND_2(name) friend SLUICE_API Expr name(Expr x, Expr y);
#define SLUICE_FRIEND_3(name) friend SLUICE_API Expr name(Expr x, Expr y, Expr z);
#define SLUICE_ROW(name, arity, ...) SLUICE_FRIEND_##arity(name)
  SLUICE_OPS(SLUICE_ROW)
#undef SLUICE_ROW
#undef SLUICE_FRIEND_1
#undef SLUICE_FRIEND_2
#undef SLUICE_FRIEND_3

  friend Expr operator+(Expr a, Expr b) { return add(a, b); }
  friend Expr operator-(Expr a, Expr b) { return sub(a, b); }
  friend Expr operator*(Expr a, Expr b) { return mul(a, b); }
  friend Expr operator/(Expr a, Expr b) { return div(a, b); }
  friend Expr operator-(Expr a) { return neg(a); }
  friend Expr operator+(Expr a) { return a; }
  friend Expr operator<(Expr a, Expr b) { return lt(a, b); }
  friend Expr operator<=(Expr a, Expr b) { return le(a, b); }
  friend Expr operator>(Expr a, Expr b) { return lt(b, a); }
  friend Expr operator>=(Expr a, Expr b) { return le(b, a); }
  friend Expr operator==(Expr a, Expr b) { return eq(a, b); }
  friend Expr operator!=(Expr a, Expr b) { return logical_not(eq(a, b)); }
  // The built-in && and || decide at once, which a trace cannot: & and | combine conditions.
  friend Expr operator&(Expr a, Expr b) { return logical_and(a, b); }
  friend Expr operator|(Expr a, Expr b) { return logical_or(a, b); }
  friend Expr operator!(Expr a) { return logical_not(a); }
  friend Expr clamp(Expr x, Expr low, Expr high) { return min(max(x, low), high); }

 private:
  Expr(std::uint16_t id, int) : id_(id) {}
  std::uint16_t id_;
};

// The one-operand functions by name as well, so that `Dense(64, 32, tanh)` can choose among overloads.
#define SLUICE_DECLARE_1(name) SLUICE_API Expr name(Expr x);
#define SLUICE_DECLARE_2(name)
#define SLUICE_DECLARE_3(name)
#define SLUICE_ROW(name, arity, ...) SLUICE_DECLARE_##arity(name)
SLUICE_OPS(SLUICE_ROW)
#undef SLUICE_ROW
#undef SLUICE_DECLARE_1
#undef SLUICE_DECLARE_2
#undef SLUICE_DECLARE_3

}  // namespace sluice::inline v0

namespace sluice::detail {

template <class T>
concept TupleLike = requires { std::tuple_size<std::remove_cvref_t<T>>::value; };

/// What a traced function returned, as outputs of the trace.
template <class R>
void add_outputs(Trace& trace, const R& result) {
  if constexpr (TupleLike<R>) {
    std::apply([&](const auto&... each) { (trace.output(Expr(each).id()), ...); }, result);
  } else {
    static_assert(std::is_convertible_v<R, Expr>,
                  "a traced function returns a number, a traced value, or a tuple or array of them; tensors cannot be "
                  "captured, pass them as arguments");
    trace.output(Expr(result).id());
  }
}

template <class R>
constexpr std::size_t output_count() {
  if constexpr (TupleLike<R>) return std::tuple_size_v<std::remove_cvref_t<R>>;
  else return 1;
}

/// Calls `f` with the inputs of `trace`.
template <std::size_t N, class F>
decltype(auto) call_traced(F&& f) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
    return f(((void)I, Expr::node(Trace::emit(Node{Op::input, {static_cast<std::uint16_t>(I)}})))...);
  }(std::make_index_sequence<N>{});
}

template <std::size_t N, class F>
using TracedResult = decltype(call_traced<N>(std::declval<F&>()));

/// A map from operands to outputs with the same structure: what `map` and the pullbacks run.
/// `inputs` are given away: a sole-owned one may become an output.
SLUICE_API std::vector<Tensor> map_program(const Program* program, std::span<const Scalar> params,
                                           std::span<Tensor> inputs);
SLUICE_API Tensor map_program1(const Program* program, std::span<const Scalar> params, std::span<Tensor> inputs);

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// A traced function kept with the values its parameters had: what an activation or an optimiser rule holds.
class SLUICE_API Function {
 public:
  Function() = default;
  Function(const detail::Program* program, std::vector<Scalar> params)
      : program_(program), params_(std::move(params)) {}
  const detail::Program* program() const { return program_; }
  std::span<const Scalar> params() const { return params_; }
  explicit operator bool() const { return program_ != nullptr; }

 private:
  const detail::Program* program_ = nullptr;
  std::vector<Scalar> params_;
};

/// Traces `f`, a function of N scalars.
template <std::size_t N, class F>
Function trace(F&& f) {
  detail::Trace trace(static_cast<int>(N));
  detail::add_outputs(trace, detail::call_traced<N>(f));
  const detail::Program* program = trace.program();
  const std::span<const Scalar> params = trace.params();
  return Function(program, {params.begin(), params.end()});
}

/// `f` applied to the elements of the broadcast operands, one pass over memory. Returns a Tensor, or an array of them
/// if `f` returns several values. A tensor given as an rvalue may be overwritten.
///
///   auto [s, d] = map([](auto a, auto b) { return std::tuple(a + b, a - b); }, x, y);
template <class F, class... T>
  requires(sizeof...(T) > 0 && (std::is_same_v<std::remove_cvref_t<T>, Tensor> && ...))
auto map(F&& f, T&&... x) {
  constexpr std::size_t kInputs = sizeof...(T);
  using Result = detail::TracedResult<kInputs, F>;
  detail::Trace trace(static_cast<int>(kInputs));
  detail::add_outputs(trace, detail::call_traced<kInputs>(f));
  std::array<Tensor, kInputs> inputs{std::forward<T>(x)...};
  const detail::Program* program = trace.program();
  if constexpr (detail::TupleLike<Result>) {
    std::vector<Tensor> outputs = detail::map_program(program, trace.params(), inputs);
    std::array<Tensor, detail::output_count<Result>()> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::move(outputs[i]);
    return all;
  } else {
    return detail::map_program1(program, trace.params(), inputs);
  }
}

/// A scalar function that is a tensor function as well: relu(expr) becomes part of a program, relu(tensor) is one pass.
template <class F>
struct Pointwise {
  F function;
  const char* label;  // what printing shows

  template <class... E>
    requires(sizeof...(E) > 0 && ((std::is_convertible_v<E, Expr> && ...)))
  Expr operator()(const E&... x) const {
    return function(Expr(x)...);
  }
  template <class... T>
    requires(sizeof...(T) > 0 && (std::is_same_v<std::remove_cvref_t<T>, Tensor> && ...))
  Tensor operator()(T&&... x) const {
    return map(function, std::forward<T>(x)...);
  }
};
template <class F>
Pointwise(F, const char*) -> Pointwise<F>;

}  // namespace sluice::inline v0
