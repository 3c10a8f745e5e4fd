// Several tensors joined along one dimension.
#include <string>

#include "sluice/ops.hpp"
#include "src/core/strided_copy.hpp"

namespace sluice::inline v0 {
namespace {

void check_parts(const std::vector<Tensor>& parts, std::string_view operation) {
  if (parts.empty()) throw ArgumentError(std::string(operation) + ": no tensors are given");
  for (const Tensor& part : parts) detail::require_value(part, operation);
}

// Shapes agree but for the size of `except` (-1: agree altogether).
void check_shapes(const std::vector<Tensor>& parts, int except, std::string_view operation) {
  const Shape& first = parts[0].shape();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Shape& shape = parts[i].shape();
    const bool same_rank = shape.rank() == first.rank();
    if (same_rank && (except < 0 ? shape : shape.with(except, first[except])) == first) continue;
    const std::string where = except < 0  ? "shapes"
                              : same_rank ? "sizes outside dimension " + std::to_string(except)
                                          : "ranks";
    throw ShapeError(std::string(operation) + ": " + where + " differ, " + to_string(first) + " and " +
                     to_string(shape) + " (tensor " + std::to_string(i) + ")");
  }
}

std::vector<Tensor> promoted(const std::vector<Tensor>& parts) {
  DType dtype = parts[0].dtype();
  for (const Tensor& part : parts) dtype = promote(dtype, part.dtype());
  std::vector<Tensor> result;
  result.reserve(parts.size());
  for (const Tensor& part : parts) result.push_back(part.dtype() == dtype ? part : cast(part, dtype));
  return result;
}

// Where each part begins, and the end of the last.
std::vector<std::int64_t> starts_of(const std::vector<Tensor>& parts, int dim) {
  std::vector<std::int64_t> starts{0};
  for (const Tensor& part : parts) {
    const std::int64_t size = part.shape()[dim];
    // An overflowing sum becomes a negative size, which Shape refuses.
    starts.push_back(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(starts.back()) + static_cast<std::uint64_t>(size)));
  }
  return starts;
}

Tensor joined(const std::vector<Tensor>& parts, int dim, const std::vector<std::int64_t>& starts) {
  detail::DeviceImpl* device = detail::common_device(parts, "cat");
  Tensor y = detail::empty(parts[0].shape().with(dim, starts.back()), parts[0].dtype(), device);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    detail::strided_copy(parts[i].shape(), detail::dense_operand(parts[i]), detail::part_of(y, dim, starts[i]));
  }
  return y;
}

}  // namespace

Tensor cat(const std::vector<Tensor>& parts, int dim) {
  check_parts(parts, "cat");
  detail::checked_dim(dim, parts[0].rank(), "cat");
  check_shapes(parts, dim, "cat");
  detail::common_device(parts, "cat");
  const std::vector<Tensor> inputs = promoted(parts);
  std::vector<std::int64_t> starts = starts_of(inputs, dim);
  Tensor y = joined(inputs, dim, starts);
  if (detail::tracked(inputs)) {
    detail::record(std::span<Tensor>(&y, 1), inputs,
                   [dim, starts = std::move(starts)](std::span<const Tensor> gradients, Needed needed) {
                     std::vector<Tensor> result(starts.size() - 1);
                     for (std::size_t i = 0; i < result.size(); ++i) {
                       if (needed[i]) result[i] = slice(gradients[0], dim, starts[i], starts[i + 1]);
                     }
                     return result;
                   });
  }
  return y;
}

Tensor stack(const std::vector<Tensor>& parts, int dim) {
  check_parts(parts, "stack");
  check_shapes(parts, -1, "stack");
  detail::checked_dim(dim, parts[0].rank() + 1, "stack");
  std::vector<Tensor> slices;
  slices.reserve(parts.size());
  for (const Tensor& part : parts) slices.push_back(unsqueeze(part, dim));
  return cat(slices, dim);
}

}  // namespace sluice::inline v0
