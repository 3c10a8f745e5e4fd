// Tensors from device to device.
#pragma once

#include "sluice/tensor.hpp"
#include "src/device/device_impl.hpp"

namespace sluice::detail {

/// The elements of `x` on another device, through host memory; `x` itself if it is there. Differentiable: the gradient
/// moves back.
Tensor move_tensor(const Tensor& x, DeviceImpl* to);

}  // namespace sluice::detail
