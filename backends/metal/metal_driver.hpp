// The runtime and the frameworks, opened at run time, and the devices of the machine.
#pragma once

#include <string>
#include <vector>

#include "backends/metal/metal_api.hpp"

namespace sluice::metal {

struct Driver {
  std::vector<id> devices;
  std::string left_out;  ///< why devices are missing, empty if none is
};

/// Starts Metal at the first call; throws Failure where there is none. Lives for ever.
const Driver& driver();

}  // namespace sluice::metal
