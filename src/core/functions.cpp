#include "sluice/functions.hpp"

#include "src/core/program.hpp"
#include "src/core/typed_program.hpp"

namespace sluice::detail {
namespace {

/// The name of a one-operand function of the op table.
const char* row_label(Expr (*function)(Expr)) {
#define SLUICE_LABEL_1(row) \
  if (function == static_cast<Expr (*)(Expr)>(row)) return #row;
#define SLUICE_LABEL_2(row)
#define SLUICE_LABEL_3(row)
#define SLUICE_ROW(row, arity, ...) SLUICE_LABEL_##arity(row)
  SLUICE_OPS(SLUICE_ROW)
#undef SLUICE_ROW
#undef SLUICE_LABEL_1
#undef SLUICE_LABEL_2
#undef SLUICE_LABEL_3
  return "<function>";
}

}  // namespace

Expr inlined(const Function& function, Expr x) {
  const Program& program = *function.program();
  std::vector<std::uint16_t> ids;
  ids.reserve(program.nodes().size());
  for (Node node : program.nodes()) {
    if (node.op == Op::input) {
      ids.push_back(x.id());
    } else if (node.op == Op::param) {
      const std::size_t slot = node.operand[0];
      const auto own = static_cast<std::size_t>(program.caller_params());
      ids.push_back(Trace::emit(slot < own ? function.params()[slot] : program.own_params()[slot - own]));
    } else {
      const int arity = node.op == Op::constant ? 0 : row_arity(node.op);
      for (std::size_t k = 0; k < static_cast<std::size_t>(arity); ++k) node.operand[k] = ids[node.operand[k]];
      ids.push_back(Trace::emit(node));
    }
  }
  return Expr::node(ids[program.outputs()[0]]);
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

Activation::Activation() : Activation(identity) {}

Activation::Activation(Expr (*function)(Expr))
    : function_(trace<1>([function](Expr x) { return function(x); })), name_(detail::row_label(function)) {}

Tensor Activation::operator()(Tensor x) const {
  return detail::map_program1(function_.program(), function_.params(), std::span<Tensor>(&x, 1));
}

Expr Activation::operator()(Expr x) const { return detail::inlined(function_, x); }

Tensor RandomRelu::operator()(const Tensor& x) const {
  if (!training()) return map(*this, x);
  const Tensor u = rand(x.shape(), f32, next_random_key(), x.device());
  return map([](Expr v, Expr r) { return where(v > 0, v, (0.125 + r * (1.0 / 3.0 - 0.125)) * v); }, x, u);
}

Tensor glu(const Tensor& x, int dim) {
  const std::int64_t size = x.size(dim);
  if (dim >= x.rank() || size % 2 != 0) {
    throw ShapeError("glu: dimension " + std::to_string(dim) + " of " + to_string(x.shape()) +
                     " cannot be halved; its size must be even");
  }
  return map([](Expr a, Expr b) { return a * detail::sigmoid_of(b); }, slice(x, dim, 0, size / 2),
             slice(x, dim, size / 2, size));
}

}  // namespace sluice::inline v0
