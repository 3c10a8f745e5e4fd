#include "src/device/plugin_copy.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "src/device/kernel_call.hpp"
#include "src/device/renderer.hpp"

namespace sluice::detail {
namespace {

/// Where a side's element lies: "from[v.from_offset + ...]".
std::string place_text(const char* side, Lie lie, int rank) {
  std::string text = fmt::format("{0}[v.{0}_offset", side);
  if (lie == Lie::contiguous) return text + " + i]";
  for (int dim = 0; lie == Lie::general && dim < rank; ++dim) {
    text += fmt::format(" + (k_offset)i_{0} * v.{1}_stride_{0}", dim, side);
  }
  return text + "]";
}

std::string render_copy(DType dtype, Lie from, Lie to, int rank, const KernelValues& values,
                        const KernelTarget& target) {
  const char* const word = word_name(dtype);
  std::string text = kernel_prelude(target) + values.text();
  text += fmt::format(
      "K_KERNEL(sluice_copy)(K_READ({0}, from, 0), K_WRITE({0}, to, 1), K_VALUES(k_values, v, 2) K_IDS) {{\n", word);
  text += "  for (k_index i = K_GLOBAL_ITEM; i < v.count; i += K_GLOBAL_ITEMS) {\n";
  text += coordinate_statements("i", "size", rank, "    ");
  return text + fmt::format("    {} = {};\n  }}\n}}\n", place_text("to", to, rank), place_text("from", from, rank));
}

}  // namespace

void plugin_copy(PluginDevice& device, const CopyCall& call) {
  if (call.space.numel() == 0) return;
  const std::array operands{call.from, call.to};
  const bool is_wide = needs_wide_index(call.space, operands);
  const Lie from = lie_of(call.from, call.space);
  const Lie to = lie_of(call.to, call.space);
  const int rank = call.space.rank();

  KernelValues values(is_wide);
  values.add_index({"count"}, call.space.numel());
  values.add_integer({"from_offset"}, call.from.offset);
  values.add_integer({"to_offset"}, call.to.offset);
  for (int dim = 0; dim < rank; ++dim) {
    values.add_index({"size", dim}, call.space[dim]);
    values.add_stride({"from_stride", dim}, call.from.strides[static_cast<std::size_t>(dim)]);
    values.add_stride({"to_stride", dim}, call.to.strides[static_cast<std::size_t>(dim)]);
  }

  std::string key = "copy";
  put(key, call.from.dtype.size());
  put(key, is_wide);
  put(key, from);
  put(key, to);
  put(key, rank);
  sluice_kernel* const kernel = device.kernels().get(key, [&] {
    const std::string text = render_copy(call.from.dtype, from, to, rank, values, kernel_target(device));
    return device.compile(text.c_str(), "sluice_copy");
  });
  KernelCall kernel_call(device);
  kernel_call.add(call.from);
  kernel_call.add(call.to);
  kernel_call.launch(kernel, groups_for(call.space.numel()), values);
}

}  // namespace sluice::detail
