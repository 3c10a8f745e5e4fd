// What Metal says of a device.
#pragma once

#include "backends/metal/metal_api.hpp"
#include "sluice/backend.h"

namespace sluice::metal {

bool is_unified(id device);
void describe(id device, sluice_device_info& info);

}  // namespace sluice::metal
