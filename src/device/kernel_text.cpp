#include "src/device/kernel_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sluice/backend.h"
#include "sluice/error.hpp"

#define SLUICE_KERNEL_FILES(FILE) \
  FILE(argreduce)                 \
  FILE(check_indices)             \
  FILE(dialect)                   \
  FILE(dialect_cuda)              \
  FILE(dialect_hip)               \
  FILE(dialect_metal)             \
  FILE(dialect_opencl)            \
  FILE(gather)                    \
  FILE(math)                      \
  FILE(moments)                   \
  FILE(product)                   \
  FILE(product_processor)         \
  FILE(random)                    \
  FILE(reduce)                    \
  FILE(scalar)                    \
  FILE(scatter_add)               \
  FILE(softmax)                   \
  FILE(sort_blocks)               \
  FILE(sort_merge)                \
  FILE(sort_step)                 \
  FILE(zero)

#define SLUICE_DECLARE(name)                              \
  extern "C" const unsigned char sluice_kernels_##name[]; \
  extern "C" const std::size_t sluice_kernels_##name##_size;
SLUICE_KERNEL_FILES(SLUICE_DECLARE)
#undef SLUICE_DECLARE

namespace sluice::detail {
namespace {

struct KernelFile {
  std::string_view name;
  const unsigned char* text;
  const std::size_t& size;
};

#define SLUICE_FILE(name) {#name, sluice_kernels_##name, sluice_kernels_##name##_size},
const KernelFile kFiles[] = {SLUICE_KERNEL_FILES(SLUICE_FILE)};
#undef SLUICE_FILE

std::string dialect_text(std::uint32_t dialect) {
  switch (dialect) {
    case SLUICE_DIALECT_CUDA: return std::string(kernel_file("dialect_cuda"));
    case SLUICE_DIALECT_HIP: return std::string(kernel_file("dialect_hip")).append(kernel_file("dialect_cuda"));
    case SLUICE_DIALECT_OPENCL: return std::string(kernel_file("dialect_opencl"));
    case SLUICE_DIALECT_METAL: return std::string(kernel_file("dialect_metal"));
    default: throw Unsupported(fmt::format("kernels cannot be written in the backend's dialect, number {}", dialect));
  }
}

}  // namespace

std::string_view kernel_file(std::string_view name) {
  for (const KernelFile& file : kFiles) {
    if (file.name == name) return {reinterpret_cast<const char*>(file.text), file.size};
  }
  throw Error(fmt::format("the library has no kernels called {}", name));
}

std::uint32_t group_size_for(std::uint32_t most) {
  return most == 0 ? kGroupSize : std::bit_floor(std::min(most, kGroupSize));
}

std::string kernel_prelude(const KernelTarget& target) {
  std::string text = fmt::format("#define K_GROUP_SIZE {}\n", target.group_size);
  if (target.has_f64) text += "#define SLUICE_F64\n";
  text += dialect_text(target.dialect);
  text.append(kernel_file("math")).append(kernel_file("dialect")).append(kernel_file("scalar"));
  return text;
}

}  // namespace sluice::detail
