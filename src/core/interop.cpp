#include "sluice/interop.hpp"

#include <fmt/format.h>

#include <utility>

#include "sluice/error.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::inline v0 {

Tensor wrap_memory(const Device& device, std::uint64_t address, const Shape& shape, DType dtype,
                   std::function<void()> release) {
  detail::DeviceImpl& impl = *device.impl();
  detail::require_type(impl, dtype);
  if (shape.numel() == 0) {
    Tensor nothing = detail::empty(shape, dtype, &impl);
    if (release) detail::call_release(release);
    return nothing;
  }
  if (address == 0 || address % dtype.size() != 0) {
    throw ArgumentError(fmt::format("wrap_memory: address {:#x} cannot hold elements of {}", address, dtype.name()));
  }
  const std::size_t bytes = detail::bytes_of(shape, dtype);
  return detail::make_tensor(impl.wrap(address, bytes, std::move(release)), 0, shape, dtype);
}

std::uint64_t memory_address(const Tensor& x) {
  detail::require_value(x, "memory_address");
  if (x.numel() == 0) return 0;
  const detail::TensorRep& rep = *x.rep();
  return rep.storage->device->address(*rep.storage) + static_cast<std::uint64_t>(rep.offset) * rep.dtype.size();
}

}  // namespace sluice::inline v0
