// hipRTC itself, apart from devices: its functions, its options, and what it can compile for.
#pragma once

#include <string>
#include <vector>

#include "backends/hip/hip_api.hpp"

namespace sluice::streams {

/// Throws where the library lacks a function.
HiprtcApi find_hiprtc(const plugin::DriverLibrary& library);

/// For an architecture with its features, as a device names it. Without contraction to fused multiply-adds.
std::vector<std::string> hiprtc_options(const std::string& architecture);

/// "gfx90a" of "gfx90a:sramecc+:xnack-".
std::string without_features(const std::string& architecture);

/// The architectures that hipRTC's compiler has code for, without features; empty where it cannot be asked. `is_new`:
/// of ROCm 6.4 or later.
std::vector<std::string> architectures_of_compiler(bool is_new);

}  // namespace sluice::streams
