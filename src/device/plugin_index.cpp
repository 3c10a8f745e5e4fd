#include "src/device/plugin_index.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "sluice/error.hpp"
#include "src/device/kernel_call.hpp"
#include "src/device/renderer.hpp"

namespace sluice::detail {
namespace {

using Indices = std::vector<std::int64_t>;

bool is_wide(const IndexCall& call) {
  const std::int64_t most = call.column * std::max(call.count, call.bound);
  return needs_wide_index(Shape{most}, {});
}

Indices read_indices(PluginDevice& device, const IndexCall& call) {
  Indices indices(static_cast<std::size_t>(call.count));
  const auto first = static_cast<std::size_t>(call.indices.offset) * sizeof(std::int64_t);
  device.read(*call.indices.storage, first, indices.data(), indices.size() * sizeof(std::int64_t));
  return indices;
}

void check(const Indices& indices, std::int64_t bound, std::string_view operation) {
  for (std::size_t j = 0; j < indices.size(); ++j) {
    if (indices[j] >= 0 && indices[j] < bound) continue;
    throw IndexError(
        fmt::format("{}: index {} at position {} is out of range for {} columns", operation, indices[j], j, bound));
  }
}

/// Looks on the device, and reads the indices only if one of them is wrong.
void check_on_device(PluginDevice& device, const IndexCall& call, std::string_view operation) {
  std::uint32_t flag = 0;
  const DeviceScratch scratch(device, sizeof flag);
  device.write(*scratch, 0, &flag, sizeof flag);
  KernelValues values(needs_wide_index(Shape{call.count}, {}));
  values.add_index({"count"}, call.count);
  values.add_integer({"index_offset"}, call.indices.offset);
  values.add_integer({"bound"}, call.bound);
  std::string key = "check_indices";
  put(key, needs_wide_index(Shape{call.count}, {}));
  sluice_kernel* const kernel = device.kernels().get(key, [&] {
    const std::string text = kernel_prelude(kernel_target(device)) + values.text();
    return device.compile((text + std::string(kernel_file("check_indices"))).c_str(), "sluice_check_indices");
  });
  KernelCall kernel_call(device);
  kernel_call.add(call.indices);
  kernel_call.add(*scratch);
  kernel_call.launch(kernel, groups_for(call.count), values);
  device.read(*scratch, 0, &flag, sizeof flag);
  if (flag != 0) check(read_indices(device, call), call.bound, operation);
}

KernelValues values_of(const IndexCall& call, std::int64_t count) {
  KernelValues values(is_wide(call));
  values.add_index({"count"}, count);
  values.add_index({"column"}, call.column);
  values.add_integer({"x_offset"}, call.input.offset);
  values.add_integer({"y_offset"}, call.output.offset);
  values.add_integer({"index_offset"}, call.indices.offset);
  return values;
}

sluice_kernel* compiled(PluginDevice& device, const char* name, const std::string& definitions, const IndexCall& call,
                        const KernelValues& values) {
  std::string key = name + definitions;
  put(key, is_wide(call));
  return device.kernels().get(key, [&] {
    std::string text = kernel_prelude(kernel_target(device)) + values.text() + definitions;
    text.append(kernel_file(name));
    return device.compile(text.c_str(), fmt::format("sluice_{}", name).c_str());
  });
}

/// Positions of the indices sorted by their value, equal ones in order: those of value c are positions[starts[c]] ...
/// positions[starts[c + 1] - 1].
struct Groups {
  Indices starts, positions;

  Groups(const Indices& indices, std::int64_t bound)
      : starts(static_cast<std::size_t>(bound) + 2), positions(std::max<std::size_t>(indices.size(), 1)) {
    // Counting two places ahead leaves, after the positions are dealt out, every start in its own place.
    for (const std::int64_t index : indices) ++starts[static_cast<std::size_t>(index) + 2];
    for (std::size_t c = 2; c < starts.size(); ++c) starts[c] += starts[c - 1];
    for (std::size_t j = 0; j < indices.size(); ++j) {
      std::int64_t& next = starts[static_cast<std::size_t>(indices[j]) + 1];
      positions[static_cast<std::size_t>(next++)] = static_cast<std::int64_t>(j);
    }
  }
};

void write_all(PluginDevice& device, const Indices& values, Storage& to) {
  device.write(to, 0, values.data(), values.size() * sizeof(std::int64_t));
}

}  // namespace

void plugin_gather(PluginDevice& device, const IndexCall& call) {
  if (call.count == 0) return;
  check_on_device(device, call, "gather");
  if (call.column == 0) return;
  KernelValues values = values_of(call, call.count * call.column);
  const std::string definitions = fmt::format("#define K_WORD {}\n", word_name(call.input.dtype));
  sluice_kernel* const kernel = compiled(device, "gather", definitions, call, values);
  KernelCall kernel_call(device);
  kernel_call.add(call.input);
  kernel_call.add(call.indices);
  kernel_call.add(call.output);
  kernel_call.launch(kernel, groups_for(call.count * call.column), values);
}

void plugin_scatter_add(PluginDevice& device, const IndexCall& call) {
  require_type(call.input.dtype, kernel_target(device), "scatter_add");
  const Indices indices = read_indices(device, call);
  check(indices, call.bound, "scatter_add");
  if (call.bound == 0 || call.column == 0) return;
  const Groups groups(indices, call.bound);
  const DeviceScratch starts(device, groups.starts.size() * sizeof(std::int64_t));
  const DeviceScratch positions(device, groups.positions.size() * sizeof(std::int64_t));
  write_all(device, groups.starts, *starts);
  write_all(device, groups.positions, *positions);

  KernelValues values = values_of(call, call.bound * call.column);
  sluice_kernel* const kernel = compiled(device, "scatter_add", type_definitions(call.input.dtype), call, values);
  KernelCall kernel_call(device);
  kernel_call.add(call.input);
  kernel_call.add(*starts);
  kernel_call.add(*positions);
  kernel_call.add(call.output);
  kernel_call.launch(kernel, groups_for(call.bound * call.column), values);
}

}  // namespace sluice::detail
