// The pullbacks of sums, products, maxima and minima.
#include <utility>

#include "src/core/map.hpp"
#include "src/core/reduce.hpp"

namespace sluice::detail {
namespace {

/// A sum of program(inputs): every element of the program's result receives the gradient of its sum.
struct SumPullback {
  const Program* program;
  std::vector<Scalar> params;
  std::vector<Tensor> saved;  // empty where the derivative does not read the input
  std::vector<Shape> shapes;
  std::vector<DType> types;
  Shape space;
  double scale;

  std::vector<Tensor> operator()(std::span<const Tensor> gradients, Needed needed) const {
    const Tensor g = scale == 1 ? gradients[0] : gradients[0] * Scalar(scale);
    std::vector<Tensor> result(shapes.size());
    if (program == identity_program()) {
      result[0] = expand(cast(g, types[0]), space);
      return result;
    }
    const std::vector<Tensor> operands = operands_with(g);
    std::uint64_t full = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (!wants(i, needed)) continue;
      if (shapes[i].numel() == space.numel()) {
        full |= std::uint64_t{1} << i;
      } else {
        const Program* derivative = program->derivative(std::uint64_t{1} << i, 1);
        if (!derivative->output_is_zero(0))
          result[i] = map_sum_to_shape(derivative, params, operands, shapes[i], types[i]);
      }
    }
    if (full != 0) run_full(full, operands, result);
    return result;
  }

  bool wants(std::size_t i, Needed needed) const { return i < 64 && needed[i] && types[i].is_floating(); }

  /// The operands of the derivative. Together they must span the space, or sums over broadcast dimensions would miss
  /// their factor.
  std::vector<Tensor> operands_with(const Tensor& g) const {
    Shape spanned = g.shape();
    for (const Tensor& x : saved) {
      if (x) spanned = broadcast(spanned, x.shape(), "map_reduce");
    }
    const Tensor last = spanned == space ? g : expand(g, space);
    std::vector<Tensor> operands = saved;
    for (Tensor& x : operands) {
      x = x ? x : last;  // nobody reads it
    }
    operands.push_back(last);
    return operands;
  }

  void run_full(std::uint64_t full, std::vector<Tensor> operands, std::vector<Tensor>& result) const {
    std::vector<std::size_t> places;
    std::vector<DType> output_types;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (((full >> i) & 1) == 0) continue;
      places.push_back(i);
      output_types.push_back(types[i]);
    }
    const std::vector<Tensor> outputs = run_map(program->derivative(full, 1), params, operands, output_types.data());
    for (std::size_t k = 0; k < places.size(); ++k) result[places[k]] = reshape(outputs[k], shapes[places[k]]);
  }
};

/// 0, 1, ... n-1 along the middle dimension, on the device of `like`.
Tensor places_along(std::int64_t n, const Tensor& like) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) numbers[static_cast<std::size_t>(i)] = i;
  Tensor result = empty(Shape{1, n, 1}, i64, device_of_rep(like));
  if (n > 0)
    device_of_rep(like)->write(*result.rep()->storage, 0, numbers.data(), numbers.size() * sizeof(std::int64_t));
  return result;
}

Tensor extreme_gradient(const Tensor& x, const ReducedDims& dims, bool greatest, const Tensor& g) {
  const AxisView view = axis_view(x, dims);
  if (x.numel() == 0) return zeros_like(x);
  const Tensor winners = run_argreduce(view.x, greatest);
  const Tensor places = places_along(dims.length, x);
  const Tensor here = reshape(cast(g, x.dtype()), winners.shape());
  const Tensor result = map([](Expr place, Expr winner, Expr gradient) { return where(place == winner, gradient, 0); },
                            places, winners, here);
  return undo_view(result, view, x.shape());
}

/// g times the product of the other elements, right with zeros as well: beside one zero only it has a gradient.
Tensor prod_gradient(const Tensor& x, const ReducedDims& dims, const Tensor& g) {
  const DType wide = x.dtype() == f64 ? f64 : f32;
  const Function rest = trace<1>([](Expr v) { return where(v == 0, 1, v); });
  const Function zero = trace<1>([](Expr v) { return v == 0; });
  const Tensor product = run_reduce(rest.program(), rest.params(), {&x, 1}, Combine::prod, dims, &wide);
  const Tensor zeros = run_reduce(zero.program(), zero.params(), {&x, 1}, Combine::sum, dims);
  const Tensor result = map(
      [](Expr v, Expr gradient, Expr p, Expr count) {
        const Expr at_zero = where(count == 1, gradient * p, 0);
        const Expr elsewhere = where(count == 0, gradient * p / v, 0);
        return where(v == 0, at_zero, elsewhere);
      },
      x, g, product, zeros);
  return cast(result, x.dtype());
}

}  // namespace

Pullback sum_pullback(const Program* program, std::span<const Scalar> params, std::span<const Tensor> inputs,
                      const ReducedDims&, double scale) {
  if (inputs.size() > 64) throw ArgumentError("map_reduce: a differentiated one takes at most 64 tensors");
  SumPullback pullback{program, {params.begin(), params.end()}, {}, {}, {}, broadcast_all(inputs, "map_reduce"), scale};
  std::uint64_t wanted = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pullback.shapes.push_back(inputs[i].shape());
    pullback.types.push_back(inputs[i].dtype());
    const bool flows = inputs[i].slot().tape != 0 && inputs[i].dtype().is_floating();
    wanted |= static_cast<std::uint64_t>(flows) << i;
  }
  const bool is_plain = program == identity_program();
  const std::uint64_t read = is_plain || wanted == 0 ? 0 : program->derivative(wanted, 1)->inputs_read();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pullback.saved.push_back(((read >> i) & 1) != 0 ? detach(inputs[i]) : Tensor());
  }
  return pullback;
}

Pullback prod_pullback(const Tensor& x, const ReducedDims& dims) {
  return [x = detach(x), dims](std::span<const Tensor> gradients, Needed) {
    return std::vector<Tensor>{prod_gradient(x, dims, gradients[0])};
  };
}

Pullback extreme_pullback(const Tensor& x, const ReducedDims& dims, bool greatest) {
  return [x = detach(x), dims, greatest](std::span<const Tensor> gradients, Needed) {
    return std::vector<Tensor>{extreme_gradient(x, dims, greatest, gradients[0])};
  };
}

}  // namespace sluice::detail
