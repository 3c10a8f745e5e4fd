// Softmax, logsoftmax and logsumexp along one dimension.
#include <limits>
#include <string>

#include "src/core/map.hpp"
#include "src/core/recorded.hpp"
#include "src/core/reduce.hpp"

namespace sluice::detail {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor floating(const Tensor& x) { return x.dtype().is_floating() ? x : cast(x, f32); }

/// Sums of halves are kept in f32.
DType wide(DType dtype) { return dtype == f64 ? f64 : f32; }

template <std::size_t N, class F>
Tensor sum_along(F&& f, const std::array<Tensor, N>& inputs, const ReducedDims& dims) {
  const Function function = trace<N>(f);
  const DType dtype = wide(inputs[0].dtype());
  return run_reduce(function.program(), function.params(), inputs, Combine::sum, dims, &dtype);
}

template <std::size_t N, class F>
Tensor map_to(DType dtype, F&& f, std::array<Tensor, N> inputs) {
  const Function function = trace<N>(f);
  return run_map1(function.program(), function.params(), inputs, &dtype);
}

Tensor softmax_gradient(const Tensor& y, const Tensor& g, const ReducedDims& dims) {
  const Tensor s = sum_along<2>([](Expr a, Expr b) { return a * b; }, {g, y}, dims);
  return map_to<3>(y.dtype(), [](Expr v, Expr d, Expr total) { return v * (d - total); }, {y, g, s});
}

Tensor logsoftmax_gradient(const Tensor& y, const Tensor& g, const ReducedDims& dims) {
  const Tensor s = sum_along<1>([](Expr d) { return d; }, {g}, dims);
  return map_to<3>(y.dtype(), [](Expr v, Expr d, Expr total) { return d - exp(v) * total; }, {y, g, s});
}

Tensor run_softmax(std::string_view operation, const Tensor& input, int dim, SoftmaxKind kind) {
  require_value(input, operation);
  const Tensor x = floating(input);
  const ReducedDims dims = reduced_dims(x.shape(), dim, true, operation);
  Tensor y = empty(x.shape(), x.dtype(), device_of_rep(x));
  if (x.numel() > 0) {
    const AxisView view = axis_view(detach(x), dims);
    device_of_rep(x)->softmax(axis_call(view.x, detail::view(y, 0, view.x.shape())), kind);
  }
  return recorded(y, x, [y, dims, kind](const Tensor& g) {
    return kind == SoftmaxKind::softmax ? softmax_gradient(y, g, dims) : logsoftmax_gradient(y, g, dims);
  });
}

/// The maximum plus the logarithm of what the exponentials of the differences from it sum to.
Tensor run_logsumexp(const Tensor& x, const ReducedDims& dims) {
  if (dims.length == 0) return full(dims.kept, -kInf, x.dtype(), x.device());
  const Tensor greatest = run_reduce(identity_program(), {}, {&x, 1}, Combine::max, dims);
  // The places of the maximum count 1 even where it is infinite.
  const Tensor s = sum_along<2>([](Expr v, Expr m) { return exp(where(v == m, 0, v - m)); }, {x, greatest}, dims);
  return map_to<2>(x.dtype(), [](Expr m, Expr total) { return m + log(total); }, {greatest, s});
}

/// g softmax(x), and 0 where all of x is -inf.
Tensor logsumexp_gradient(const Tensor& x, const Tensor& y, const Tensor& g) {
  const auto share = [](Expr v, Expr result, Expr d) {
    const Expr below = where(result == -kInf, v, v - result);
    return d * exp(where((v == result) & (v > 0), 0, below));
  };
  return map_to<3>(x.dtype(), share, {x, y, g});
}

}  // namespace
}  // namespace sluice::detail

namespace sluice::inline v0 {

Tensor softmax(const Tensor& x, int dim) {
  return detail::run_softmax("softmax", x, dim, detail::SoftmaxKind::softmax);
}

Tensor logsoftmax(const Tensor& x, int dim) {
  return detail::run_softmax("logsoftmax", x, dim, detail::SoftmaxKind::logsoftmax);
}

Tensor logsumexp(const Tensor& input, int dim, ReduceOptions options) {
  detail::require_value(input, "logsumexp");
  const Tensor x = detail::floating(input);
  const detail::ReducedDims dims = detail::reduced_dims(x.shape(), dim, options.keepdims, "logsumexp");
  const Tensor y = detail::run_logsumexp(detach(x), dims);
  const Tensor result = detail::recorded(reshape(y, dims.result), x, [x = detach(x), y](const Tensor& g) {
    return detail::logsumexp_gradient(x, y, reshape(g, y.shape()));
  });
  return cast(result, options.dtype.value_or(x.dtype()));
}

}  // namespace sluice::inline v0
