#include "sluice/dlpack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "sluice/backends.hpp"
#include "sluice/interop.hpp"
#include "sluice/tape.hpp"
#include "src/core/rethrow.hpp"
#include "src/core/strided_copy.hpp"

namespace sluice::inline v0 {
namespace {

namespace dl = dlpack;

struct TypeRow {
  std::uint8_t code, bits;
  DType dtype;
};
constexpr TypeRow kTypes[] = {{dl::kFloat, 64, f64},   {dl::kFloat, 32, f32}, {dl::kFloat, 16, f16},
                              {dl::kBfloat, 16, bf16}, {dl::kInt, 64, i64},   {dl::kInt, 32, i32},
                              {dl::kInt, 16, i16},     {dl::kInt, 8, i8},     {dl::kUInt, 8, u8},
                              {dl::kBool, 8, boolean}};

dl::DataType type_of(DType dtype) {
  const auto* const row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [dtype](const TypeRow& each) { return each.dtype == dtype; });
  return {row->code, row->bits, 1};
}

DType dtype_of_type(const dl::DataType& type) {
  for (const TypeRow& row : kTypes) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  }
  constexpr const char* kNames[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  throw TypeError(fmt::format("from_dlpack: elements of {}{} in {} lanes cannot be taken; convert them first",
                              type.code < std::size(kNames) ? kNames[type.code] : "an unknown kind of ", type.bits,
                              type.lanes));
}

// ---- Handing out.

/// Where a tensor lies, as DLPack says it.
dl::Device device_of_tensor(const Tensor& x, std::string_view operation) {
  const Device device = x.device();
  if (device == cpu_device()) return {dl::kCpu, 0};
  if (device.backend() == "CUDA") return {dl::kCuda, device.id()};
  if (device.backend() == "AMDGPU") return {dl::kRocm, device.id()};
  throw Unsupported(
      fmt::format("{}: the tensor is on {}; hand out a copy on the CPU, cpu(x)", operation, to_string(device)));
}

/// What an exported tensor lives in.
template <class Managed>
struct Lent {
  Tensor owner;
  std::array<std::int64_t, Shape::kMaxRank> shape{}, strides{};
  Managed managed{};
};

template <class Managed>
Managed* lend(const Tensor& x, std::string_view operation) {
  detail::require_value(x, operation);
  const dl::Device device = device_of_tensor(x, operation);
  auto lent = std::make_unique<Lent<Managed>>();
  lent->owner = detach(x);
  lent->strides = detail::dense_operand(x).strides;
  std::copy(x.shape().begin(), x.shape().end(), lent->shape.begin());
  lent->managed.tensor = {reinterpret_cast<void*>(memory_address(x)),
                          device,
                          x.rank(),
                          type_of(x.dtype()),
                          lent->shape.data(),
                          lent->strides.data(),
                          0};
  lent->managed.context = lent.get();
  lent->managed.deleter = [](Managed* self) { delete static_cast<Lent<Managed>*>(self->context); };
  return &lent.release()->managed;
}

// ---- Taking over.

template <class Managed>
void give_back(void* managed) noexcept {
  auto* const self = static_cast<Managed*>(managed);
  if (self->deleter != nullptr) self->deleter(self);
}

[[noreturn]] void refuse(const std::string& what) { throw ArgumentError("from_dlpack: " + what); }

/// Sizes and strides of a foreign tensor, in the order asked for.
struct Layout {
  Shape shape;
  std::array<std::int64_t, Shape::kMaxRank> strides{};
};

/// Whether the distance in bytes between two elements can be told, whichever they are.
bool is_within_reach(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides, DType dtype) {
  auto reach = static_cast<std::int64_t>(dtype.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::int64_t step = 0;
    if (__builtin_mul_overflow(std::max<std::int64_t>(sizes[d], 1) - 1, strides[d], &step)) return false;
    if (__builtin_mul_overflow(step, static_cast<std::int64_t>(dtype.size()), &step)) return false;
    if (step == std::numeric_limits<std::int64_t>::min()) return false;
    if (__builtin_add_overflow(reach, std::abs(step), &reach)) return false;
  }
  return true;
}

Layout layout_of(const dl::Tensor& tensor, DType dtype, bool reverse) {
  if (tensor.rank < 0 || tensor.rank > Shape::kMaxRank) {
    throw ShapeError(fmt::format("from_dlpack: {} dimensions; at most {} are possible", tensor.rank, Shape::kMaxRank));
  }
  const auto rank = static_cast<std::size_t>(tensor.rank);
  if (rank > 0 && tensor.shape == nullptr) refuse("there is no shape");
  std::vector<std::int64_t> sizes(tensor.shape, tensor.shape + rank), strides(rank);
  std::int64_t product = 1;
  for (std::size_t d = rank; d-- > 0;) {
    if (sizes[d] < 0) refuse(fmt::format("dimension {} has size {}", d, sizes[d]));
    strides[d] = tensor.strides == nullptr ? product : tensor.strides[d];
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(sizes[d], 1), &product))
      refuse("there are too many elements");
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(product, static_cast<std::int64_t>(dtype.size()), &bytes)) {
    refuse("there are too many elements");
  }
  if (!is_within_reach(sizes, strides, dtype)) refuse("the strides lead beyond any memory");
  if (reverse) {
    std::reverse(sizes.begin(), sizes.end());
    std::reverse(strides.begin(), strides.end());
  }
  Layout layout{Shape(sizes), {}};
  std::copy(strides.begin(), strides.end(), layout.strides.begin());
  return layout;
}

bool is_dense(const Layout& layout) {
  std::int64_t expected = 1;
  for (int d = 0; d < layout.shape.rank(); ++d) {
    if (layout.shape[d] != 1 && layout.strides[static_cast<std::size_t>(d)] != expected) return false;
    expected *= layout.shape[d];
  }
  return true;
}

void check_booleans(std::span<const std::byte> bytes) {
  if (std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; })) {
    refuse("an element of type bool is neither 0 nor 1");
  }
}

/// A dense copy of elements that lie anyhow.
Tensor copied(const Device& device, std::byte* data, const Layout& layout, DType dtype) {
  if (!device.impl()->is_host()) {
    throw Unsupported(
        fmt::format("from_dlpack: memory of {} is taken over only where its first dimension is contiguous; "
                    "pass .reverse = true for an array in C order, or make it contiguous there",
                    to_string(device)));
  }
  detail::Storage source(device.impl(), data, 0);
  Tensor copy = detail::empty(layout.shape, dtype, device.impl());
  detail::strided_copy(layout.shape, {&source, 0, dtype, layout.strides}, detail::dense_operand(copy));
  if (dtype == boolean) check_booleans(copy.bytes());
  return copy;
}

/// The elements where they lie; from then on the tensor gives `managed` back.
template <class Managed>
Tensor borrowed(const Device& device, std::byte* data, const Layout& layout, DType dtype, Managed* managed) {
  if (device.impl()->is_host() && dtype == boolean) {
    check_booleans({data, static_cast<std::size_t>(layout.shape.numel())});
  }
  return wrap_memory(device, reinterpret_cast<std::uintptr_t>(data), layout.shape, dtype,
                     [managed] { give_back<Managed>(managed); });
}

Device device_named(const char* backend, std::int32_t id) {
  try {
    return get_device(backend, id);
  } catch (const Error&) {
    detail::rethrow_in(fmt::format("from_dlpack: the memory is of {}:{}", backend, id));
  }
}

/// The device whose memory it is. Throws where there is no such device here.
Device device_of_memory(const dl::Device& device) {
  switch (device.type) {
    case dl::kCpu:
    case dl::kCudaHost:
    case dl::kRocmHost: return cpu_device();
    case dl::kCuda: return device_named("CUDA", device.id);
    case dl::kRocm: return device_named("AMDGPU", device.id);
    default: break;
  }
  throw Unsupported(
      fmt::format("from_dlpack: memory of DLPack's device type {} cannot be taken over; hand over a copy in "
                  "host memory and move the tensor with device(x)",
                  device.type));
}

template <class Managed>
Tensor take(Managed* managed, const dl::Tensor& tensor, bool reverse) {
  const Device device = device_of_memory(tensor.device);
  const DType dtype = dtype_of_type(tensor.dtype);
  const Layout layout = layout_of(tensor, dtype, reverse);
  const bool is_empty = layout.shape.numel() == 0;
  if (!is_empty && tensor.data == nullptr) refuse("there is no memory");
  auto* const data = static_cast<std::byte*>(tensor.data) + (is_empty ? 0 : tensor.byte_offset);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(data) % dtype.size() == 0;
  if (!is_aligned) refuse(fmt::format("the memory is not aligned to elements of {} bytes", dtype.size()));
  if (!is_empty && is_dense(layout)) return borrowed(device, data, layout, dtype, managed);
  Tensor copy = is_empty ? detail::empty(layout.shape, dtype, device.impl()) : copied(device, data, layout, dtype);
  give_back<Managed>(managed);
  return copy;
}

}  // namespace

dlpack::ManagedTensorVersioned* to_dlpack_versioned(const Tensor& x) {
  auto* const managed = lend<dlpack::ManagedTensorVersioned>(x, "to_dlpack_versioned");
  managed->major = dlpack::kMajorVersion;
  managed->minor = dlpack::kMinorVersion;
  managed->flags = dlpack::kReadOnly;
  return managed;
}

dlpack::ManagedTensor* to_dlpack(const Tensor& x) { return lend<dlpack::ManagedTensor>(x, "to_dlpack"); }

Tensor from_dlpack(dlpack::ManagedTensorVersioned* managed, const DlpackOptions& options) {
  if (managed == nullptr) refuse("a null pointer was given");
  if (managed->major != dlpack::kMajorVersion) {
    refuse(fmt::format("DLPack {}.{} is not known, only {}.x", managed->major, managed->minor, dlpack::kMajorVersion));
  }
  return take(managed, managed->tensor, options.reverse);
}

Tensor from_dlpack(dlpack::ManagedTensor* managed, const DlpackOptions& options) {
  if (managed == nullptr) refuse("a null pointer was given");
  return take(managed, managed->tensor, options.reverse);
}

}  // namespace sluice::inline v0
