#include "src/device/plugin_product.hpp"

#include <fmt/format.h>

#include <string>

#include "src/device/kernel_call.hpp"
#include "src/device/plugin_gemm.hpp"
#include "src/device/renderer.hpp"

namespace sluice::detail {
namespace {

constexpr std::int64_t kTile = 64;  // K_TILE of kernels/product.k

bool is_wide(const ProductCall& call) {
  const std::int64_t most = std::max({call.m * call.n, call.m * call.k, call.k * call.n});
  return needs_wide_index(Shape{most}, {});
}

KernelValues values_of(const ProductCall& call) {
  KernelValues values(is_wide(call));
  values.add_index({"m"}, call.m);
  values.add_index({"n"}, call.n);
  values.add_index({"k"}, call.k);
  const std::int64_t tiles_m = (call.m + kTile - 1) / kTile;
  values.add_index({"tiles_m"}, tiles_m);
  values.add_index({"tiles"}, tiles_m * ((call.n + kTile - 1) / kTile));
  values.add_integer({"a_offset"}, call.a.offset);
  values.add_integer({"b_offset"}, call.b.offset);
  values.add_integer({"c_offset"}, call.c.offset);
  values.add_integer({"a_stride"}, call.batch_stride_a);
  values.add_integer({"b_stride"}, call.batch_stride_b);
  values.add_integer({"c_stride"}, call.m * call.n);
  return values;
}

}  // namespace

void plugin_product(PluginDevice& device, const ProductCall& call) {
  if (call.m == 0 || call.n == 0 || call.batch == 0) return;
  if (plugin_gemm(device, call)) return;
  plugin_own_product(device, call);
}

void plugin_own_product(PluginDevice& device, const ProductCall& call) {
  require_type(call.c.dtype, kernel_target(device), "matmul");
  KernelValues values = values_of(call);
  const std::string definitions =
      type_definitions(call.c.dtype) + fmt::format("#define K_TRANSPOSE_A {}\n#define K_TRANSPOSE_B {}\n",
                                                   call.transpose_a ? 1 : 0, call.transpose_b ? 1 : 0);
  std::string key = "product" + definitions;
  put(key, is_wide(call));
  sluice_kernel* const kernel = device.kernels().get(key, [&] {
    std::string text = kernel_prelude(kernel_target(device)) + values.text() + definitions;
    text.append(kernel_file("product"));
    return device.compile(text.c_str(), "sluice_product");
  });
  const std::int64_t groups = (call.m + kTile - 1) / kTile * ((call.n + kTile - 1) / kTile) * call.batch;
  KernelCall kernel_call(device);
  kernel_call.add(call.a);
  kernel_call.add(call.b);
  kernel_call.add(call.c);
  kernel_call.launch(kernel, static_cast<std::uint32_t>(groups), values);
}

}  // namespace sluice::detail
