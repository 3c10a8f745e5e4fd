#include "src/device/plugin_map.hpp"

#include <string>
#include <vector>

#include "src/device/kernel_call.hpp"
#include "src/device/renderer.hpp"

namespace sluice::detail {
namespace {

std::string key_of(const MapCall& call, std::span<const Lie> lies, bool is_wide) {
  std::string key = "map";
  put(key, &call.program);
  put(key, is_wide);
  key += static_cast<char>(call.space.rank());
  for (const Lie lie : lies) put(key, lie);
  return key;
}

KernelValues values_of(const MapCall& call, std::span<const Lie> lies, bool is_wide) {
  KernelValues values(is_wide);
  values.add_index({"count"}, call.space.numel());
  const int rank = call.space.rank();
  const std::vector<bool> loaded = loaded_inputs(call.program);
  bool has_general = false;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    if (!loaded[k]) continue;
    const int number = static_cast<int>(k);
    values.add_integer({"offset", number}, call.inputs[k].offset);
    if (lies[k] != Lie::general) continue;
    has_general = true;
    for (int dim = 0; dim < rank; ++dim) {
      values.add_stride({"stride", number, dim}, call.inputs[k].strides[static_cast<std::size_t>(dim)]);
    }
  }
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    values.add_integer({"out_offset", static_cast<int>(k)}, call.outputs[k].offset);
  }
  for (int dim = 0; has_general && dim + 1 < rank; ++dim) values.add_index({"size", dim}, call.space[dim]);
  add_params(values, call.program, call.params);
  return values;
}

}  // namespace

void plugin_map(PluginDevice& device, const MapCall& call) {
  if (call.space.numel() == 0) return;
  const KernelTarget target = kernel_target(device);
  require_registers(call.program, target, "map");
  std::vector<Lie> lies;
  for (const Operand& input : call.inputs) lies.push_back(lie_of(input, call.space));
  const bool is_wide = needs_wide_index(call.space, call.inputs);
  KernelValues values = values_of(call, lies, is_wide);

  KernelCall kernel_call(device);
  const std::vector<bool> loaded = loaded_inputs(call.program);
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    if (loaded[k]) kernel_call.add(call.inputs[k]);
  }
  for (const Operand& output : call.outputs) kernel_call.add(output);
  kernel_call.require_room("map", values);

  sluice_kernel* const kernel = device.kernels().get(key_of(call, lies, is_wide), [&] {
    return device.compile(render_map(call.program, lies, call.space.rank(), values, target).c_str(), "sluice_map");
  });
  kernel_call.launch(kernel, groups_for(call.space.numel()), values);
}

}  // namespace sluice::detail
