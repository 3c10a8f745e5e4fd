#include "src/device/plugin_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "sluice/error.hpp"
#include "src/device/kernel_call.hpp"
#include "src/device/plugin_gemm.hpp"
#include "src/device/renderer.hpp"

namespace sluice::detail {
namespace {

constexpr std::int64_t kTile = 64;  // K_TILE of kernels/product.k

/// kernels/product_processor.k needs a processor's caches as local memory: (rows and columns of a block, depth of the
/// strips that are copied) for values of 4 bytes.
struct ProcessorBlocks {
  std::uint32_t local_bytes;
  std::int64_t rows, columns, depth;
};
constexpr ProcessorBlocks kProcessorBlocks[] = {{864 << 10, 192, 384, 256}, {176 << 10, 96, 96, 128}};

/// How a kernel cuts c into the blocks of its groups.
struct Shapes {
  const char* name;            // of the file in kernels/
  std::int64_t rows, columns;  // of a block
  std::uint32_t group_size;    // 0: as many items as kernels have on this device
  const ProcessorBlocks* blocks;
};

const ProcessorBlocks* processor_blocks(const PluginDevice& device, DType dtype) {
  const DeviceFacts& facts = device.facts();
  if (facts.kind != SLUICE_KIND_CPU || facts.dialect != SLUICE_DIALECT_OPENCL || !dtype.is_floating()) return nullptr;
  for (const ProcessorBlocks& blocks : kProcessorBlocks) {
    if (facts.local_bytes >= blocks.local_bytes) return &blocks;
  }
  return nullptr;
}

/// A block of doubles is half as wide, and half as deep.
std::int64_t most_columns(const ProcessorBlocks& blocks, DType dtype) {
  return dtype == f64 ? blocks.columns / 2 : blocks.columns;
}

/// Blocks small enough that a small product still occupies some cores.
Shapes processor_shapes(const ProcessorBlocks& blocks, const ProductCall& call) {
  constexpr std::int64_t kRows = 16, kColumns = 6, kGroups = 8;
  const auto round_up = [](std::int64_t x, std::int64_t step) { return (x + step - 1) / step * step; };
  // As few blocks as possible, all about equal.
  const auto cut = [&](std::int64_t size, std::int64_t most, std::int64_t step) {
    const std::int64_t count = (size + most - 1) / most;
    return round_up((size + count - 1) / count, step);
  };
  Shapes shapes{"product_processor", cut(call.m, blocks.rows, kRows),
                cut(call.n, most_columns(blocks, call.c.dtype), kColumns), 1, &blocks};
  const auto groups = [&] {
    return ((call.m + shapes.rows - 1) / shapes.rows) * ((call.n + shapes.columns - 1) / shapes.columns) * call.batch;
  };
  while (groups() < kGroups && std::max(shapes.rows, shapes.columns) > 48) {
    if (shapes.rows >= shapes.columns) shapes.rows = round_up(shapes.rows / 2, kRows);
    else shapes.columns = round_up(shapes.columns / 2, kColumns);
  }
  return shapes;
}

Shapes shapes_of(const PluginDevice& device, const ProductCall& call) {
  if (const ProcessorBlocks* const blocks = processor_blocks(device, call.c.dtype)) {
    return processor_shapes(*blocks, call);
  }
  return {"product", kTile, kTile, 0, nullptr};
}

std::string definitions_of(const ProductCall& call, const Shapes& shapes) {
  std::string text = type_definitions(call.c.dtype);
  text += fmt::format("#define K_TRANSPOSE_A {}\n#define K_TRANSPOSE_B {}\n", call.transpose_a ? 1 : 0,
                      call.transpose_b ? 1 : 0);
  if (shapes.blocks == nullptr) return text;
  const bool is_double = call.c.dtype == f64;
  return text + fmt::format(
                    "#define K_VECTOR {}\n#define K_LANES {}\n#define K_BLOCK_M {}\n#define K_BLOCK_N {}\n"
                    "#define K_DEPTH {}\n",
                    is_double ? "double4" : "float8", is_double ? 4 : 8, shapes.blocks->rows,
                    most_columns(*shapes.blocks, call.c.dtype),
                    is_double ? shapes.blocks->depth / 2 : shapes.blocks->depth);
}

std::int64_t groups_of(const ProductCall& call, const Shapes& shapes) {
  return (call.m + shapes.rows - 1) / shapes.rows * ((call.n + shapes.columns - 1) / shapes.columns) * call.batch;
}

bool is_wide(const ProductCall& call) {
  const std::int64_t most = std::max({call.m * call.n, call.m * call.k, call.k * call.n});
  return needs_wide_index(Shape{most}, {});
}

KernelValues values_of(const ProductCall& call, const Shapes& shapes) {
  KernelValues values(is_wide(call));
  values.add_index({"m"}, call.m);
  values.add_index({"n"}, call.n);
  values.add_index({"k"}, call.k);
  values.add_index({"block_m"}, shapes.rows);
  values.add_index({"block_n"}, shapes.columns);
  const std::int64_t tiles_m = (call.m + shapes.rows - 1) / shapes.rows;
  values.add_index({"tiles_m"}, tiles_m);
  values.add_index({"tiles"}, tiles_m * ((call.n + shapes.columns - 1) / shapes.columns));
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
  const Shapes shapes = shapes_of(device, call);
  KernelValues values = values_of(call, shapes);
  const std::int64_t groups = groups_of(call, shapes);
  if (groups > std::numeric_limits<std::int32_t>::max()) {
    throw Unsupported(fmt::format("matmul: {} products of {} x {} are too many for one call; split the batch",
                                  call.batch, call.m, call.n));
  }
  std::string key = shapes.name;
  put(key, call.c.dtype.code());
  put(key, call.transpose_a);
  put(key, call.transpose_b);
  put(key, is_wide(call));
  sluice_kernel* const kernel = device.kernels().get(key, [&] {
    std::string text = kernel_prelude(kernel_target(device)) + values.text() + definitions_of(call, shapes);
    text.append(kernel_file(shapes.name));
    return device.compile(text.c_str(), fmt::format("sluice_{}", shapes.name).c_str());
  });
  KernelCall kernel_call(device);
  kernel_call.add(call.a);
  kernel_call.add(call.b);
  kernel_call.add(call.c);
  kernel_call.launch(kernel, static_cast<std::uint32_t>(groups), values, shapes.group_size);
}

}  // namespace sluice::detail
