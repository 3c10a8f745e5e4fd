// One step of an optimiser: check everything, prepare, then one fused map per parameter.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "sluice/optimisers.hpp"
#include "src/core/map.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::detail {
namespace {

/// A parameter with all its places in the model, its gradient and what is kept for it.
struct Parameter {
  std::vector<Tensor*> places;
  Tensor gradient;  // empty: no step
  OptimiserLeaf* leaf = nullptr;
  std::vector<Tensor> reduced;  // for the stages that prepare

  const Tensor& value() const { return *places.front(); }
  const std::string& path() const { return leaf->paths.front(); }
  bool steps() const { return gradient && !leaf->frozen && value().numel() > 0; }
};

// ---- Which tensors belong together.

[[noreturn]] void throw_other_structure(const OptimiserState& state, ModelRef model) {
  const NamedTensors now = named_trainables(model);
  for (std::size_t i = 0; i < std::max(now.size(), state.leaves().size()); ++i) {
    const std::string there = i < now.size() ? fmt::format("\"{}\"", now[i].first) : "nothing";
    const std::string then =
        i < state.leaves().size() ? fmt::format("\"{}\"", state.leaves()[i].paths.front()) : "nothing";
    if (there == then) continue;
    throw ArgumentError(
        fmt::format("update: the model is not the one that the optimiser state was made for: parameter {} "
                    "is {} in the model and {} in the state; make a new state with setup(rule, model)",
                    i, there, then));
  }
  throw ArgumentError(
      "update: the model is not the one that the optimiser state was made for; make a new state with "
      "setup(rule, model)");
}

void add_gradient(Parameter& parameter, const Tensor& gradient) {
  if (gradient.shape() != parameter.value().shape()) {
    throw ShapeError(fmt::format("update: the gradient of \"{}\" has shape {}, the parameter {}", parameter.path(),
                                 to_string(gradient.shape()), to_string(parameter.value().shape())));
  }
  if (!(gradient.device() == parameter.value().device())) {
    throw DeviceError(
        fmt::format("update: the gradient of \"{}\" is on {}, the parameter on {}; take the gradient after "
                    "moving the model",
                    parameter.path(), to_string(gradient.device()), to_string(parameter.value().device())));
  }
  if (!gradient.dtype().is_floating()) {
    throw TypeError(fmt::format("update: the gradient of \"{}\" has type {}; it must be floating", parameter.path(),
                                gradient.dtype().name()));
  }
  parameter.gradient = parameter.gradient ? std::move(parameter.gradient) + detach(gradient) : detach(gradient);
}

void check_state(const Parameter& parameter) {
  const Tensor& value = parameter.value();
  const DType expected = promote(value.dtype(), f32);
  for (const Tensor& tensor : parameter.leaf->tensors) {
    if (!(tensor.device() == value.device())) {
      throw DeviceError(
          fmt::format("update: \"{}\" is on {}, its optimiser state on {}; move the state as well, state = "
                      "device(state), or call setup after moving the model",
                      parameter.path(), to_string(value.device()), to_string(tensor.device())));
    }
    if (tensor.shape() != value.shape()) {
      throw ShapeError(
          fmt::format("update: \"{}\" has shape {}, its optimiser state {}; make a new state with setup(rule, "
                      "model)",
                      parameter.path(), to_string(value.shape()), to_string(tensor.shape())));
    }
    if (tensor.dtype() != expected) {
      throw TypeError(
          fmt::format("update: \"{}\" has type {}, its optimiser state {} instead of {}; convert it, state = "
                      "{}(state), or make a new one with setup(rule, model)",
                      parameter.path(), value.dtype().name(), tensor.dtype().name(), expected.name(), expected.name()));
    }
  }
}

std::vector<Parameter> match(OptimiserState& state, ModelRef model, ModelRef gradient) {
  const std::vector<Tensor*> places = tensor_places(model);
  const std::vector<Tensor*> gradients = tensor_places(gradient);
  if (places.size() != gradients.size()) {
    throw ArgumentError(
        fmt::format("update: the model holds {} tensors, its gradient {}; take the gradient of this model",
                    places.size(), gradients.size()));
  }
  std::vector<Parameter> parameters;
  std::unordered_map<const TensorRep*, std::size_t> known;
  std::vector<std::pair<std::size_t, const Tensor*>> flows;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!is_trainable(*places[i])) continue;
    const auto [at, fresh] = known.try_emplace(places[i]->rep(), parameters.size());
    if (fresh) parameters.emplace_back();
    parameters[at->second].places.push_back(places[i]);
    if (*gradients[i]) flows.emplace_back(at->second, gradients[i]);
  }
  if (parameters.size() != state.leaves().size()) throw_other_structure(state, model);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].leaf = &state.leaves()[i];
    if (parameters[i].places.size() != parameters[i].leaf->paths.size()) throw_other_structure(state, model);
  }
  for (const auto& [parameter, tensor] : flows) add_gradient(parameters[parameter], *tensor);
  for (const Parameter& parameter : parameters) check_state(parameter);
  return parameters;
}

// ---- Programs. Inputs are the parameter, its gradient, the state, and what was reduced.

StepInfo step_info(const Parameter& parameter) {
  return {.step = parameter.leaf->step_count() + 1, .dtype = parameter.value().dtype()};
}

/// Runs the stages before `end` inside a trace; `x` and `g` are inputs 0 and 1.
class TracedStages {
 public:
  TracedStages(const Rule& rule, std::size_t states, StepInfo info) : rule_(rule), info_(info) {
    for (std::size_t i = 0; i < states; ++i) states_.push_back(input(2 + i));
  }

  void run(std::size_t end) {
    const Expr zero = 0;
    std::size_t next = 0;
    std::size_t reduced = 2 + states_.size();
    for (const Rule::Stage& stage : rule_.stages().first(end)) {
      if (stage.table->prepare != nullptr) info_.reduced = input(reduced++);
      else info_.reduced.reset();
      const auto used = static_cast<std::size_t>(stage.table->states(stage.rule.get()));
      std::vector<Expr> mine(kMaxRuleStates, zero);  // a rule may declare more states than it uses
      for (std::size_t i = 0; i < used; ++i) mine[i] = states_[next + i];
      g = stage.table->step(stage.rule.get(), x, g, mine.data(), info_);
      for (std::size_t i = 0; i < used; ++i) states_[next + i] = mine[i];
      next += used;
    }
  }

  const std::vector<Expr>& states() const { return states_; }

  Expr x = input(0);
  Expr g = input(1);

 private:
  static Expr input(std::size_t number) {
    return Expr::node(Trace::emit(Node{Op::input, {static_cast<std::uint16_t>(number)}}));
  }

  const Rule& rule_;
  StepInfo info_;
  std::vector<Expr> states_;
};

Function finish(Trace& trace) {
  const Program* program = trace.program();
  return Function(program, {trace.params().begin(), trace.params().end()});
}

/// (x, g, states..., reduced...) -> (x, states...)
Function step_function(const Parameter& parameter) {
  const std::size_t states = parameter.leaf->tensors.size();
  Trace trace(static_cast<int>(2 + states + parameter.reduced.size()));
  TracedStages stages(parameter.leaf->rule, states, step_info(parameter));
  stages.run(parameter.leaf->rule.stages().size());
  trace.output((stages.x - stages.g).id());
  for (const Expr& state : stages.states()) trace.output(state.id());
  return finish(trace);
}

std::vector<Tensor> inputs_of(const Parameter& parameter) {
  std::vector<Tensor> inputs{detach(parameter.value()), parameter.gradient};
  inputs.insert(inputs.end(), parameter.leaf->tensors.begin(), parameter.leaf->tensors.end());
  inputs.insert(inputs.end(), parameter.reduced.begin(), parameter.reduced.end());
  return inputs;
}

// ---- What stages want to know about the whole gradient.

struct Check {
  const Parameter* parameter;
  std::string_view rule;
  Tensor value;
};

/// Reduces for one stage; the stages before it are part of the program.
void prepare_stage(Parameter& parameter, std::size_t number, std::vector<Check>& checks) {
  const Rule::Stage& stage = parameter.leaf->rule.stages()[number];
  std::vector<Tensor> inputs = inputs_of(parameter);
  const DType dtype = promote(parameter.value().dtype(), f32);
  Trace trace(static_cast<int>(inputs.size()));
  TracedStages stages(parameter.leaf->rule, parameter.leaf->tensors.size(), step_info(parameter));
  stages.run(number);
  const Prepared prepared = stage.table->prepare(stage.rule.get(), stages.x, stages.g);
  trace.output(prepared.term.id());
  const Function function = finish(trace);
  const bool is_extreme = prepared.combine == Combine::max || prepared.combine == Combine::min;
  if (is_extreme && inputs[1].dtype() != dtype) inputs[1] = cast(inputs[1], dtype);  // else it is rounded on the way
  parameter.reduced.push_back(
      map_reduce_program(function.program(), function.params(), inputs, prepared.combine, {}, {.dtype = dtype}));
  if (prepared.must_be_finite) checks.push_back({&parameter, stage.table->name, parameter.reduced.back()});
}

/// All reductions are under way before the first result is waited for.
void prepare_all(std::vector<Parameter>& parameters) {
  std::vector<Check> checks;
  for (Parameter& parameter : parameters) {
    if (!parameter.steps()) continue;
    const std::span<const Rule::Stage> stages = parameter.leaf->rule.stages();
    for (std::size_t k = 0; k < stages.size(); ++k) {
      if (stages[k].table->prepare != nullptr) prepare_stage(parameter, k, checks);
    }
  }
  for (const Check& check : checks) {
    const double value = check.value.dtype() == f64 ? check.value.item<double>() : check.value.item<float>();
    if (std::isfinite(value)) continue;
    throw ArgumentError(
        fmt::format("update: {}: the gradient of \"{}\", of shape {}, has a norm of {}; nothing was changed. "
                    "Lower the learning rate, or let it pass with {{.throws = false}}",
                    check.rule, check.parameter->path(), to_string(check.parameter->value().shape()),
                    std::isnan(value) ? "NaN" : "Inf"));
  }
}

// ---- The step.

/// Takes the handles out of the model and the state, so that buffers which nobody else holds are overwritten, and puts
/// the new ones, or after an error the old ones, back.
void take_step(Parameter& parameter, const Function& function) {
  OptimiserLeaf& leaf = *parameter.leaf;
  const std::size_t states = leaf.tensors.size();
  std::vector<Tensor> inputs = inputs_of(parameter);
  std::vector<DType> types{inputs[0].dtype()};
  for (std::size_t i = 0; i < states; ++i) types.push_back(inputs[2 + i].dtype());
  const auto put = [&](std::span<const Tensor> value, std::span<const Tensor> tensors) {
    for (Tensor* place : parameter.places) *place = value[0];
    for (std::size_t i = 0; i < states; ++i) leaf.tensors[i] = tensors[i];
  };
  for (Tensor* place : parameter.places) *place = Tensor();
  for (Tensor& tensor : leaf.tensors) tensor = Tensor();
  parameter.gradient = Tensor();
  try {
    const std::vector<Tensor> outputs = run_map(function.program(), function.params(), inputs, types.data());
    put(outputs, std::span(outputs).subspan(1));
  } catch (...) {
    put(inputs, std::span(inputs).subspan(2));
    throw;
  }
  leaf.steps.next();
}

bool same_function(const Parameter& a, const Parameter& b, DType dtype_of_a, std::int64_t step_of_a) {
  return a.leaf->rule.same(b.leaf->rule) && dtype_of_a == b.value().dtype() && step_of_a == b.leaf->step_count();
}

}  // namespace

void update_model(OptimiserState& state, ModelRef model, ModelRef gradient) {
  const NoGrad guard;
  std::vector<Parameter> parameters = match(state, model, gradient);
  prepare_all(parameters);
  const Parameter* last = nullptr;  // parameters nearly always share rule, type and step: one trace for all
  DType last_dtype;
  std::int64_t last_step = 0;
  Function function;
  for (Parameter& parameter : parameters) {
    if (!parameter.steps()) continue;
    if (last == nullptr || !same_function(*last, parameter, last_dtype, last_step)) {
      function = step_function(parameter);
      last = &parameter;
      last_dtype = parameter.value().dtype();
      last_step = parameter.leaf->step_count();
    }
    take_step(parameter, function);
  }
}

}  // namespace sluice::detail
