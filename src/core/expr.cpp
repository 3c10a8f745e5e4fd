#include "sluice/expr.hpp"

namespace sluice::inline v0 {

#define SLUICE_FUNCTION_1(name) \
  Expr name(Expr x) { return Expr::node(detail::Trace::emit(detail::Node{detail::Op::name, {x.id()}})); }
#define SLUICE_FUNCTION_2(name)                                                               \
  Expr name(Expr x, Expr y) {                                                                 \
    return Expr::node(detail::Trace::emit(detail::Node{detail::Op::name, {x.id(), y.id()}})); \
  }
#define SLUICE_FUNCTION_3(name)                                                                       \
  Expr name(Expr x, Expr y, Expr z) {                                                                 \
    return Expr::node(detail::Trace::emit(detail::Node{detail::Op::name, {x.id(), y.id(), z.id()}})); \
  }
#define SLUICE_ROW(name, arity, ...) SLUICE_FUNCTION_##arity(name)
SLUICE_OPS(SLUICE_ROW)

}  // namespace sluice::inline v0
