// Index tensors of gather, scatter_add and take_along.
#pragma once

#include <string_view>

#include "sluice/tensor.hpp"

namespace sluice::detail {

/// Remembers between what the integers of `x` lie, all of its storage, given a copy of them in host memory. Does
/// nothing for types that cannot be indices.
void note_range(const Tensor& x, const void* values);

/// `indices` as devices take them, i64 and off the tape. Throws TypeError unless they are i64 or i32.
Tensor index_operand(const Tensor& indices, std::string_view operation);

}  // namespace sluice::detail
