#include "src/core/tensor_rep.hpp"

#include <fmt/format.h>

namespace sluice::detail {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

void release_storage(Storage* storage) noexcept {
  // A sole owner needs no atomic decrement: nobody else can reach the block to retain it.
  if (storage->refs.load(std::memory_order_acquire) != 1 &&
      storage->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (!storage->lent) return storage->device->free(storage);
  auto* const lent = static_cast<LentStorage*>(storage);
  lent->give_back(lent->lender);
  delete lent;
}

// Whether every operand walks dimension d + 1 right after dimension d.
bool is_mergeable(std::span<const Operand> operands, std::size_t d, std::int64_t size, std::size_t next) {
  for (const Operand& operand : operands) {
    if (operand.strides[next] != operand.strides[d] * size) return false;
  }
  return true;
}

}  // namespace

void retain(TensorRep* rep) noexcept {
  if (rep != nullptr) rep->refs.fetch_add(1, std::memory_order_relaxed);
}

void release(TensorRep* rep) noexcept {
  if (rep == nullptr) return;
  if (rep->refs.load(std::memory_order_acquire) != 1 && rep->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  release_storage(rep->storage);
  delete rep;
}

Tensor make_tensor(Storage* storage, std::int64_t offset, const Shape& shape, DType dtype) {
  try {
    return Tensor(new TensorRep{1, dtype, storage, offset, shape});
  } catch (...) {
    release_storage(storage);
    throw;
  }
}

Tensor empty(const Shape& shape, DType dtype, DeviceImpl* device) {
  if (dtype == f64 && !device->has_f64()) {
    throw Unsupported(fmt::format(
        "{} has no f64; convert first, for example f32(model), or use gpu(model), which narrows", short_name(*device)));
  }
  const auto size = static_cast<std::int64_t>(dtype.size());
  // A size beyond the address space is left to the device to refuse.
  const std::int64_t bytes = shape.numel() > kMaxBytes / size ? kMaxBytes : shape.numel() * size;
  return make_tensor(device->allocate(static_cast<std::size_t>(bytes)), 0, shape, dtype);
}

Tensor view(const Tensor& x, std::int64_t offset, const Shape& shape) {
  const TensorRep& rep = *x.rep();
  rep.storage->refs.fetch_add(1, std::memory_order_relaxed);
  return make_tensor(rep.storage, offset, shape, rep.dtype);
}

void require_value(const Tensor& x, std::string_view operation) {
  if (x.rep() == nullptr) throw ArgumentError(fmt::format("{}: a tensor that holds nothing was given", operation));
}

DeviceImpl* common_device(std::span<const Tensor> inputs, std::string_view operation) {
  DeviceImpl* const device = device_of_rep(inputs.front());
  for (const Tensor& input : inputs) {
    DeviceImpl* const other = device_of_rep(input);
    if (other == device) continue;
    throw DeviceError(fmt::format("{}: operands are on {} and {}; move one first, for example y | x.device()",
                                  operation, short_name(*device), short_name(*other)));
  }
  return device;
}

Operand dense_operand(const Tensor& x) {
  const TensorRep& rep = *x.rep();
  Operand operand{rep.storage, rep.offset, rep.dtype, {}};
  std::int64_t stride = 1;
  for (int d = 0; d < rep.shape.rank(); ++d) {
    operand.strides[static_cast<std::size_t>(d)] = stride;
    stride *= rep.shape[d];
  }
  return operand;
}

Operand broadcast_operand(const Tensor& x, const Shape& space) {
  Operand operand = dense_operand(x);
  const Shape& shape = x.rep()->shape;
  for (int d = 0; d < space.rank(); ++d) {
    if (shape[d] == 1 && space[d] != 1) operand.strides[static_cast<std::size_t>(d)] = 0;
  }
  return operand;
}

void collapse(Shape& space, std::span<Operand> operands) {
  std::array<std::int64_t, Shape::kMaxRank> sizes{1};
  std::size_t rank = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(space.rank()); ++d) {
    const std::int64_t size = space[static_cast<int>(d)];
    if (size == 1) continue;
    if (rank > 0 && is_mergeable(operands, rank - 1, sizes[rank - 1], d)) {
      sizes[rank - 1] *= size;
      continue;
    }
    sizes[rank] = size;
    for (Operand& operand : operands) operand.strides[rank] = operand.strides[d];
    ++rank;
  }
  if (rank == 0) {
    for (Operand& operand : operands) operand.strides[0] = 1;
    rank = 1;
  }
  space = Shape(std::span<const std::int64_t>(sizes.data(), rank));
}

int checked_dim(int dim, int rank, std::string_view operation) {
  if (dim >= 0 && dim < rank) return dim;
  if (rank == 0) throw IndexError(fmt::format("{}: dimension {} of a 0-dimensional tensor", operation, dim));
  throw IndexError(
      fmt::format("{}: dimension {} is out of range; the tensor has dimensions 0 ... {}", operation, dim, rank - 1));
}

}  // namespace sluice::detail
