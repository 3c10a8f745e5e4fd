// What HIP says of a device.
#pragma once

#include <string>

#include "backends/streams/vendor.hpp"

namespace sluice::streams {

/// "gfx90a:sramecc+:xnack-": the architecture with its features, as the compiler takes it. Throws where the run-time
/// says something else.
std::string architecture_of(DeviceNumber device);
/// The version of the run-time, 60241133 for HIP 6.2.41133.
int runtime_version();
/// "6.2.41133".
std::string version_text(int version);
/// The library that holds HIP's run-time.
const plugin::DriverLibrary& hip_library();

}  // namespace sluice::streams
