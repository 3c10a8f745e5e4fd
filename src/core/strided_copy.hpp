// Copies between strided parts of tensors: what permute, slice, cat and expand are made of.
#pragma once

#include "src/core/tensor_rep.hpp"

namespace sluice::detail {

/// The part of `x` where dimension `dim` runs over first, first + step, ...; the other dimensions are whole.
Operand part_of(const Tensor& x, int dim, std::int64_t first, std::int64_t step = 1);

/// to(space) = from(space), on the device of both. Dimensions of `space` are in the order of memory of `to`.
void strided_copy(Shape space, const Operand& from, const Operand& to);

}  // namespace sluice::detail
