// What the environment tells the stand-in for Metal; README.md describes it.
#pragma once

#include <string>

#include "tests/simulated/virtual_settings.hpp"

namespace simulated_metal {

/// Read once; dies if they are wrong.
const virtual_gpu::Settings& settings();
/// Whether device `number` shares the host's memory.
bool is_unified(int number);

/// The code with which this call fails, 0 if it does not. Counts calls; the caller holds the lock of the stand-in.
int planned_fault(const std::string& call);

}  // namespace simulated_metal
