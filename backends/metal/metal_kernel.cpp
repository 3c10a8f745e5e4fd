#include "backends/metal/metal_kernel.hpp"

#include "backends/common/failure.hpp"

namespace sluice::metal {
namespace {

using plugin::Failure;

// What an address in a kernel may be cut to: the alignment of the largest type there is.
constexpr std::uint64_t kAlignment = 16;

}  // namespace

LoadedKernel::LoadedKernel(Device& device, const sluice_source& source)
    : device_(device),
      name_(source.entry),
      pipeline_(make_pipeline(device.handle(), with_options(source.text, source.options), source.entry, &parameters_)),
      group_size_(send().most_threads(pipeline_.get())) {}

void LoadedKernel::refuse(sluice_status status, std::uint32_t index, const std::string& text) const {
  throw Failure(status, "kernel " + name_ + ": argument " + std::to_string(index) + " " + text);
}

void LoadedKernel::check_shape(const sluice_launch& launch) const {
  std::uint64_t items = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.group_size[i] == 0 || launch.groups[i] == 0) {
      throw Failure(SLUICE_ERROR, "kernel " + name_ + ": an empty grid or group");
    }
    items *= launch.group_size[i];
    if (items > group_size_) {
      throw Failure(SLUICE_UNSUPPORTED, "kernel " + name_ + ": groups of " + std::to_string(launch.group_size[0]) +
                                            " x " + std::to_string(launch.group_size[1]) + " x " +
                                            std::to_string(launch.group_size[2]) + " items; this kernel has at most " +
                                            std::to_string(group_size_) + " on this device");
    }
  }
}

// Metal takes what it is given and reads on behind what is too short.
void LoadedKernel::check_arguments(const sluice_launch& launch) const {
  if (launch.argument_count > kMostSlots) {
    throw Failure(SLUICE_UNSUPPORTED, "kernel " + name_ + " is given " + std::to_string(launch.argument_count) +
                                          " arguments; Metal has " + std::to_string(kMostSlots) + " places for them");
  }
  for (std::uint32_t k = 0; k < launch.argument_count; ++k) {
    const sluice_argument& argument = launch.arguments[k];
    if (argument.memory != 0) {
      if (argument.offset % kAlignment != 0) {
        refuse(SLUICE_UNSUPPORTED, k, "has an offset that is no multiple of " + std::to_string(kAlignment));
      }
    } else if (argument.value == nullptr || argument.bytes == 0) {
      refuse(SLUICE_ERROR, k, "is neither memory nor a value");
    } else if (argument.bytes > kMostValueBytes) {
      refuse(SLUICE_UNSUPPORTED, k,
             "has " + std::to_string(argument.bytes) + " bytes; Metal takes values of at most " +
                 std::to_string(kMostValueBytes));
    }
  }
  for (const Parameter& parameter : parameters_) {
    const auto slot = static_cast<std::uint32_t>(parameter.slot);
    if (slot >= launch.argument_count) {
      throw Failure(SLUICE_ERROR, "kernel " + name_ + " takes an argument " + std::to_string(slot) + ", and is given " +
                                      std::to_string(launch.argument_count));
    }
    const sluice_argument& argument = launch.arguments[slot];
    if (argument.memory == 0 && argument.bytes < parameter.bytes) {
      refuse(SLUICE_ERROR, slot,
             "has " + std::to_string(argument.bytes) + " bytes, the parameter " + std::to_string(parameter.bytes));
    }
  }
}

void LoadedKernel::launch(Device& device, const sluice_launch& launch) {
  if (&device != &device_) throw Failure(SLUICE_ERROR, "kernel " + name_ + " was compiled for another device");
  check_shape(launch);
  check_arguments(launch);
  const Device::Recording recording(device);
  const id encoder = recording.queue().compute_encoder();
  send().set_pipeline(encoder, pipeline_.get());
  for (std::uint32_t k = 0; k < launch.argument_count; ++k) {
    const sluice_argument& argument = launch.arguments[k];
    if (argument.memory != 0) {
      send().set_buffer(encoder, recording.use({argument.memory, argument.offset, 0}), argument.offset, k);
    } else {
      send().set_bytes(encoder, argument.value, argument.bytes, k);
    }
  }
  send().dispatch(encoder, {launch.groups[0], launch.groups[1], launch.groups[2]},
                  {launch.group_size[0], launch.group_size[1], launch.group_size[2]});
  recording.queue().recorded(name_.c_str());
}

}  // namespace sluice::metal
