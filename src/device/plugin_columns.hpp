// Softmax, moments and the places of extremes on plug-in devices: what works along the columns of an AxisCall.
#pragma once

#include "src/device/plugin_device.hpp"

namespace sluice::detail {

void plugin_softmax(PluginDevice& device, const AxisCall& call, SoftmaxKind kind);
void plugin_moments(PluginDevice& device, const AxisCall& call, const Operand& variance, std::int64_t correction);
void plugin_argreduce(PluginDevice& device, const AxisCall& call, bool greatest);

}  // namespace sluice::detail
