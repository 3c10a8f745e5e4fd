// The device object: a value that names a device and moves anything to it.
//
//   Device device = get_device();
//   auto model = Net{} | device;      // or device(model)
//
// Devices are compared by value and are cheap to copy. They can be used from any thread.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "sluice/dtype.hpp"
#include "sluice/shape.hpp"

namespace sluice::detail {
class DeviceImpl;
}

namespace sluice::inline v0 {

class CastingDevice;

class SLUICE_API Device {
 public:
  /// The CPU.
  Device();
  explicit Device(detail::DeviceImpl* impl) : impl_(impl) {}

  /// "CPU", "CUDA", "AMDGPU", "Metal" or "OpenCL".
  std::string_view backend() const;
  /// Number of the device within its backend, from 0.
  int id() const;
  /// What the maker calls it.
  std::string name() const;
  bool operator==(const Device&) const = default;

  /// `value` (a tensor, or anything that holds tensors) on this device, same type, element types kept, ties kept. What
  /// is there already is returned as it is. Defined in model.hpp.
  template <class T>
  T operator()(T value) const;
  template <class T>
  friend T operator|(T value, const Device& device) {
    return device(std::move(value));
  }
  /// A function that moves and converts the floating tensors: `device.as(f16)(model)`.
  CastingDevice as(DType dtype) const;

  detail::DeviceImpl* impl() const { return impl_; }

 private:
  detail::DeviceImpl* impl_;
};

/// What Device::as gives.
class SLUICE_API CastingDevice {
 public:
  CastingDevice(Device device, DType dtype) : device_(device), dtype_(dtype) {}
  template <class T>
  T operator()(T value) const;

 private:
  Device device_;
  DType dtype_;
};

/// "CPU" or "CUDA device 0: NVIDIA H200".
SLUICE_API std::ostream& operator<<(std::ostream& out, const Device& device);
SLUICE_API std::string to_string(const Device& device);

/// The CPU. Opens nothing.
SLUICE_API Device cpu_device();
/// The best device that works here. Never throws.
SLUICE_API Device get_device();

/// How many threads the CPU device may use, callers included; the default is the number of cores, or
/// $SLUICE_NUM_THREADS.
SLUICE_API int num_threads();
/// Sets it; `count` < 1 throws ArgumentError.
SLUICE_API void set_num_threads(int count);

}  // namespace sluice::inline v0
