#include "sluice/tensor.hpp"

#include <fmt/format.h>

#include <cstring>

#include "src/core/tensor_rep.hpp"

namespace sluice::inline v0 {
namespace {

std::string_view cpp_name(DType dtype) {
  constexpr std::string_view kNames[DType::kCount] = {"bool",         "std::uint8_t", "std::int8_t", "std::int16_t",
                                                      "std::int32_t", "std::int64_t", "Float16",     "BFloat16",
                                                      "float",        "double"};
  return kNames[dtype.code()];
}

const detail::TensorRep& checked(const Tensor& x, std::string_view operation) {
  detail::require_value(x, operation);
  return *x.rep();
}

void require_dtype(const detail::TensorRep& rep, DType asked, std::string_view operation) {
  if (rep.dtype == asked) return;
  throw TypeError(fmt::format("{}<{}>: the tensor holds {}; use {}<{}>() or cast(x, {})", operation, asked.name(),
                              rep.dtype.name(), operation, cpp_name(rep.dtype), asked.name()));
}

std::size_t bytes_of(const detail::TensorRep& rep) {
  return static_cast<std::size_t>(rep.shape.numel()) * rep.dtype.size();
}

std::size_t offset_of(const detail::TensorRep& rep) { return static_cast<std::size_t>(rep.offset) * rep.dtype.size(); }

const std::byte* host_bytes(const detail::TensorRep& rep, std::string_view operation) {
  const detail::DeviceImpl& device = *rep.storage->device;
  if (!device.is_host()) {
    throw DeviceError(fmt::format("{}: the tensor is on {}, not in host memory; use (x | cpu_device()), or to_vector",
                                  operation, detail::short_name(device)));
  }
  return static_cast<const std::byte*>(rep.storage->data) + offset_of(rep);
}

}  // namespace

const Shape& Tensor::shape() const { return checked(*this, "shape").shape; }

DType Tensor::dtype() const { return checked(*this, "dtype").dtype; }

Device Tensor::device() const { return Device(checked(*this, "device").storage->device); }

std::int64_t Tensor::size(int dim) const {
  const Shape& sizes = checked(*this, "size").shape;
  if (dim >= 0 && dim < Shape::kMaxRank) return sizes[dim];
  throw IndexError(fmt::format("size: dimension {} is out of range 0 ... {}", dim, Shape::kMaxRank - 1));
}

std::span<const std::byte> Tensor::bytes() const {
  const detail::TensorRep& rep = checked(*this, "bytes");
  return {host_bytes(rep, "bytes"), bytes_of(rep)};
}

void Tensor::copy_out(void* destination, DType dtype, std::string_view operation) const {
  const detail::TensorRep& rep = checked(*this, operation);
  if (operation == "item" && rep.shape.numel() != 1) {
    throw ShapeError(fmt::format("item: the tensor has {} elements, shape {}; use to_vector", rep.shape.numel(),
                                 to_string(rep.shape)));
  }
  require_dtype(rep, dtype, operation);
  const std::size_t bytes = bytes_of(rep);
  if (bytes == 0) return;
  detail::DeviceImpl& device = *rep.storage->device;
  if (device.is_host()) std::memcpy(destination, host_bytes(rep, operation), bytes);
  else device.read(*rep.storage, offset_of(rep), destination, bytes);
}

const void* Tensor::host_data(DType dtype) const {
  const detail::TensorRep& rep = checked(*this, "span");
  require_dtype(rep, dtype, "span");
  return host_bytes(rep, "span");
}

}  // namespace sluice::inline v0
