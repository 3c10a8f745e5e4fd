// Sharing memory with other libraries, without a copy: their memory as a tensor, a tensor's memory for them.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "sluice/tensor.hpp"

namespace sluice::inline v0 {

/// A tensor in memory that somebody else owns: column-major and dense from `address` on, an address of the host's for
/// the CPU, a CUdeviceptr or hipDeviceptr_t of the device's primary context for CUDA and AMDGPU. What fills it must
/// have finished, and nobody may write it while the tensor or anything made from it without a copy lives. `release` is
/// called once, by any thread, when the last handle is gone and no queued work uses the memory; not if this throws.
///
///   std::vector<float> samples(6, 1.0F);
///   Tensor x = wrap_memory(cpu_device(), samples.data(), {2, 3}, f32);
///
/// Throws ArgumentError for null and for an address that is not a multiple of the element size, DeviceError where the
/// driver does not know so many bytes there, Unsupported on devices without addresses (OpenCL) or without the type.
SLUICE_API Tensor wrap_memory(const Device& device, std::uint64_t address, const Shape& shape, DType dtype,
                              std::function<void()> release = {});

/// The same for a pointer.
template <class T>
Tensor wrap_memory(const Device& device, T* address, const Shape& shape, DType dtype,
                   std::function<void()> release = {}) {
  return wrap_memory(device, reinterpret_cast<std::uint64_t>(address), shape, dtype, std::move(release));
}

/// Where the elements of `x` begin, for libraries that compute on the same device; waits until they are computed. 0 if
/// there are none. They may be read while a handle on them lives, and never written. Throws Unsupported on devices
/// without addresses.
SLUICE_API std::uint64_t memory_address(const Tensor& x);

}  // namespace sluice::inline v0
