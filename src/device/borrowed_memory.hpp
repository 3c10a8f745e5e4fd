// Memory of a device that another library of the process owns, as storage of tensors.
#pragma once

#include <cstdint>

#include "src/device/device_impl.hpp"

namespace sluice::detail {

/// `bytes` at `address` as the vendor counts addresses. When no tensor lies in them any more, the device's queued work
/// is waited for and `give_back(lender)` is called. Throws Unsupported where the backend cannot do that, DeviceError
/// for what is no memory of the device; then the lender keeps it.
Storage* borrow_memory(DeviceImpl* device, std::uint64_t address, std::size_t bytes, void (*give_back)(void*) noexcept,
                       void* lender);

}  // namespace sluice::detail
