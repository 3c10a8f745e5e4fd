// Running programs over tensors, without recording: what `map`, the reductions and the pullbacks stand on.
#pragma once

#include <span>
#include <vector>

#include "sluice/expr.hpp"
#include "src/core/program.hpp"

namespace sluice::detail {

/// The program applied to the broadcast inputs; not recorded. Inputs are given away: a sole-owned buffer that fits may
/// become an output. `output_types`, when not null, forces the type of every output.
SLUICE_API std::vector<Tensor> run_map(const Program* program, std::span<const Scalar> params, std::span<Tensor> inputs,
                                       const DType* output_types = nullptr);
Tensor run_map1(const Program* program, std::span<const Scalar> params, std::span<Tensor> inputs,
                const DType* output_types = nullptr);

/// `x` summed over the dimensions where `shape` has size 1 and x has not; the plain device reduction, not recorded. The
/// element type stays.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);

/// sum_to_shape(program(inputs)), in one pass that stores only the sums; not recorded. The result has type `dtype`.
Tensor map_sum_to_shape(const Program* program, std::span<const Scalar> params, std::span<const Tensor> inputs,
                        const Shape& shape, DType dtype);

/// The shape that all inputs broadcast to.
Shape broadcast_all(std::span<const Tensor> inputs, std::string_view operation);

/// Throws TypeError when an integer parameter does not fit the integer type it meets.
void check_params(const TypedProgram& program, std::span<const Scalar> params);

/// `params` followed by the parameters that the program brings. `storage` is used only if there are some.
std::span<const Scalar> all_params(const TypedProgram& program, std::span<const Scalar> params,
                                   std::vector<Scalar>& storage);

}  // namespace sluice::detail
