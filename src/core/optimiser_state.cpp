// Making, moving, freezing and adjusting the state of an optimiser.
#include <fmt/format.h>

#include <set>
#include <unordered_map>

#include "sluice/optimisers.hpp"
#include "src/core/rethrow.hpp"
#include "src/core/warn.hpp"

namespace sluice::detail {
namespace {

std::vector<Tensor> first_tensors(const Rule& rule, const Tensor& parameter) {
  const DType dtype = promote(parameter.dtype(), f32);
  std::vector<Tensor> tensors;
  for (const Rule::Stage& stage : rule.stages()) {
    const int count = stage.table->states(stage.rule.get());
    for (int k = 0; k < count; ++k) {
      tensors.push_back(full(parameter.shape(), stage.table->initial(stage.rule.get(), k), dtype, parameter.device()));
    }
  }
  return tensors;
}

bool is_at_or_below(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return false;
  return path.size() == prefix.size() || path[prefix.size()] == '.';
}

bool is_at_or_below(const OptimiserLeaf& leaf, std::string_view prefix) {
  for (const std::string& path : leaf.paths) {
    if (is_at_or_below(path, prefix)) return true;
  }
  return false;
}

[[noreturn]] void throw_unknown_path(const OptimiserState& state, std::string_view operation, std::string_view path) {
  std::string known;
  for (const OptimiserLeaf& leaf : state.leaves()) {
    for (const std::string& each : leaf.paths) known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", each);
  }
  throw ArgumentError(fmt::format("{}: the optimiser state has nothing at \"{}\"; its parameters are {}", operation,
                                  path, known.empty() ? "none" : known));
}

std::vector<OptimiserLeaf*> leaves_at(OptimiserState& state, std::string_view operation, std::string_view path) {
  std::vector<OptimiserLeaf*> found;
  for (OptimiserLeaf& leaf : state.leaves()) {
    if (is_at_or_below(leaf, path)) found.push_back(&leaf);
  }
  if (found.empty()) throw_unknown_path(state, operation, path);
  return found;
}

std::vector<OptimiserLeaf*> all_leaves(OptimiserState& state) {
  std::vector<OptimiserLeaf*> all;
  for (OptimiserLeaf& leaf : state.leaves()) all.push_back(&leaf);
  return all;
}

void adjust_leaves(const std::vector<OptimiserLeaf*>& leaves, std::string_view field, double value) {
  std::vector<std::pair<Rule, Rule>> changed;  // leaves that share a rule go on sharing it
  std::vector<std::pair<OptimiserLeaf*, std::size_t>> assign;
  std::set<std::string> known;
  for (OptimiserLeaf* leaf : leaves) {
    for (const auto& [name, number] : leaf->rule.fields()) known.insert(name);
    if (!leaf->rule.has(field)) continue;
    std::size_t at = 0;
    while (at < changed.size() && !changed[at].first.same(leaf->rule)) ++at;
    if (at == changed.size()) changed.emplace_back(leaf->rule, leaf->rule.with(field, value));
    assign.emplace_back(leaf, at);
  }
  if (assign.empty() && !leaves.empty()) {
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    throw ArgumentError(
        fmt::format("adjust: no rule has a number named \"{}\"; there is {}", field, names.empty() ? "none" : names));
  }
  for (const auto& [leaf, at] : assign) leaf->rule = changed[at].second;
}

/// A field or element of what is being visited.
Part part_of(std::string_view name, std::int64_t index, const void* object) {
  return {.name = name, .index = index, .type = {}, .object = object};
}

/// Rules by the numbers they were given, so that leaves that share a rule go on sharing it.
class ChangedRules {
 public:
  Rule changed(const Rule& rule, const std::vector<std::vector<double>>& numbers) {
    for (const Change& each : changes_) {
      if (each.before.same(rule) && each.numbers == numbers) return each.after;
    }
    changes_.push_back({rule, numbers, rule.with(numbers)});
    return changes_.back().after;
  }

 private:
  struct Change {
    Rule before;
    std::vector<std::vector<double>> numbers;
    Rule after;
  };
  std::vector<Change> changes_;
};

/// Shows the numbers of a rule as "rule.0.eta", 0 being its place in a chain. Returns what they are then.
std::vector<std::vector<double>> visit_numbers(const Rule& rule, LeafVisitor& visitor) {
  std::vector<std::vector<double>> numbers;
  visitor.push(part_of("rule", 2, &rule));
  for (const Rule::Stage& stage : rule.stages()) {
    visitor.push(part_of({}, static_cast<std::int64_t>(numbers.size()), stage.rule.get()));
    numbers.emplace_back();
    // The table wants a mutable rule; its numbers are only read.
    for (const auto& [name, value] : stage.table->fields(const_cast<void*>(stage.rule.get()))) {
      double number = *value;
      visitor.push(part_of(name, static_cast<std::int64_t>(numbers.back().size()), value));
      visitor.setting(number);
      visitor.pop();
      numbers.back().push_back(number);
    }
    visitor.pop();
  }
  visitor.pop();
  return numbers;
}

/// Shows whether a leaf is frozen as a number.
void visit_frozen(OptimiserLeaf& leaf, LeafVisitor& visitor) {
  double frozen = leaf.frozen ? 1 : 0;
  visitor.push(part_of("frozen", 3, &leaf.frozen));
  visitor.setting(frozen);
  visitor.pop();
  if (frozen != 0 && frozen != 1) throw ArgumentError(fmt::format("frozen is {}; it must be 0 or 1", frozen));
  if ((frozen != 0) != leaf.frozen) leaf.frozen = frozen != 0;
}

std::vector<std::vector<double>> numbers_of(const Rule& rule) {
  LeafVisitor nobody;
  return visit_numbers(rule, nobody);
}

void set_frozen(const std::vector<OptimiserLeaf*>& leaves, bool frozen) {
  for (OptimiserLeaf* leaf : leaves) leaf->frozen = frozen;
}

}  // namespace

OptimiserState setup_model(const Rule& rule, ModelRef model) {
  std::vector<OptimiserLeaf> leaves;
  std::unordered_map<const TensorRep*, std::size_t> known;
  for (const Place& place : named_places(model)) {
    if (!is_trainable(*place.tensor)) continue;
    const auto [at, fresh] = known.try_emplace(place.tensor->rep(), leaves.size());
    if (fresh) leaves.push_back({{}, rule, first_tensors(rule, *place.tensor), Counter(Generator())});
    leaves[at->second].paths.push_back(place.path);
  }
  if (leaves.empty()) warn("setup found no trainable parameters in this model");
  return OptimiserState(std::move(leaves));
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

const OptimiserLeaf& OptimiserState::at(std::string_view path) const {
  for (const OptimiserLeaf& leaf : leaves_) {
    for (const std::string& each : leaf.paths) {
      if (each == path) return leaf;
    }
  }
  detail::throw_unknown_path(*this, "OptimiserState::at", path);
}

void OptimiserState::sluice_visit(detail::LeafVisitor& visitor, std::string_view name, std::int64_t index) {
  visitor.push({name, index, "OptimiserState", this, nullptr, false});
  std::int64_t number = 0;
  detail::ChangedRules rules;
  for (OptimiserLeaf& leaf : leaves_) {
    visitor.push({leaf.paths.front(), number++, "OptimiserLeaf", &leaf, nullptr, false});
    detail::visit_part<detail::Names::required>(leaf.tensors, "tensors", 0, visitor);
    try {
      detail::visit_part<detail::Names::required>(leaf.steps, "steps", 1, visitor);
      if (leaf.step_count() < 0) throw ArgumentError(fmt::format("{} steps cannot have been taken", leaf.step_count()));
      if (visitor.sees_everything()) {
        const auto numbers = detail::visit_numbers(leaf.rule, visitor);
        if (numbers != detail::numbers_of(leaf.rule)) leaf.rule = rules.changed(leaf.rule, numbers);
        detail::visit_frozen(leaf, visitor);
      }
    } catch (const ArgumentError&) {
      detail::rethrow_in("the state of \"" + leaf.paths.front() + "\"");
    }
    visitor.pop();
  }
  visitor.pop();
}

void adjust(OptimiserState& state, double eta) { detail::adjust_leaves(detail::all_leaves(state), "eta", eta); }

void adjust(OptimiserState& state, std::string_view field, double value) {
  detail::adjust_leaves(detail::all_leaves(state), field, value);
}

void adjust(OptimiserState& state, std::string_view path, std::string_view field, double value) {
  detail::adjust_leaves(detail::leaves_at(state, "adjust", path), field, value);
}

void freeze(OptimiserState& state, std::string_view path) {
  detail::set_frozen(detail::leaves_at(state, "freeze", path), true);
}
void freeze(OptimiserState& state) { detail::set_frozen(detail::all_leaves(state), true); }
void thaw(OptimiserState& state, std::string_view path) {
  detail::set_frozen(detail::leaves_at(state, "thaw", path), false);
}
void thaw(OptimiserState& state) { detail::set_frozen(detail::all_leaves(state), false); }

}  // namespace sluice::inline v0
