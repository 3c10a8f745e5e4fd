// The symbolic derivative of a program: a reverse sweep over its nodes that emits the rows' derivative expressions.
//
// Forward values are computed again inside the derivative; what turns out unused is removed. A gradient that does not
// flow is absent, not 0, so no arithmetic is spent on it and inf * 0 cannot arise.
#include <optional>

#include "src/core/program.hpp"
#include "src/core/typed_program.hpp"

namespace sluice::inline v0 {

// Only for the derivative column of the op table: g gates an expression whose factor may be infinite.
static Expr unless_zero(Expr g, Expr gradient) { return where(g == 0, 0, gradient); }

}  // namespace sluice::inline v0

namespace sluice::detail {
namespace {

using Gradient = std::optional<Expr>;
constexpr std::nullopt_t none = std::nullopt;

std::array<Gradient, 3> row_gradients(Op op, Expr x, Expr y, Expr z, Expr v, Expr g) {
  (void)x, (void)y, (void)z, (void)v, (void)g;
  // Each expression is emitted only in its own case: unused ones would be removed, but only after having been built.
  switch (op) {
#define SLUICE_ROW(name, arity, kind, result, text, dx, dy, dz) \
  case Op::name: return {Gradient(dx), Gradient(dy), Gradient(dz)};
    SLUICE_OPS(SLUICE_ROW)
#undef SLUICE_ROW
    default: return {};
  }
}

/// Emits the forward nodes of `program`; `result_as_input` replaces its output by that input when not negative.
std::vector<Expr> emit_forward(const Program& program, int result_as_input) {
  std::vector<Expr> values;
  values.reserve(program.nodes().size());
  for (std::size_t i = 0; i < program.nodes().size(); ++i) {
    Node node = program.nodes()[i];
    if (result_as_input >= 0 && i == program.outputs()[0]) {
      node = Node{Op::input, {static_cast<std::uint16_t>(result_as_input)}};
    } else {
      for (int k = 0; k < row_arity(node.op); ++k) {
        auto& operand = node.operand[static_cast<std::size_t>(k)];
        operand = values[operand].id();
      }
    }
    values.push_back(Expr::node(Trace::emit(node)));
  }
  return values;
}

void accumulate(Gradient& sum, const Gradient& term) {
  if (!term) return;
  sum = sum ? *sum + *term : *term;
}

/// The gradient of every node, from those of the outputs in `given`, which are inputs of the new program from
/// `first_gradient` on.
std::vector<Gradient> sweep(const Program& program, const std::vector<Expr>& values, std::uint64_t given,
                            int first_gradient) {
  std::vector<Gradient> gradients(values.size());
  int next = first_gradient;
  for (std::size_t o = 0; o < program.outputs().size(); ++o) {
    if (((given >> o) & 1) == 0) continue;
    const auto input = static_cast<std::uint16_t>(next++);
    accumulate(gradients[program.outputs()[o]], Expr::node(Trace::emit(Node{Op::input, {input}})));
  }
  for (std::size_t i = values.size(); i-- > 0;) {
    const Node& node = program.nodes()[i];
    const int arity = row_arity(node.op);
    if (arity == 0 || !gradients[i]) continue;
    const auto operand = [&](int k) { return values[node.operand[static_cast<std::size_t>(k < arity ? k : 0)]]; };
    const std::array<Gradient, 3> terms =
        row_gradients(node.op, operand(0), operand(1), operand(2), values[i], *gradients[i]);
    for (int k = 0; k < arity; ++k) {
      accumulate(gradients[node.operand[static_cast<std::size_t>(k)]], terms[static_cast<std::size_t>(k)]);
    }
  }
  return gradients;
}

/// A program's pieces on the way to being interned.
struct Draft {
  std::vector<Node> nodes;
  std::vector<std::uint16_t> outputs;
  std::vector<Scalar> params;

  void remove_dead() {
    std::vector<char> live(nodes.size());
    for (const std::uint16_t output : outputs) live[output] = 1;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      if (!live[i]) continue;
      for (int k = 0; k < row_arity(nodes[i].op); ++k) live[nodes[i].operand[static_cast<std::size_t>(k)]] = 1;
    }
    std::vector<std::uint16_t> moved(nodes.size());
    std::vector<Node> kept;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!live[i]) continue;
      Node node = nodes[i];
      for (int k = 0; k < row_arity(node.op); ++k) {
        auto& operand = node.operand[static_cast<std::size_t>(k)];
        operand = moved[operand];
      }
      moved[i] = static_cast<std::uint16_t>(kept.size());
      kept.push_back(node);
    }
    for (auto& output : outputs) output = moved[output];
    nodes = std::move(kept);
  }
};

Draft differentiate(const Program& program, std::uint64_t wanted, std::uint64_t given, bool result_form) {
  Trace trace(0);
  // The caller's and the program's own parameters keep their slots; what the rows add comes after them.
  trace.reserve_params(program.caller_params(), program.own_params());
  const std::vector<Expr> values = emit_forward(program, result_form ? program.inputs() + 1 : -1);
  std::vector<Gradient> gradients = sweep(program, values, given, program.inputs());
  std::vector<Gradient> by_input(static_cast<std::size_t>(program.inputs()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (program.nodes()[i].op == Op::input) by_input[program.nodes()[i].operand[0]] = gradients[i];
  }
  for (std::size_t i = 0; i < by_input.size(); ++i) {
    if (i < 64 && ((wanted >> i) & 1) == 0) continue;
    trace.output(by_input[i] ? by_input[i]->id() : Expr(0).id());
  }
  Draft draft{trace.nodes(), trace.outputs(), {trace.params().begin(), trace.params().end()}};
  draft.remove_dead();
  return draft;
}

const Program* finish(const Draft& draft, int inputs, int caller_params) {
  const std::span<const Scalar> params = draft.params;
  return intern(draft.nodes, draft.outputs, inputs, caller_params,
                params.subspan(static_cast<std::size_t>(caller_params)));
}

}  // namespace

const Program* Program::derivative(std::uint64_t wanted, std::uint64_t given) const {
  {
    const std::lock_guard lock(program_mutex());
    const auto found = derivatives_.find({wanted, given});
    if (found != derivatives_.end()) return found->second;
  }
  int gradients = 0;
  for (std::size_t o = 0; o < outputs_.size(); ++o) gradients += static_cast<int>((given >> o) & 1);
  const Draft draft = differentiate(*this, wanted, given, false);
  const Program* program = finish(draft, inputs_ + gradients, caller_params_);
  const std::lock_guard lock(program_mutex());
  return derivatives_[{wanted, given}] = program;
}

const Program* Program::derivative_of_result() const {
  if (inputs_ != 1 || outputs_.size() != 1) return nullptr;
  {
    const std::lock_guard lock(program_mutex());
    if (has_result_form_) return result_form_;
  }
  // Inputs of the draft: 0 is x, 1 is g, 2 is the result. It is a result form if x is not used.
  Draft draft = differentiate(*this, 1, 1, true);
  bool uses_x = false;
  for (Node& node : draft.nodes) {
    if (node.op != Op::input) continue;
    uses_x = uses_x || node.operand[0] == 0;
    if (node.operand[0] == 2) node.operand[0] = 0;
  }
  const Program* program = uses_x ? nullptr : finish(draft, 2, caller_params_);
  const std::lock_guard lock(program_mutex());
  has_result_form_ = true;
  return result_form_ = program;
}

}  // namespace sluice::detail
