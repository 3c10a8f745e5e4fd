#include "tests/simulated/virtual_kernels.hpp"

#include <algorithm>
#include <cstring>

namespace virtual_gpu {
namespace {

/// (float* out, const float* in, int count): out[i] = in[i] * 3 + i
std::string run_probe(std::span<const KernelArgument> arguments, std::uint64_t items) {
  const bool fits = arguments.size() == 3 && arguments[0].is_memory && arguments[1].is_memory &&
                    !arguments[2].is_memory && arguments[2].bytes == sizeof(std::int32_t);
  if (!fits) return "sluice_probe takes two blocks of memory and an int";
  std::int32_t count = 0;
  std::memcpy(&count, arguments[2].data, sizeof count);
  const std::uint64_t run = std::min(items, static_cast<std::uint64_t>(std::max(count, 0)));
  if (run * sizeof(float) > std::min(arguments[0].bytes, arguments[1].bytes)) return "sluice_probe left its memory";
  for (std::uint64_t i = 0; i < run; ++i) {
    float value = 0;
    std::memcpy(&value, arguments[1].data + i * sizeof value, sizeof value);
    value = value * 3.0F + static_cast<float>(i);
    std::memcpy(arguments[0].data + i * sizeof value, &value, sizeof value);
  }
  return {};
}

struct Entry {
  std::string_view name;
  KernelFunction function;
};

constexpr Entry kKernels[] = {{"sluice_probe", run_probe}};

}  // namespace

KernelFunction find_kernel(std::string_view entry) {
  for (const Entry& kernel : kKernels) {
    if (kernel.name == entry) return kernel.function;
  }
  return nullptr;
}

}  // namespace virtual_gpu
