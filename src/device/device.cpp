#include "sluice/device.hpp"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "sluice/error.hpp"
#include "src/core/warn.hpp"
#include "src/device/device_impl.hpp"
#include "src/device/thread_pool.hpp"

namespace sluice::detail {

void call_release(const std::function<void()>& release) noexcept {
  try {
    release();
  } catch (...) {
    warn_once("release", "An owner of wrapped memory threw an exception when it got its memory back");
  }
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): devices that wrap memory keep it
Storage* DeviceImpl::wrap(std::uint64_t, std::size_t, std::function<void()>) {
  throw Unsupported("wrap_memory: " + short_name(*this) + " takes no memory of others");
}

std::uint64_t DeviceImpl::address(const Storage&) {
  throw Unsupported("memory_address: " + short_name(*this) + " gives no addresses");
}

void DeviceImpl::copy_from_device(Storage& to, const Storage& from, std::size_t from_offset, std::size_t bytes) {
  const std::unique_ptr<std::byte[]> staging(new std::byte[bytes]);
  from.device->read(from, from_offset, staging.get(), bytes);
  write(to, 0, staging.get(), bytes);
}

std::string short_name(const DeviceImpl& device) {
  if (device.backend() == "CPU") return "CPU";
  return fmt::format("{} device {}", device.backend(), device.id());
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

Device::Device() : impl_(detail::cpu_device_impl()) {}

std::string_view Device::backend() const { return impl_->backend(); }

int Device::id() const { return impl_->id(); }

std::string Device::name() const { return impl_->name(); }

std::uint64_t Device::native_handle() const { return impl_->native_handle(); }

CastingDevice Device::as(DType dtype) const {
  if (!dtype.is_floating()) {
    throw TypeError(
        fmt::format("Device::as: {} is not a floating type; only floating tensors are converted", dtype.name()));
  }
  return {*this, dtype};
}

std::string to_string(const Device& device) {
  const std::string name = detail::short_name(*device.impl());
  return device.backend() == "CPU" ? name : fmt::format("{}: {}", name, device.name());
}

std::ostream& operator<<(std::ostream& out, const Device& device) { return out << to_string(device); }

Device cpu_device() { return Device(); }

int num_threads() { return detail::num_threads(); }

void set_num_threads(int count) {
  if (count < 1) throw ArgumentError(fmt::format("set_num_threads: {} threads; at least 1 is needed", count));
  detail::set_num_threads(count);
}

}  // namespace sluice::inline v0
