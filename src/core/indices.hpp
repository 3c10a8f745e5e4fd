// Index tensors of gather, scatter_add and take_along.
#pragma once

#include <string_view>

#include "sluice/tensor.hpp"

namespace sluice::detail {

/// `indices` as devices take them, i64 and off the tape. Throws TypeError unless they are i64 or i32.
Tensor index_operand(const Tensor& indices, std::string_view operation);

}  // namespace sluice::detail
