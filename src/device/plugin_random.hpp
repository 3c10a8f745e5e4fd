// Uniform random numbers on plug-in devices: the CPU's, bit for bit.
#pragma once

#include "src/device/plugin_device.hpp"

namespace sluice::detail {

void plugin_uniform(PluginDevice& device, const Operand& output, std::int64_t count, RandomKey key);

}  // namespace sluice::detail
