// Optimisers: rules, the state they keep for a model, and the step.
//
//   auto state = setup(Adam{.eta = 1e-3}, model);
//   auto [loss, grads] = withgradient([&](auto& m) { return mse(m(x), y); }, model);
//   update(state, model, grads);
//   adjust(state, 1e-4);           // a new learning rate; costs nothing
//   freeze(state, "hidden");       // "hidden.weight" and "hidden.bias" stay as they are
//
// A rule is a struct of numbers with a formula for one element: `step` turns the gradient into what is subtracted from
// the parameter. One step of one parameter is one pass over memory, with everything in a chain of rules in it.
//
//   struct SignDescent {
//     double eta = 0.01;
//     static constexpr int states = 1;                  // tensors of the parameter's size, zeros at first
//     Expr step(Expr x, Expr g, std::array<Expr, 1>& s) const {
//       s[0] = 0.9 * s[0] + 0.1 * g;
//       return eta * sign(s[0]);
//     }
//     SLUICE_FIELDS(eta)                                // the numbers that `adjust` can change
//   };
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/model.hpp"
#include "sluice/ops.hpp"

namespace sluice::inline v0 {

/// What a rule may want to know besides the element at hand.
struct SLUICE_API StepInfo {
  std::int64_t step = 1;             ///< number of the step, 1 at the first
  DType dtype = f32;                 ///< of the parameter; f16 and bf16 are computed in f32, and so are their states
  std::optional<Expr> reduced = {};  ///< what `prepare` asked for, for a rule that has it

  /// `value`, but never so small that it would be 0 where the step is computed; at least 1e-7 for f16.
  double epsilon(double value) const;
};

/// What a rule wants to know about the whole gradient of a parameter before the step: `combine` of `term` over its
/// elements.
struct Prepared {
  Expr term;
  Combine combine = Combine::sum;
  bool must_be_finite = false;  ///< the update throws if the result is not; costs a read from the device
};

/// x - eta g
struct SLUICE_API Descent {
  double eta = 0.1;
  static constexpr int states = 0;
  Expr step(Expr x, Expr g) const;
  SLUICE_FIELDS(eta)
};

/// Descent with a velocity: v = rho v + eta g; x - v
struct SLUICE_API Momentum {
  double eta = 0.01;
  double rho = 0.9;
  static constexpr int states = 1;
  Expr step(Expr x, Expr g, std::array<Expr, 1>& s) const;
  SLUICE_FIELDS(eta, rho)
};

/// Momentum with the gradient taken ahead.
struct SLUICE_API Nesterov {
  double eta = 0.001;
  double rho = 0.9;
  static constexpr int states = 1;
  Expr step(Expr x, Expr g, std::array<Expr, 1>& s) const;
  SLUICE_FIELDS(eta, rho)
};

/// Gradient over the root of a running mean of its squares, or of its variance if `centred`.
struct SLUICE_API RMSProp {
  double eta = 0.001;
  double rho = 0.9;
  double epsilon = 1e-8;
  bool centred = false;
  static constexpr int states = 2;
  int used_states() const { return centred ? 2 : 1; }
  Expr step(Expr x, Expr g, std::array<Expr, 2>& s, const StepInfo& t) const;
  SLUICE_FIELDS(eta, rho, epsilon)
};

/// Running mean of the gradient over the root of that of its squares, both corrected for their start at zero.
struct SLUICE_API Adam {
  double eta = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  static constexpr int states = 2;
  Expr step(Expr x, Expr g, std::array<Expr, 2>& s, const StepInfo& t) const;
  void check() const;
  SLUICE_FIELDS(eta, beta1, beta2, epsilon)
};

/// Adam with decoupled weight decay: eta (adam + lambda x) if `couple`, else eta adam + lambda x.
struct SLUICE_API AdamW {
  double eta = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double lambda = 0;
  double epsilon = 1e-8;
  bool couple = true;
  static constexpr int states = 2;
  Expr step(Expr x, Expr g, std::array<Expr, 2>& s, const StepInfo& t) const;
  void check() const;
  SLUICE_FIELDS(eta, beta1, beta2, lambda, epsilon)
};

/// For a chain: g + lambda x
struct SLUICE_API WeightDecay {
  double lambda = 5e-4;
  static constexpr int states = 0;
  Expr step(Expr x, Expr g) const;
  SLUICE_FIELDS(lambda)
};

/// For a chain: g within -delta and delta
struct SLUICE_API ClipGrad {
  double delta = 10;
  static constexpr int states = 0;
  Expr step(Expr x, Expr g) const;
  SLUICE_FIELDS(delta)
};

/// For a chain: g scaled down so that the p-norm of each array is at most omega. Unless `throws` is false, a norm of
/// Inf or NaN throws ArgumentError before anything is changed; this check waits for the device.
struct SLUICE_API ClipNorm {
  double omega = 10;
  double p = 2;
  bool throws = true;
  static constexpr int states = 0;
  Prepared prepare(Expr x, Expr g) const;
  Expr step(Expr x, Expr g, const StepInfo& t) const;
  void check() const;
  SLUICE_FIELDS(omega, p)

 private:
  double scale() const;
};

}  // namespace sluice::inline v0

namespace sluice::detail {

template <class R>
concept StepsWithAll = requires(const R& r, Expr x, std::array<Expr, R::states>& s, const StepInfo& t) {
  { r.step(x, x, s, t) } -> std::convertible_to<Expr>;
};
template <class R>
concept StepsWithStates = requires(const R& r, Expr x, std::array<Expr, R::states>& s) {
  { r.step(x, x, s) } -> std::convertible_to<Expr>;
};
template <class R>
concept StepsWithInfo = requires(const R& r, Expr x, const StepInfo& t) {
  { r.step(x, x, t) } -> std::convertible_to<Expr>;
};
template <class R>
concept StepsAlone = requires(const R& r, Expr x) {
  { r.step(x, x) } -> std::convertible_to<Expr>;
};

inline constexpr std::size_t kMaxRuleStates = 16;

// What a rule may have besides.
template <class R>
concept CountsItsStates = requires(const R& r) {
  { r.used_states() } -> std::convertible_to<int>;
};
template <class R>
concept HasInitialStates = requires(const R& r) {
  { r.initial(0) } -> std::convertible_to<double>;
};
template <class R>
concept Prepares = requires(const R& r, Expr x) {
  { r.prepare(x, x) } -> std::convertible_to<Prepared>;
};
template <class R>
concept ChecksItself = requires(const R& r) { r.check(); };

/// What a rule can do, its type forgotten.
struct RuleTable {
  struct Field {
    std::string_view name;
    double* value;
  };
  std::string_view name;
  int (*states)(const void* rule);
  double (*initial)(const void* rule, int state);
  Expr (*step)(const void* rule, Expr x, Expr g, Expr* states, const StepInfo& info);
  Prepared (*prepare)(const void* rule, Expr x, Expr g);  // null for most
  void (*check)(const void* rule);                        // null for some
  std::vector<Field> (*fields)(void* rule);
  std::shared_ptr<void> (*copy)(const void* rule);
};

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// A struct of numbers with SLUICE_FIELDS, `states`, and a const `step(x, g)` that may also take the states and a
/// StepInfo. Optional: `prepare`, `used_states() <= states`, `initial(state)`, and `check()`, which throws on numbers
/// without sense.
template <class R>
concept OptimiserRule = requires {
  { R::states } -> std::convertible_to<int>;
} && (detail::StepsWithAll<R> || detail::StepsWithStates<R> || detail::StepsWithInfo<R> || detail::StepsAlone<R>);

}  // namespace sluice::inline v0

namespace sluice::detail {

template <class R>
Expr call_step(const R& rule, Expr x, Expr g, Expr* states, const StepInfo& info) {
  if constexpr (StepsWithAll<R> || StepsWithStates<R>) {
    constexpr auto kStates = static_cast<std::size_t>(R::states);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      std::array<Expr, kStates> s{states[I]...};
      const Expr dx = [&] {
        if constexpr (StepsWithAll<R>) return Expr(rule.step(x, g, s, info));
        else return Expr(rule.step(x, g, s));
      }();
      ((states[I] = s[I]), ...);
      return dx;
    }(std::make_index_sequence<kStates>{});
  } else if constexpr (StepsWithInfo<R>) {
    return rule.step(x, g, info);
  } else {
    return rule.step(x, g);
  }
}

template <class R>
std::vector<RuleTable::Field> rule_fields(void* rule) {
  static constexpr auto kNames = field_names<R>();
  std::vector<RuleTable::Field> found;
  std::size_t i = 0;
  const auto add = [&]<class T>(T& field) {
    if constexpr (std::is_same_v<T, double>) found.push_back({kNames[i], &field});
    ++i;
  };
  std::apply([&](auto&... field) { (add(field), ...); }, FieldAccess::fields(*static_cast<R*>(rule)));
  return found;
}

template <class R>
constexpr RuleTable make_rule_table() {
  static_assert(FieldAccess::declares<R>(),
                "an optimiser rule names its numbers: add SLUICE_FIELDS(eta, ...), or SLUICE_FIELDS(), to it");
  static_assert(R::states >= 0 && R::states <= static_cast<int>(kMaxRuleStates),
                "an optimiser rule keeps at most 16 tensors for a parameter");
  RuleTable table{};
  table.name = type_name<R>();
  table.states = [](const void* rule) -> int {
    if constexpr (CountsItsStates<R>) return static_cast<const R*>(rule)->used_states();
    else return static_cast<void>(rule), R::states;
  };
  table.initial = [](const void* rule, int state) -> double {
    if constexpr (HasInitialStates<R>) return static_cast<const R*>(rule)->initial(state);
    else return static_cast<void>(rule), static_cast<void>(state), 0;
  };
  table.step = [](const void* rule, Expr x, Expr g, Expr* states, const StepInfo& info) {
    return call_step(*static_cast<const R*>(rule), x, g, states, info);
  };
  if constexpr (Prepares<R>) {
    table.prepare = [](const void* rule, Expr x, Expr g) { return static_cast<const R*>(rule)->prepare(x, g); };
  }
  if constexpr (ChecksItself<R>) {
    table.check = [](const void* rule) { static_cast<const R*>(rule)->check(); };
  }
  table.fields = rule_fields<R>;
  table.copy = [](const void* rule) -> std::shared_ptr<void> {
    return std::make_shared<R>(*static_cast<const R*>(rule));
  };
  return table;
}

template <class R>
inline constexpr RuleTable kRuleTable = make_rule_table<R>();

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// Any rule, or several one after the other. An immutable value, cheap to copy.
class SLUICE_API Rule {
 public:
  /// Throws ArgumentError if the numbers make no sense: "the learning rate cannot be negative".
  template <OptimiserRule R>
  Rule(R rule)  // NOLINT(google-explicit-constructor): setup(Adam{}, model) is how it is written
      : Rule(&detail::kRuleTable<R>, std::make_shared<R>(std::move(rule))) {}
  /// The gradient passes through the rules in order.
  explicit Rule(std::span<const Rule> rules);

  /// Names and values of the numbers, those of a chain one after the other.
  std::vector<std::pair<std::string, double>> fields() const;
  bool has(std::string_view field) const;
  /// The rule with every number of that name changed. Throws ArgumentError if they make no sense.
  Rule with(std::string_view field, double value) const;
  /// The rule with other numbers: those of each rule of a chain in the order of `fields`. Throws as `with` does.
  Rule with(const std::vector<std::vector<double>>& numbers) const;
  /// Whether both are copies of one object.
  bool same(const Rule& other) const { return stages_ == other.stages_; }

  // For the update.
  struct Stage {
    const detail::RuleTable* table;
    std::shared_ptr<const void> rule;
  };
  std::span<const Stage> stages() const { return *stages_; }

 private:
  Rule(const detail::RuleTable* table, std::shared_ptr<const void> rule);
  std::shared_ptr<const std::vector<Stage>> stages_;
};

/// Rules one after the other, in one pass: OptimiserChain(ClipNorm{1}, WeightDecay{1e-4}, Adam{.eta = 1e-3})
class SLUICE_API OptimiserChain {
 public:
  template <class... R>
    requires(std::convertible_to<const R&, Rule> && ...)
  explicit OptimiserChain(const R&... rules) : rule_(std::array<Rule, sizeof...(R)>{Rule(rules)...}) {}
  operator Rule() const { return rule_; }  // NOLINT(google-explicit-constructor): as any other rule

 private:
  Rule rule_;
};

/// "Adam(eta = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-08)"
SLUICE_API std::ostream& operator<<(std::ostream& out, const Rule& rule);

/// What is kept for one parameter, tied places together.
struct OptimiserLeaf {
  std::vector<std::string> paths;  ///< of its places, "hidden.weight"
  Rule rule;
  std::vector<Tensor> tensors;  ///< of all stages, in order; f32 for f16 and bf16 parameters
  Counter steps;                ///< taken so far; a Counter, so that it is saved and loaded like the tensors
  bool frozen = false;

  std::int64_t step_count() const { return static_cast<std::int64_t>(steps.get().peek().call); }
};

/// From the parameters of a model to what the rule keeps for them. A value: `device(state)` moves it, and it is saved
/// like a model, under the paths of the parameters: tensors, step counts, the numbers of the rule and what is frozen.
class SLUICE_API OptimiserState {
 public:
  OptimiserState() = default;
  explicit OptimiserState(std::vector<OptimiserLeaf> leaves) : leaves_(std::move(leaves)) {}

  /// In the order of the parameters.
  std::span<const OptimiserLeaf> leaves() const { return leaves_; }
  std::span<OptimiserLeaf> leaves() { return leaves_; }
  /// The leaf of a parameter. Throws ArgumentError listing the paths.
  const OptimiserLeaf& at(std::string_view path) const;

  void sluice_visit(detail::LeafVisitor& visitor, std::string_view name, std::int64_t index);

 private:
  std::vector<OptimiserLeaf> leaves_;
};

}  // namespace sluice::inline v0

namespace sluice::detail {

SLUICE_API OptimiserState setup_model(const Rule& rule, ModelRef model);
SLUICE_API void update_model(OptimiserState& state, ModelRef model, ModelRef gradient);

template <class T>
inline constexpr bool kIsState = !std::convertible_to<const T&, Rule>;

template <class S>
constexpr void require_state() {
  static_assert(kIsState<S>,
                "this takes an optimiser state, not a rule: make it once with `auto state = setup(rule, model);`");
  static_assert(std::is_same_v<S, OptimiserState> || !kIsState<S>, "this takes the optimiser state that `setup` gives");
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// The state of `rule` for every trainable tensor of `model`, on the tensor's device; tied places share one. Warns on
/// standard error when there is none.
template <class M>
OptimiserState setup(const Rule& rule, const M& model) {
  return detail::setup_model(rule, detail::model_ref(model));
}

/// One step of every parameter that has a gradient and is not frozen. The new tensors replace the old ones in `model`;
/// a buffer that only this model holds is overwritten, so a copy of the model made before keeps its values. Throws,
/// with nothing changed, when state, model and gradient do not fit together; memory that runs out later leaves the
/// parameters before that one stepped.
template <class S, class M, class G>
void update(S& state, M& model, const G& gradient) {
  detail::require_state<S>();
  static_assert(!std::is_const_v<M>, "update changes the model: it cannot be const");
  static_assert(std::is_same_v<M, G>,
                "the gradient given to update has the type of the model: pass `grads` of `auto [loss, grads] = "
                "withgradient(...)`, for several models one after the other");
  if constexpr (std::is_same_v<S, OptimiserState> && std::is_same_v<M, G> && !std::is_const_v<M>) {
    detail::update_model(state, detail::model_ref(model), detail::model_ref(gradient));
  }
}

/// Changes the learning rate, or another number of the rule by name, of all parameters, or of those at and below
/// `path`. Nothing is compiled anew. Throws ArgumentError, naming the known ones, when no rule has that number.
SLUICE_API void adjust(OptimiserState& state, double eta);
SLUICE_API void adjust(OptimiserState& state, std::string_view field, double value);
SLUICE_API void adjust(OptimiserState& state, std::string_view path, std::string_view field, double value);

/// Keeps `update` from changing the parameters at and below `path`, or all; `thaw` ends it. Throws ArgumentError,
/// listing the paths, when there are none.
SLUICE_API void freeze(OptimiserState& state, std::string_view path);
SLUICE_API void freeze(OptimiserState& state);
SLUICE_API void thaw(OptimiserState& state, std::string_view path);
SLUICE_API void thaw(OptimiserState& state);

}  // namespace sluice::inline v0
