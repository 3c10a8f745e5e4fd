// The Tensor functions of the op table.
#include <array>
#include <utility>

#include "sluice/ops.hpp"
#include "src/core/map.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::detail {
namespace {

template <class... T>
Tensor apply_row(Op op, T... x) {
  std::array<Tensor, sizeof...(T)> inputs{std::move(x)...};
  return map_program1(row_program(op), {}, inputs);
}

}  // namespace
}  // namespace sluice::detail

namespace sluice::inline v0 {

// A number beside a tensor is traced, so that small integers become part of the program and others parameters.
#define SLUICE_TENSOR_1(name) \
  Tensor name(Tensor x) { return detail::apply_row(detail::Op::name, std::move(x)); }
#define SLUICE_TENSOR_2(name)                                                                                 \
  Tensor name(Tensor x, Tensor y) { return detail::apply_row(detail::Op::name, std::move(x), std::move(y)); } \
  Tensor name(Tensor x, Scalar y) {                                                                           \
    return map([y](Expr a) { return name(a, Expr(y)); }, std::move(x));                                       \
  }                                                                                                           \
  Tensor name(Scalar x, Tensor y) {                                                                           \
    return map([x](Expr b) { return name(Expr(x), b); }, std::move(y));                                       \
  }
#define SLUICE_TENSOR_3(name)                                                                    \
  Tensor name(Tensor x, Tensor y, Tensor z) {                                                    \
    return detail::apply_row(detail::Op::name, std::move(x), std::move(y), std::move(z));        \
  }                                                                                              \
  Tensor name(Tensor x, Tensor y, Scalar z) {                                                    \
    return map([z](Expr a, Expr b) { return name(a, b, Expr(z)); }, std::move(x), std::move(y)); \
  }                                                                                              \
  Tensor name(Tensor x, Scalar y, Tensor z) {                                                    \
    return map([y](Expr a, Expr c) { return name(a, Expr(y), c); }, std::move(x), std::move(z)); \
  }                                                                                              \
  Tensor name(Tensor x, Scalar y, Scalar z) {                                                    \
    return map([y, z](Expr a) { return name(a, Expr(y), Expr(z)); }, std::move(x));              \
  }
#define SLUICE_ROW(name, arity, ...) SLUICE_TENSOR_##arity(name)
SLUICE_OPS(SLUICE_ROW)
#undef SLUICE_ROW

Tensor operator!=(Tensor a, Tensor b) {
  return map([](Expr x, Expr y) { return x != y; }, std::move(a), std::move(b));
}
Tensor operator!=(Tensor a, Scalar b) {
  return map([b](Expr x) { return x != Expr(b); }, std::move(a));
}
Tensor operator!=(Scalar a, Tensor b) { return std::move(b) != a; }

Tensor clamp(Tensor x, Scalar low, Scalar high) {
  return map([low, high](Expr a) { return clamp(a, Expr(low), Expr(high)); }, std::move(x));
}

Tensor cast(const Tensor& x, DType dtype) {
  detail::require_value(x, "cast");
  if (x.dtype() == dtype) return x;
  std::array<Tensor, 1> inputs{x};
  Tensor output = detail::run_map1(detail::identity_program(), {}, inputs, &dtype);
  if (!dtype.is_floating() || !x.dtype().is_floating() || !detail::tracked({&x, 1})) return output;
  const DType original = x.dtype();
  detail::record({&output, 1}, {&x, 1}, [original](std::span<const Tensor> gradients, Needed) {
    return std::vector<Tensor>{cast(gradients[0], original)};
  });
  return output;
}

}  // namespace sluice::inline v0
