// The device object: a value that names a device and moves anything to it.
//
//   Device device = get_device();
//   auto model = Net{} | device;      // or device(model)
//
// Devices are compared by value and are cheap to copy. They can be used from any thread.
#pragma once

#include <cstdint>
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
  /// The vendor's handle as a number (CUdevice, hipDevice_t, id<MTLDevice>, cl_device_id); 0 for the CPU.
  std::uint64_t native_handle() const;
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

struct DeviceOptions {
  bool verbose = false;  ///< say which backend is used
};
/// The device of the backend that the preferences name (backends.hpp), else the best one that works here: CUDA before
/// AMDGPU before Metal before OpenCL before the CPU, discrete before integrated, then the lowest number. Never throws;
/// a wish that cannot be followed and hardware that cannot be used are warned of once.
SLUICE_API Device get_device(DeviceOptions options = {});
/// Device `n`, from 0, of "CUDA", "AMDGPU", "Metal", "OpenCL" or another backend; "CPU" ignores n. A name may bring its
/// number, "OpenCL:1", as it comes from an option or a file. Throws ArgumentError for an unknown name, DeviceError with
/// the reason when the backend or device cannot be used, IndexError that gives the count when there is no such number.
SLUICE_API Device get_device(std::string_view backend, int n = 0);
/// The same as get_device(), and device `n` of its backend; the CPU where there is nothing else.
SLUICE_API Device gpu_device();
SLUICE_API Device gpu_device(int n);

/// How many threads the CPU device may use, callers included; the default is the number of cores, or
/// $SLUICE_NUM_THREADS.
SLUICE_API int num_threads();
/// Sets it; `count` < 1 throws ArgumentError.
SLUICE_API void set_num_threads(int count);

}  // namespace sluice::inline v0
