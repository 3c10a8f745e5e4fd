// What the operations that reduce dimensions share: which dimensions, what shapes, and the device call.
#pragma once

#include <array>
#include <string_view>

#include "sluice/ops.hpp"
#include "src/core/program.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::detail {

/// The dimensions a reduction takes away, checked.
struct ReducedDims {
  std::array<bool, Shape::kMaxRank> reduced{};
  Shape kept;    ///< the shape with reduced dimensions of size 1
  Shape result;  ///< the shape of the result as it was asked for
  std::int64_t length = 1;
};

/// Throws IndexError for a dimension out of range and ArgumentError for one given twice, naming `operation`.
ReducedDims reduced_dims(const Shape& shape, const Dims& dims, bool keepdims, std::string_view operation);

/// A tensor with its reduced dimensions as one, in the middle: (inner, length, outer).
struct AxisView {
  Tensor x;
  std::vector<int> order;  ///< the permutation that brought the reduced dimensions together, empty for none
};
/// Copies only if the reduced dimensions are apart; they are last then, so that kept tensors have size (inner, 1, 1).
AxisView axis_view(const Tensor& x, const ReducedDims& dims);
/// A tensor of the view's shape as one of `shape`, the shape before.
Tensor undo_view(const Tensor& y, const AxisView& view, const Shape& shape);
/// Whether the reduced dimensions are neighbours, those of size 1 aside.
bool together(const Shape& shape, const ReducedDims& dims);

/// The device call of a dense (inner, length, outer) tensor.
AxisCall axis_call(const Tensor& x, const Tensor& output);

/// One reduction on the device, of shape dims.kept; not recorded. Sums and products have type `dtype`, else i64 for
/// integers and the program's type for floats.
Tensor run_reduce(const Program* program, std::span<const Scalar> params, std::span<const Tensor> inputs,
                  Combine combine, const ReducedDims& dims, const DType* dtype = nullptr, double scale = 1);

/// The pullbacks of reductions; `inputs` are those of the reduction, gradients have the shape dims.kept.
Pullback sum_pullback(const Program* program, std::span<const Scalar> params, std::span<const Tensor> inputs,
                      const ReducedDims& dims, double scale);
Pullback prod_pullback(const Tensor& x, const ReducedDims& dims);
/// The gradient goes to one element per result: the first of the greatest, or least.
Pullback extreme_pullback(const Tensor& x, const ReducedDims& dims, bool greatest);

/// Places (i64) of the greatest or least along the middle of a (inner, length, outer) tensor: (inner, 1, outer).
Tensor run_argreduce(const Tensor& x, bool greatest);

}  // namespace sluice::detail
