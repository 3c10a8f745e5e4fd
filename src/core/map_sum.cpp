// The gradient of a broadcast operand: the sum over the dimensions that were broadcast.
#include "sluice/ops.hpp"
#include "src/core/map.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::detail {

Tensor map_sum_to_shape(const Program* program, std::span<const Scalar> params, std::span<const Tensor> inputs,
                        const Shape& shape, DType dtype) {
  const Shape space = broadcast_all(inputs, "map");
  std::vector<int> dims;
  for (int d = 0; d < space.rank(); ++d) {
    if (shape[d] == 1 && space[d] != 1) dims.push_back(d);
  }
  const NoGrad guard;
  const Tensor sum = map_reduce_program(program, params, inputs, Combine::sum, Dims(std::move(dims)), {.dtype = dtype});
  return view(sum, 0, shape);
}

}  // namespace sluice::detail
