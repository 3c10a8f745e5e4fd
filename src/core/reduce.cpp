// Reductions: which elements, which types, one device call.
#include "src/core/reduce.hpp"

#include <string>

#include "src/core/map.hpp"
#include "src/core/typed_program.hpp"

namespace sluice::detail {
namespace {

/// The type in which values are combined.
DType accumulator_of(DType result, Combine combine) {
  if (combine == Combine::max || combine == Combine::min) return result;
  if (result == f64) return f64;
  return result.is_floating() ? f32 : i64;
}

Tensor of_nothing(const ReducedDims& dims, Combine combine, DType dtype, double scale, const Device& device) {
  if (dims.kept.numel() == 0) return empty(dims.kept, dtype, device.impl());
  if (!dtype.is_floating()) return full(dims.kept, std::int64_t{combine == Combine::prod}, dtype, device);
  return full(dims.kept, combine == Combine::prod ? 1.0 : 0.0 * scale, dtype, device);
}

Tensor converted(Tensor x, DType dtype) {
  return x.dtype() == dtype ? x : run_map1(identity_program(), {}, {&x, 1}, &dtype);
}

void launch(const TypedProgram& typed, std::span<const Scalar> params, std::span<const Tensor> inputs,
            const Shape& shape, const ReducedDims& dims, Combine combine, double scale, const Tensor& output) {
  std::vector<Operand> operands;
  operands.reserve(inputs.size() + 1);
  for (const Tensor& x : inputs) operands.push_back(broadcast_operand(x, shape));
  operands.push_back(broadcast_operand(output, shape));
  // A dimension of size 1 that is kept or reduced is the same thing; `collapse` drops both.
  Shape space = shape;
  collapse(space, operands);
  device_of_rep(output)->reduce({typed, params, space, std::span(operands).first(inputs.size()), operands.back(),
                                 static_cast<CombineOp>(combine), scale, dims.length});
}

}  // namespace

ReducedDims reduced_dims(const Shape& shape, const Dims& dims, bool keepdims, std::string_view operation) {
  ReducedDims result;
  for (int dim = 0; dim < shape.rank(); ++dim) result.reduced[static_cast<std::size_t>(dim)] = dims.all();
  for (const int dim : dims.list()) {
    bool& reduced = result.reduced[static_cast<std::size_t>(checked_dim(dim, shape.rank(), operation))];
    if (reduced) throw ArgumentError(std::string(operation) + ": dimension " + std::to_string(dim) + " is given twice");
    reduced = true;
  }
  std::array<std::int64_t, Shape::kMaxRank> kept{}, left{};
  std::size_t left_rank = 0;
  const auto rank = static_cast<std::size_t>(shape.rank());
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const std::int64_t size = shape[static_cast<int>(dim)];
    kept[dim] = result.reduced[dim] ? 1 : size;
    if (result.reduced[dim]) result.length *= size;
    else left[left_rank++] = size;
  }
  result.kept = Shape(std::span<const std::int64_t>(kept.data(), rank));
  if (dims.all()) return result;
  result.result = keepdims ? result.kept : Shape(std::span<const std::int64_t>(left.data(), left_rank));
  return result;
}

Tensor run_reduce(const Program* program, std::span<const Scalar> params, std::span<const Tensor> inputs,
                  Combine combine, const ReducedDims& dims, const DType* dtype, double scale) {
  const bool is_sum = combine == Combine::sum || combine == Combine::prod;
  const Shape shape = broadcast_all(inputs, "map_reduce");
  std::vector<DType> types;
  types.reserve(inputs.size());
  for (const Tensor& x : inputs) types.push_back(x.dtype());
  const TypedProgram& natural_form = program->typed(types);
  const DType natural = natural_form.output_types[0];
  DType result = natural;
  if (dtype != nullptr) result = *dtype;
  else if (is_sum && !natural.is_floating()) result = scale == 1 ? i64 : f32;
  const DType accumulator = accumulator_of(is_sum ? result : natural, combine);
  if (shape.numel() == 0) return of_nothing(dims, combine, result, scale, inputs[0].device());

  const TypedProgram& typed = accumulator == natural ? natural_form : program->typed(types, &accumulator);
  std::vector<Scalar> storage;
  params = all_params(typed, params, storage);
  check_params(typed, params);
  // The device stores what it has accumulated, or a half of it; anything else is a conversion.
  const bool half = accumulator == f32 && (result == f16 || result == bf16);
  Tensor output = empty(dims.kept, half ? result : accumulator, device_of_rep(inputs[0]));
  launch(typed, params, inputs, shape, dims, combine, scale, output);
  return converted(std::move(output), result);
}

namespace {

/// A reduction with its checks and its record, under the name the user knows.
Tensor reduce(std::string_view operation, const Program* program, std::span<const Scalar> params,
              std::span<const Tensor> inputs, Combine combine, const Dims& dims, const ReduceOptions& options,
              double scale) {
  for (const Tensor& x : inputs) require_value(x, operation);
  common_device(inputs, operation);
  const Shape shape = broadcast_all(inputs, operation);
  const ReducedDims reduced = reduced_dims(shape, dims, options.keepdims, operation);
  const bool is_extreme = combine == Combine::max || combine == Combine::min;
  if (is_extreme && reduced.length == 0 && reduced.kept.numel() > 0) {
    throw ArgumentError(std::string(operation) + ": nothing to choose from in a tensor of size " + to_string(shape));
  }
  const bool records = tracked(inputs);
  if (records && combine != Combine::sum && program != identity_program()) {
    // Only sums are differentiated together with their program.
    std::vector<Tensor> copies(inputs.begin(), inputs.end());
    const Tensor mapped = map_program1(program, params, copies);
    return reduce(operation, identity_program(), {}, {&mapped, 1}, combine, dims, options, scale);
  }
  const DType* dtype = options.dtype ? &*options.dtype : nullptr;
  Tensor output = run_reduce(program, params, inputs, combine, reduced, dtype, scale);
  if (output.shape() != reduced.result) output = view(output, output.rep()->offset, reduced.result);
  if (!records || !output.dtype().is_floating()) return output;

  Pullback pullback;
  if (combine == Combine::sum) pullback = sum_pullback(program, params, inputs, reduced, scale);
  else if (combine == Combine::prod) pullback = prod_pullback(inputs[0], reduced);
  else pullback = extreme_pullback(inputs[0], reduced, combine == Combine::max);
  record({&output, 1}, inputs,
         [pullback = std::move(pullback), kept = reduced.kept](std::span<const Tensor> gradients, Needed needed) {
           const Tensor g = reshape(gradients[0], kept);
           return pullback({&g, 1}, needed);
         });
  return output;
}

Tensor reduce_plain(std::string_view operation, const Tensor& x, Combine combine, const Dims& dims,
                    const ReduceOptions& options, double scale = 1) {
  return reduce(operation, identity_program(), {}, {&x, 1}, combine, dims, options, scale);
}

/// Reduces whether elements are not 0, with the value of an empty set given.
Tensor reduce_truth(std::string_view operation, const Tensor& x, Combine combine, const Dims& dims,
                    const ReduceOptions& options) {
  require_value(x, operation);
  const ReducedDims reduced = reduced_dims(x.shape(), dims, options.keepdims, operation);
  Tensor output;
  if (reduced.length == 0) {
    output = full(reduced.result, std::int64_t{combine == Combine::min}, boolean, x.device());
  } else {
    const Function not_zero = trace<1>([](Expr v) { return v != 0; });
    output = run_reduce(not_zero.program(), not_zero.params(), {&x, 1}, combine, reduced);
    output = view(output, 0, reduced.result);
  }
  return cast(output, options.dtype.value_or(boolean));
}

}  // namespace

Tensor map_reduce_program(const Program* program, std::span<const Scalar> params, std::span<const Tensor> inputs,
                          Combine combine, const Dims& dims, ReduceOptions options, double scale) {
  return reduce("map_reduce", program, params, inputs, combine, dims, options, scale);
}

Tensor sum_to_shape(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  std::vector<int> dims;
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (shape[dim] == 1 && x.shape()[dim] != 1) dims.push_back(dim);
  }
  const DType dtype = x.dtype();
  const ReducedDims reduced = reduced_dims(x.shape(), Dims(std::move(dims)), true, "sum");
  const Tensor sums =
      reduced.kept == x.shape() ? x : run_reduce(identity_program(), {}, {&x, 1}, Combine::sum, reduced, &dtype);
  return view(sums, sums.rep()->offset, shape);
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

Tensor sum(const Tensor& x, const Dims& dims, ReduceOptions options) {
  return detail::reduce_plain("sum", x, Combine::sum, dims, options);
}

Tensor prod(const Tensor& x, const Dims& dims, ReduceOptions options) {
  return detail::reduce_plain("prod", x, Combine::prod, dims, options);
}

Tensor mean(const Tensor& x, const Dims& dims, ReduceOptions options) {
  detail::require_value(x, "mean");
  if (options.dtype && !options.dtype->is_floating()) {
    throw TypeError("mean: the result cannot be " + std::string(options.dtype->name()) + "; cast it instead");
  }
  if (!options.dtype && !x.dtype().is_floating()) options.dtype = f32;
  const std::int64_t length = detail::reduced_dims(x.shape(), dims, true, "mean").length;
  return detail::reduce_plain("mean", x, Combine::sum, dims, options, 1.0 / static_cast<double>(length));
}

Tensor maximum(const Tensor& x, const Dims& dims, ReduceOptions options) {
  return detail::reduce_plain("maximum", x, Combine::max, dims, options);
}

Tensor minimum(const Tensor& x, const Dims& dims, ReduceOptions options) {
  return detail::reduce_plain("minimum", x, Combine::min, dims, options);
}

Tensor all(const Tensor& x, const Dims& dims, ReduceOptions options) {
  return detail::reduce_truth("all", x, Combine::min, dims, options);
}

Tensor any(const Tensor& x, const Dims& dims, ReduceOptions options) {
  return detail::reduce_truth("any", x, Combine::max, dims, options);
}

}  // namespace sluice::inline v0
