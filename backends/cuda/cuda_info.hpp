// What CUDA says of a device.
#pragma once

#include "backends/streams/vendor.hpp"

namespace sluice::streams {

/// 90 for compute capability 9.0.
int compute_capability(DeviceNumber device);
/// The CUDA version of the driver, 12040 for 12.4.
int driver_version();
/// "12.4".
std::string driver_version_text();

}  // namespace sluice::streams
