#include "src/device/plugin_random.hpp"

#include <string>

#include "src/device/kernel_call.hpp"
#include "src/device/renderer.hpp"

namespace sluice::detail {

void plugin_uniform(PluginDevice& device, const Operand& output, std::int64_t count, RandomKey random_key) {
  if (count == 0) return;
  require_type(output.dtype, kernel_target(device), "rand");
  const std::int64_t blocks = (count + 3) / 4;
  const bool is_wide = needs_wide_index(Shape{count}, {});
  KernelValues values(is_wide);
  values.add_index({"count"}, count);
  values.add_index({"blocks"}, blocks);
  values.add_integer({"seed"}, static_cast<std::int64_t>(random_key.seed));
  values.add_integer({"call"}, static_cast<std::int64_t>(random_key.call));
  values.add_integer({"y_offset"}, output.offset);
  std::string key = "uniform";
  put(key, output.dtype.code());
  put(key, is_wide);
  sluice_kernel* const kernel = device.kernels().get(key, [&] {
    std::string text = kernel_prelude(kernel_target(device)) + values.text() + type_definitions(output.dtype);
    text.append(kernel_file("random"));
    return device.compile(text.c_str(), "sluice_uniform");
  });
  KernelCall kernel_call(device);
  kernel_call.add(output);
  kernel_call.launch(kernel, groups_for(blocks), values);
}

}  // namespace sluice::detail
