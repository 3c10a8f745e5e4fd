#include "backends/streams/kernel.hpp"

#include <utility>

namespace sluice::streams {
namespace {

using plugin::Failure;

}  // namespace

LoadedKernel::LoadedKernel(Device& device, std::string image, const char* entry)
    : device_(device), image_(std::move(image)), name_(entry) {
  const Module module = load_image(device.number(), image_);
  const int code = api().find_kernel.raw(&kernel_, module, entry);
  if (code != kSuccess) {
    api().unload_module.raw(module);
    if (code == kNotFound) throw Failure(SLUICE_BAD_SOURCE, "the text has no kernel named " + name_);
    check(code, api().find_kernel.name);
  }
  int most = 0;
  api().kernel_attribute(&most, kKernelMaxThreads, kernel_);
  group_size_ = static_cast<std::uint64_t>(most);
  parameters_ = parameters_of(kernel_);
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
  // Drivers do not check arguments, they read as many bytes as the kernel takes.
  if (parameters_ && launch.argument_count != parameters_->size()) {
    throw Failure(SLUICE_ERROR, "kernel " + name_ + " takes " + std::to_string(parameters_->size()) +
                                    " arguments, not " + std::to_string(launch.argument_count));
  }
}

void LoadedKernel::check_argument(std::uint32_t index, const sluice_argument& argument) const {
  const auto refuse = [&](const std::string& text) {
    throw Failure(SLUICE_ERROR, "kernel " + name_ + ": argument " + std::to_string(index) + " " + text);
  };
  if (argument.memory == 0 && (argument.value == nullptr || argument.bytes == 0))
    refuse("is neither memory nor a value");
  if (!parameters_) return;
  const std::size_t expected = (*parameters_)[index];
  if (argument.memory != 0 && expected != sizeof(DevicePointer)) refuse("is memory, the parameter is a value");
  if (argument.memory == 0 && expected != argument.bytes) {
    refuse("has " + std::to_string(argument.bytes) + " bytes, the parameter " + std::to_string(expected));
  }
}

void LoadedKernel::launch(Device& device, const sluice_launch& launch) {
  if (&device != &device_) throw Failure(SLUICE_ERROR, "kernel " + name_ + " was compiled for another device");
  check_shape(launch);
  std::vector<DevicePointer> addresses(launch.argument_count);
  std::vector<void*> parameters(launch.argument_count);
  for (std::uint32_t k = 0; k < launch.argument_count; ++k) {
    const sluice_argument& argument = launch.arguments[k];
    check_argument(k, argument);
    if (argument.memory != 0) addresses[k] = device.use_rest(argument.memory, argument.offset);
    // The driver copies values before it returns and takes the address of each as that of something it might change.
    parameters[k] = argument.memory != 0 ? &addresses[k] : const_cast<void*>(argument.value);
  }
  api().launch(kernel_, launch.groups[0], launch.groups[1], launch.groups[2], launch.group_size[0],
               launch.group_size[1], launch.group_size[2], 0, device.stream(), parameters.data(), nullptr);
}

}  // namespace sluice::streams
