#include "src/core/strided_copy.hpp"

#include <array>

namespace sluice::detail {

Operand part_of(const Tensor& x, int dim, std::int64_t first, std::int64_t step) {
  Operand operand = dense_operand(x);
  std::int64_t& stride = operand.strides[static_cast<std::size_t>(dim)];
  operand.offset += first * stride;
  stride *= step;
  return operand;
}

void strided_copy(Shape space, const Operand& from, const Operand& to) {
  if (space.numel() == 0) return;
  std::array operands{from, to};
  collapse(space, operands);
  to.storage->device->copy({space, operands[0], operands[1]});
}

}  // namespace sluice::detail
