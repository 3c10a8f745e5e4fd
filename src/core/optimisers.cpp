// The rules, and rules with their types forgotten.
#include "sluice/optimisers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

namespace sluice::inline v0 {
namespace {

/// A running mean that starts at zero, or of squares.
Expr running_mean(double decay, Expr mean, Expr value) { return decay * mean + (1 - decay) * value; }

/// 1 - beta^step: what a running mean of ones that starts at zero has come to. A number, so no program depends on the
/// step.
double warmed_up(double beta, std::int64_t step) { return 1 - std::pow(beta, static_cast<double>(step)); }

void check_decays(const char* rule, double beta1, double beta2) {
  for (const double beta : {beta1, beta2}) {
    if (!(beta >= 0 && beta < 1)) {
      throw ArgumentError(fmt::format("{}: a momentum decay of {} is not in [0, 1)", rule, beta));
    }
  }
}

/// rate * the direction of Adam. Numbers meet numbers first: a division less for every element.
Expr adam_step(double rate, const Adam& rule, Expr g, std::array<Expr, 2>& s, const StepInfo& t) {
  s[0] = running_mean(rule.beta1, s[0], g);
  s[1] = running_mean(rule.beta2, s[1], g * g);
  const Expr root = sqrt(s[1] * (1 / warmed_up(rule.beta2, t.step)));
  return s[0] * (rate / warmed_up(rule.beta1, t.step)) / (root + t.epsilon(rule.epsilon));
}

}  // namespace

double StepInfo::epsilon(double value) const {
  if (dtype == f16) return std::max(value, 1e-7);
  return std::max(value, dtype == f64 ? std::numeric_limits<double>::min()
                                      : static_cast<double>(std::numeric_limits<float>::min()));
}

Expr Descent::step(Expr, Expr g) const { return eta * g; }

Expr Momentum::step(Expr, Expr g, std::array<Expr, 1>& s) const {
  s[0] = rho * s[0] + eta * g;
  return s[0];
}

Expr Nesterov::step(Expr, Expr g, std::array<Expr, 1>& s) const {
  const Expr velocity = s[0];
  s[0] = rho * velocity - eta * g;
  return (1 + rho) * eta * g - rho * rho * velocity;
}

Expr RMSProp::step(Expr, Expr g, std::array<Expr, 2>& s, const StepInfo& t) const {
  s[0] = running_mean(rho, s[0], g * g);
  Expr spread = s[0];
  if (centred) {
    s[1] = running_mean(rho, s[1], g);
    spread = max(s[0] - s[1] * s[1], 0);  // rounding may take the variance below zero
  }
  return eta * g / (sqrt(spread) + t.epsilon(epsilon));
}

Expr Adam::step(Expr, Expr g, std::array<Expr, 2>& s, const StepInfo& t) const {
  return adam_step(eta, *this, g, s, t);
}

void Adam::check() const { check_decays("Adam", beta1, beta2); }

Expr AdamW::step(Expr x, Expr g, std::array<Expr, 2>& s, const StepInfo& t) const {
  const Adam adam{.beta1 = beta1, .beta2 = beta2, .epsilon = epsilon};
  return adam_step(eta, adam, g, s, t) + (couple ? eta * lambda : lambda) * x;
}

void AdamW::check() const { check_decays("AdamW", beta1, beta2); }

Expr WeightDecay::step(Expr x, Expr g) const { return g + lambda * x; }

Expr ClipGrad::step(Expr, Expr g) const { return clamp(g, -delta, delta); }

// The norm is taken of g / scale(), far below omega, so that its powers overflow only where omega^2 does not matter any
// more, and underflow only where nothing is clipped.
double ClipNorm::scale() const { return omega * (std::isinf(p) ? 1 : std::exp2(64 / p)); }

Prepared ClipNorm::prepare(Expr, Expr g) const {
  const Expr scaled = abs(g / scale());
  if (std::isinf(p)) return {scaled, Combine::max, throws};
  if (p == 1) return {scaled, Combine::sum, throws};
  return {p == 2 ? scaled * scaled : pow(scaled, p), Combine::sum, throws};
}

Expr ClipNorm::step(Expr, Expr g, const StepInfo& t) const {
  const Expr total = *t.reduced;
  const Expr norm = p == 1 || std::isinf(p) ? total : p == 2 ? sqrt(total) : pow(total, 1 / p);
  return g * min(omega / scale() / norm, 1);
}

void ClipNorm::check() const {
  if (!(omega > 0)) throw ArgumentError(fmt::format("ClipNorm: omega is {}; it must be positive", omega));
  if (!(p > 0)) throw ArgumentError(fmt::format("ClipNorm: p is {}; it must be positive", p));
}

namespace {

void check_stage(const Rule::Stage& stage) {
  // The table wants a mutable rule; the fields are only read here.
  for (const auto& [name, value] : stage.table->fields(const_cast<void*>(stage.rule.get()))) {
    if (name == "eta" && !(*value >= 0)) {
      throw ArgumentError(
          fmt::format("{}: the learning rate cannot be negative; eta is {}", stage.table->name, *value));
    }
  }
  if (stage.table->check != nullptr) stage.table->check(stage.rule.get());
}

template <class F>
void for_each_field(const Rule& rule, F&& f) {
  for (const Rule::Stage& stage : rule.stages()) {
    for (const auto& field : stage.table->fields(const_cast<void*>(stage.rule.get()))) f(field.name, *field.value);
  }
}

}  // namespace

Rule::Rule(const detail::RuleTable* table, std::shared_ptr<const void> rule)
    : stages_(std::make_shared<std::vector<Stage>>(1, Stage{table, std::move(rule)})) {
  check_stage(stages_->front());
}

Rule::Rule(std::span<const Rule> rules) {
  std::vector<Stage> stages;
  for (const Rule& rule : rules) stages.insert(stages.end(), rule.stages().begin(), rule.stages().end());
  stages_ = std::make_shared<std::vector<Stage>>(std::move(stages));
}

std::vector<std::pair<std::string, double>> Rule::fields() const {
  std::vector<std::pair<std::string, double>> found;
  for_each_field(*this, [&](std::string_view name, double value) { found.emplace_back(name, value); });
  return found;
}

bool Rule::has(std::string_view field) const {
  bool found = false;
  for_each_field(*this, [&](std::string_view name, double) { found = found || name == field; });
  return found;
}

Rule Rule::with(std::string_view field, double value) const {
  std::vector<Stage> stages(*stages_);
  for (Stage& stage : stages) {
    const std::shared_ptr<void> copy = stage.table->copy(stage.rule.get());
    bool changed = false;
    for (const auto& [name, number] : stage.table->fields(copy.get())) {
      if (name != field) continue;
      *number = value;
      changed = true;
    }
    if (!changed) continue;
    stage.rule = copy;
    check_stage(stage);
  }
  Rule rule = *this;
  rule.stages_ = std::make_shared<std::vector<Stage>>(std::move(stages));
  return rule;
}

Rule Rule::with(const std::vector<std::vector<double>>& numbers) const {
  std::vector<Stage> stages(*stages_);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::shared_ptr<void> copy = stages[i].table->copy(stages[i].rule.get());
    const auto fields = stages[i].table->fields(copy.get());
    if (numbers.size() != stages.size() || numbers[i].size() != fields.size()) {
      throw ArgumentError("Rule: as many numbers are needed as the rule has");
    }
    for (std::size_t k = 0; k < fields.size(); ++k) *fields[k].value = numbers[i][k];
    stages[i].rule = copy;
    check_stage(stages[i]);
  }
  Rule rule = *this;
  rule.stages_ = std::make_shared<std::vector<Stage>>(std::move(stages));
  return rule;
}

std::ostream& operator<<(std::ostream& out, const Rule& rule) {
  const bool chain = rule.stages().size() != 1;
  if (chain) out << "OptimiserChain(";
  const char* between_rules = "";
  for (const Rule::Stage& stage : rule.stages()) {
    out << between_rules << stage.table->name << '(';
    between_rules = ", ";
    const char* between = "";
    for (const auto& [name, value] : stage.table->fields(const_cast<void*>(stage.rule.get()))) {
      out << between << name << " = " << fmt::format("{}", *value);
      between = ", ";
    }
    out << ')';
  }
  return chain ? out << ')' : out;
}

}  // namespace sluice::inline v0
