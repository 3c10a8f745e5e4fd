// Elementwise programs on the CPU: the flat index space in pieces over the thread pool.
#pragma once

#include "src/device/device_impl.hpp"

namespace sluice::detail {

void cpu_map(const MapCall& call);

}  // namespace sluice::detail
