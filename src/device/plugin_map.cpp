#include "src/device/plugin_map.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
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

KernelValues values_of(const MapCall& call, std::span<const Lie> lies, const std::vector<bool>& loaded, bool is_wide) {
  KernelValues values(is_wide);
  values.add_index({"count"}, call.space.numel());
  const int rank = call.space.rank();
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

void run_whole(PluginDevice& device, const MapCall& call, bool is_wide) {
  const KernelTarget target = kernel_target(device);
  std::vector<Lie> lies;
  lies.reserve(call.inputs.size());
  for (const Operand& input : call.inputs) lies.push_back(lie_of(input, call.space));
  const std::vector<bool> loaded = loaded_inputs(call.program);
  KernelValues values = values_of(call, lies, loaded, is_wide);
  KernelCall kernel_call(device);
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    if (loaded[k]) kernel_call.add(call.inputs[k]);
  }
  for (const Operand& output : call.outputs) kernel_call.add(output);
  sluice_kernel* const kernel = device.kernels().get(key_of(call, lies, is_wide), [&] {
    return device.compile(render_map(call.program, lies, call.space.rank(), values, target).c_str(), "sluice_map");
  });
  kernel_call.launch(kernel, groups_for(call.space.numel()), values);
}

// ---- In parts.

/// Kept for ever, as programs are.
const SplitProgram& parts_of(const TypedProgram& program, int rank, bool is_wide) {
  static std::mutex mutex;
  static std::map<std::tuple<const TypedProgram*, int, bool>, SplitProgram> known;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace({&program, rank, is_wide});
  if (is_new) found->second = split_program(program, kernel_room(rank, is_wide));
  return found->second;
}

class PartsRun {
 public:
  PartsRun(PluginDevice& device, const MapCall& call, const SplitProgram& split)
      : device_(device), call_(call), outputs_(call.outputs.begin(), call.outputs.end()) {
    for (const DType dtype : split.temporaries) temporaries_.push_back(scratch(dtype));
    for (const ProgramPart& part : split.parts) run(part);
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      if (outputs_[o].storage != call.outputs[o].storage) device.copy({call.space, outputs_[o], call.outputs[o]});
    }
  }

 private:
  Operand scratch(DType dtype) {
    const auto bytes = static_cast<std::size_t>(call_.space.numel()) * dtype.size();
    return scratches_.emplace_back(device_, bytes).dense(dtype, call_.space);
  }

  // An output may lie where an input does, which a later part may still need.
  Operand output(std::size_t number) {
    Operand& operand = outputs_[number];
    const bool is_shared =
        std::ranges::any_of(call_.inputs, [&](const Operand& input) { return input.storage == operand.storage; });
    if (is_shared) operand = scratch(operand.dtype);
    return operand;
  }

  void run(const ProgramPart& part) {
    std::vector<Operand> inputs, outputs;
    for (const PartTensor& tensor : part.inputs) {
      inputs.push_back(tensor.is_temporary ? temporaries_[tensor.number] : call_.inputs[tensor.number]);
    }
    for (const PartTensor& tensor : part.outputs) {
      outputs.push_back(tensor.is_temporary ? temporaries_[tensor.number] : output(tensor.number));
    }
    plugin_map(device_, {*part.program, call_.params, call_.space, inputs, outputs});
  }

  PluginDevice& device_;
  const MapCall& call_;
  std::vector<Operand> outputs_, temporaries_;
  std::deque<DeviceScratch> scratches_;
};

}  // namespace

void plugin_map(PluginDevice& device, const MapCall& call) {
  if (call.space.numel() == 0) return;
  require_registers(call.program, kernel_target(device), "map");
  const bool is_wide = needs_wide_index(call.space, call.inputs);
  const int rank = call.space.rank();
  if (has_room(call.program, kernel_room(rank, is_wide))) return run_whole(device, call, is_wide);
  PartsRun(device, call, parts_of(call.program, rank, is_wide));
}

}  // namespace sluice::detail
