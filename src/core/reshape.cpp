// Operations that only rename dimensions: the result is a new handle on the same storage.
#include <string>
#include <vector>

#include "sluice/ops.hpp"
#include "src/core/recorded.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::inline v0 {
namespace {

Tensor reshaped(const Tensor& x, const Shape& shape) {
  return detail::recorded(detail::view(x, x.rep()->offset, shape), x,
                          [from = x.shape()](const Tensor& g) { return reshape(g, from); });
}

std::string written(std::span<const std::int64_t> sizes) {
  std::string text = "(";
  for (const std::int64_t size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + ")";
}

[[noreturn]] void throw_misfit(const Shape& shape, const std::string& wanted) {
  throw ShapeError("reshape: " + to_string(shape) + " has " + std::to_string(shape.numel()) + " elements, " + wanted +
                   " cannot hold them");
}

// The sizes with -1 replaced by what is left.
Shape resolved(const Shape& shape, std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> complete(sizes.begin(), sizes.end());
  std::int64_t* open = nullptr;
  for (std::int64_t& size : complete) {
    if (size >= 0) continue;
    if (size != -1) throw ShapeError("reshape: a size of " + std::to_string(size) + " in " + written(sizes));
    if (open != nullptr)
      throw ShapeError("reshape: more than one size of -1 in " + written(sizes) + "; give all but one");
    open = &size;
  }
  if (open == nullptr) return Shape(complete);
  *open = 1;
  const std::int64_t known = Shape(complete).numel();
  if (known == 0) {
    throw ShapeError("reshape: the size of -1 in " + written(sizes) + " could be anything beside a size of 0; give it");
  }
  if (shape.numel() % known != 0) throw_misfit(shape, written(sizes));
  *open = shape.numel() / known;
  return Shape(complete);
}

}  // namespace

Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> sizes) {
  detail::require_value(x, "reshape");
  return reshape(x, resolved(x.shape(), {sizes.begin(), sizes.size()}));
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  detail::require_value(x, "reshape");
  if (shape.numel() != x.numel()) throw_misfit(x.shape(), to_string(shape));
  return reshaped(x, shape);
}

Tensor squeeze(const Tensor& x) {
  detail::require_value(x, "squeeze");
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : x.shape()) {
    if (size != 1) sizes.push_back(size);
  }
  return reshaped(x, Shape(sizes));
}

Tensor squeeze(const Tensor& x, int dim) {
  detail::require_value(x, "squeeze");
  const Shape& shape = x.shape();
  detail::checked_dim(dim, shape.rank(), "squeeze");
  if (shape[dim] != 1) {
    throw ShapeError("squeeze: dimension " + std::to_string(dim) + " of " + to_string(shape) + " has size " +
                     std::to_string(shape[dim]) + ", not 1");
  }
  return reshaped(x, shape.erased(dim));
}

Tensor unsqueeze(const Tensor& x, int dim) {
  detail::require_value(x, "unsqueeze");
  const Shape& shape = x.shape();
  if (shape.rank() == Shape::kMaxRank) {
    throw ShapeError("unsqueeze: " + to_string(shape) + " has " + std::to_string(Shape::kMaxRank) +
                     " dimensions already, the most there can be");
  }
  detail::checked_dim(dim, shape.rank() + 1, "unsqueeze");
  return reshaped(x, shape.inserted(dim, 1));
}

Tensor flatten_batch(const Tensor& x) {
  detail::require_value(x, "flatten_batch");
  const Shape& shape = x.shape();
  std::int64_t features = 1;
  for (int dim = 0; dim + 1 < shape.rank(); ++dim) features *= shape[dim];
  return reshaped(x, Shape{features, shape.back()});
}

}  // namespace sluice::inline v0
