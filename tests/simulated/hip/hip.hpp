// What the parts of the simulated HIP agree on.
#pragma once

#include <string>
#include <vector>

#include "tests/simulated/streams/settings.hpp"

namespace simulated {

/// Of the devices, with features.
inline std::string architecture() { return text_of("SIMULATED_HIP_ARCHITECTURE", "gfx90a:sramecc+:xnack-"); }

/// Those that hipRTC compiles for, without features.
inline std::vector<std::string> known_architectures() {
  return list_of("SIMULATED_HIP_KNOWN", "gfx906,gfx90a,gfx942,gfx1030,gfx1100");
}

}  // namespace simulated
