// What a Tensor's handle points at, and the helpers every operation uses to look inside tensors and make new ones.
#pragma once

#include <atomic>
#include <string_view>

#include "sluice/tensor.hpp"
#include "src/device/device_impl.hpp"

namespace sluice::detail {

struct TensorRep {
  std::atomic<std::uint32_t> refs{1};
  DType dtype;
  Storage* storage;     // one reference is ours
  std::int64_t offset;  // in elements
  Shape shape;
};

/// Adopts one reference to `storage`.
Tensor make_tensor(Storage* storage, std::int64_t offset, const Shape& shape, DType dtype);
/// Throws Unsupported, with the way out, unless a device has an element type.
void require_type(const DeviceImpl& device, DType dtype);
/// Bytes of the elements. More than an address space can have become as much as it can, which devices refuse.
std::size_t bytes_of(const Shape& shape, DType dtype);
/// Fresh memory, not filled.
Tensor empty(const Shape& shape, DType dtype, DeviceImpl* device);
/// A new handle on the same storage, not tracked; `offset` counts elements from the start of the storage.
Tensor view(const Tensor& x, std::int64_t offset, const Shape& shape);

/// Throws ArgumentError naming `operation` if x holds nothing.
void require_value(const Tensor& x, std::string_view operation);
inline DeviceImpl* device_of_rep(const Tensor& x) { return x.rep()->storage->device; }
/// The device of all (at least one, none empty); throws DeviceError naming both devices and the call that fixes it.
DeviceImpl* common_device(std::span<const Tensor> inputs, std::string_view operation);

/// x as an operand of a call over its own shape (dense strides).
Operand dense_operand(const Tensor& x);
/// Strides for walking x over the space it broadcasts to: 0 where its size is 1 and that of the space is not.
Operand broadcast_operand(const Tensor& x, const Shape& space);
/// Drops dimensions of size 1 and merges neighbours that every operand walks contiguously, or not at all; the space and
/// the strides of all operands change. What is left has at least one dimension; a space of one element becomes (1),
/// walked with stride 1.
void collapse(Shape& space, std::span<Operand> operands);

/// Checks a dimension number against `rank` (0 <= dim < rank), naming the operation in the IndexError.
int checked_dim(int dim, int rank, std::string_view operation);

}  // namespace sluice::detail
