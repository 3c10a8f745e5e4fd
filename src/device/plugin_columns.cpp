#include "src/device/plugin_columns.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "src/device/column_groups.hpp"
#include "src/device/kernel_call.hpp"
#include "src/device/renderer.hpp"

namespace sluice::detail {
namespace {

bool is_wide(const AxisCall& call) {
  return needs_wide_index(Shape{call.inner, call.length, call.outer}, std::array{call.input});
}

/// The numbers that all of these kernels take.
KernelValues values_of(const AxisCall& call, const ColumnGroups& groups) {
  KernelValues values(is_wide(call));
  values.add_index({"columns"}, call.inner * call.outer);
  values.add_index({"inner"}, call.inner);
  values.add_index({"length"}, call.length);
  groups.add_to(values);
  values.add_integer({"x_offset"}, call.input.offset);
  return values;
}

ColumnGroups groups_of(const PluginDevice& device, const AxisCall& call) {
  return ColumnGroups(kernel_target(device).group_size, call.inner * call.outer, call.length, call.inner > 1, false);
}

/// Compiles kernels/<name>.k for the call's type, after `definitions`; `with_sums` puts reduce.k before it.
sluice_kernel* compiled(PluginDevice& device, const AxisCall& call, const char* name, const std::string& definitions,
                        bool with_sums, const KernelValues& values) {
  std::string key = name + definitions;
  put(key, call.input.dtype.code());
  put(key, is_wide(call));
  return device.kernels().get(key, [&] {
    std::string text = kernel_prelude(kernel_target(device)) + values.text() + type_definitions(call.input.dtype);
    text += definitions;
    if (with_sums) text.append("#define K_COMBINE 0\n").append(kernel_file("reduce"));
    text.append(kernel_file(name));
    return device.compile(text.c_str(), fmt::format("sluice_{}", name).c_str());
  });
}

}  // namespace

void plugin_softmax(PluginDevice& device, const AxisCall& call, SoftmaxKind kind) {
  require_type(call.input.dtype, kernel_target(device), "softmax");
  const ColumnGroups groups = groups_of(device, call);
  KernelValues values = values_of(call, groups);
  values.add_integer({"y_offset"}, call.output.offset);
  const char* const definitions = kind == SoftmaxKind::logsoftmax ? "#define K_LOG 1\n" : "#define K_LOG 0\n";
  sluice_kernel* const kernel = compiled(device, call, "softmax", definitions, true, values);
  KernelCall kernel_call(device);
  kernel_call.add(call.input);
  kernel_call.add(call.output);
  kernel_call.launch(kernel, groups.groups(), values);
}

void plugin_moments(PluginDevice& device, const AxisCall& call, const Operand& variance, std::int64_t correction) {
  const KernelTarget target = kernel_target(device);
  require_type(call.input.dtype, target, "var");
  const ColumnGroups groups = groups_of(device, call);
  KernelValues values = values_of(call, groups);
  values.add_integer({"mean_offset"}, call.output.offset);
  values.add_integer({"variance_offset"}, variance.offset);
  const Register number = target.has_f64 ? Register::f64 : Register::f32;
  values.add_number({"count"}, number, static_cast<double>(call.length));
  values.add_number({"freedom"}, number, static_cast<double>(call.length - correction));
  sluice_kernel* const kernel = compiled(device, call, "moments", "", true, values);
  KernelCall kernel_call(device);
  kernel_call.add(call.input);
  kernel_call.add(call.output);
  kernel_call.add(variance);
  kernel_call.launch(kernel, groups.groups(), values);
}

void plugin_argreduce(PluginDevice& device, const AxisCall& call, bool greatest) {
  require_type(call.input.dtype, kernel_target(device), greatest ? "argmax" : "argmin");
  const ColumnGroups groups = groups_of(device, call);
  KernelValues values = values_of(call, groups);
  values.add_integer({"y_offset"}, call.output.offset);
  const char* const definitions = greatest ? "#define K_GREATEST 1\n" : "#define K_GREATEST 0\n";
  sluice_kernel* const kernel = compiled(device, call, "argreduce", definitions, false, values);
  KernelCall kernel_call(device);
  kernel_call.add(call.input);
  kernel_call.add(call.output);
  kernel_call.launch(kernel, groups.groups(), values);
}

}  // namespace sluice::detail
