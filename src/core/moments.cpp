// Mean and variance, and what follows from them.
#include <cmath>
#include <limits>
#include <string>

#include "src/core/map.hpp"
#include "src/core/reduce.hpp"

namespace sluice::detail {
namespace {

/// Elements up to which a column stays in the cache between its two visits.
constexpr std::int64_t kCached = 1 << 16;

/// One visit per column is best while columns are short and many; long ones are reduced in pieces, twice.
bool suits_moments(const Tensor& x, const ReducedDims& dims) {
  if (!together(x.shape(), dims)) return false;
  const bool is_leading = x.rank() > 0 && dims.reduced[0];
  const std::int64_t side = is_leading ? 1 : std::min<std::int64_t>(dims.kept.numel(), 128);
  const bool is_small = x.numel() <= kCached / 4;
  return is_small || (dims.length * side <= kCached && dims.kept.numel() >= 4 * side);
}

MeanVar one_visit(const Tensor& x, const ReducedDims& dims, std::int64_t correction) {
  const AxisView view = axis_view(x, dims);
  const Shape columns = view.x.shape().with(1, 1);
  MeanVar result{empty(dims.kept, x.dtype(), device_of_rep(x)), empty(dims.kept, x.dtype(), device_of_rep(x))};
  const Tensor mean = detail::view(result.mean, 0, columns);
  device_of_rep(x)->moments(axis_call(view.x, mean), dense_operand(result.var), correction);
  return result;
}

MeanVar two_visits(const Tensor& x, const ReducedDims& dims, std::int64_t correction) {
  const auto count = static_cast<double>(dims.length);
  const auto freedom = static_cast<double>(dims.length - correction);
  const Function square = trace<2>([](Expr v, Expr m) { return (v - m) * (v - m); });
  MeanVar result;
  result.mean = run_reduce(identity_program(), {}, {&x, 1}, Combine::sum, dims, nullptr, 1 / count);
  const std::array<Tensor, 2> inputs{x, result.mean};
  const double scale = freedom > 0 ? 1 / freedom : std::numeric_limits<double>::quiet_NaN();
  result.var = run_reduce(square.program(), square.params(), inputs, Combine::sum, dims, nullptr, scale);
  return result;
}

MeanVar run_moments(const Tensor& x, const ReducedDims& dims, std::int64_t correction) {
  if (x.numel() == 0) {
    const Tensor nothing = full(dims.kept, std::numeric_limits<double>::quiet_NaN(), x.dtype(), x.device());
    return {nothing, view(nothing, 0, nothing.shape())};
  }
  return suits_moments(x, dims) ? one_visit(x, dims, correction) : two_visits(x, dims, correction);
}

/// g_mean / n + g_var 2 (x - mean) / (n - correction).
struct MomentsPullback {
  Tensor x;
  Tensor mean;
  ReducedDims dims;
  std::int64_t correction;

  std::vector<Tensor> operator()(std::span<const Tensor> gradients, Needed) const {
    const double share = 1 / static_cast<double>(dims.length);
    const double slope = 2 / static_cast<double>(dims.length - correction);
    const DType dtype = x.dtype();
    const bool has_mean(gradients[0]), has_var(gradients[1]);  // ! of a tensor is elementwise
    if (!has_var) return {expand(cast(kept(gradients[0]) * Scalar(share), dtype), x.shape())};
    if (!has_mean) {
      const Function f = trace<3>([slope](Expr v, Expr m, Expr g) { return (v - m) * (g * slope); });
      std::array<Tensor, 3> inputs{x, mean, kept(gradients[1])};
      return {run_map1(f.program(), f.params(), inputs, &dtype)};
    }
    const Function f = trace<4>(
        [share, slope](Expr v, Expr m, Expr g_mean, Expr g_var) { return g_mean * share + (v - m) * (g_var * slope); });
    std::array<Tensor, 4> inputs{x, mean, kept(gradients[0]), kept(gradients[1])};
    return {run_map1(f.program(), f.params(), inputs, &dtype)};
  }

  Tensor kept(const Tensor& g) const { return reshape(g, dims.kept); }
};

MeanVar mean_var(std::string_view operation, const Tensor& x, const Dims& dims, int correction) {
  require_value(x, operation);
  if (correction < 0) {
    throw ArgumentError(std::string(operation) + ": a correction of " + std::to_string(correction) +
                        "; give 0 or more");
  }
  const ReducedDims reduced = reduced_dims(x.shape(), dims, true, operation);
  const Tensor plain = detach(x);
  const Tensor wide = x.dtype() == f64 ? plain : cast(plain, f32);
  const MeanVar moments = run_moments(wide, reduced, correction);
  std::array<Tensor, 2> outputs{view(moments.mean, 0, reduced.result), view(moments.var, 0, reduced.result)};
  const std::span<const Tensor> inputs(&x, 1);
  if (x.dtype().is_floating() && tracked(inputs)) {
    record(outputs, inputs, MomentsPullback{plain, moments.mean, reduced, correction});
  }
  return {outputs[0], outputs[1]};
}

}  // namespace
}  // namespace sluice::detail

namespace sluice::inline v0 {

MeanVar mean_var(const Tensor& x, const Dims& dims, int correction) {
  return detail::mean_var("mean_var", x, dims, correction);
}

Tensor var(const Tensor& x, const Dims& dims, int correction) {
  const Tensor result = detail::mean_var("var", x, dims, correction).var;
  return x.dtype().is_floating() ? cast(result, x.dtype()) : result;
}

Tensor stddev(const Tensor& x, const Dims& dims, int correction) {
  const Tensor result = sqrt(detail::mean_var("stddev", x, dims, correction).var);
  return x.dtype().is_floating() ? cast(result, x.dtype()) : result;
}

Tensor norm(const Tensor& x, const Dims& dims) {
  detail::require_value(x, "norm");
  if (!x.dtype().is_floating()) return norm(cast(x, f32), dims);
  // The squares of a half may exceed its range where their root does not.
  const ReduceOptions options{.dtype = x.dtype() == f64 ? f64 : f32};
  const Function square = trace<1>([](Expr v) { return v * v; });
  const Tensor total =
      detail::map_reduce_program(square.program(), square.params(), {&x, 1}, Combine::sum, dims, options);
  return cast(sqrt(total), x.dtype());
}

}  // namespace sluice::inline v0
