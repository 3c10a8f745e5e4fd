#include "tests/simulated/virtual_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/simulated/virtual_compiler.hpp"
#include "tests/simulated/virtual_gpu_controls.h"

namespace virtual_gpu {
namespace {

constexpr int kIds = 3;  // numbers that a kernel may take behind its arguments

/// (float* out, const float* in, int count): out[i] = in[i] * 3 + i
std::string run_probe(std::span<const KernelArgument> arguments, const Grid& grid) {
  const bool fits = arguments.size() == 3 && arguments[0].is_memory && arguments[1].is_memory &&
                    !arguments[2].is_memory && arguments[2].bytes == sizeof(std::int32_t);
  if (!fits) return "sluice_probe takes two blocks of memory and an int";
  std::int32_t count = 0;
  std::memcpy(&count, arguments[2].data, sizeof count);
  const std::uint64_t items = std::uint64_t{grid.groups} * grid.group_size;
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

/// Whether the arguments are what the kernel's parameters ask for.
std::string compare(const CompiledKernel& kernel, std::span<const KernelArgument> arguments) {
  const int count = static_cast<int>(arguments.size());
  for (int k = 0; k < count; ++k) {
    const KernelArgument& argument = arguments[static_cast<std::size_t>(k)];
    const int size = kernel.parameter_size(k);
    const auto bytes = argument.is_memory ? 0 : static_cast<int>(argument.bytes);
    if (size == bytes) continue;
    return "argument " + std::to_string(k) + " has " + std::to_string(bytes) + " bytes, its parameter " +
           std::to_string(size) + " (0: a block)";
  }
  const bool is_whole = kernel.parameter_size(count) < 0;
  const bool is_whole_with_ids = kernel.parameter_size(count + kIds - 1) > 0 && kernel.parameter_size(count + kIds) < 0;
  return is_whole || is_whole_with_ids ? std::string() : "there are fewer arguments than parameters";
}

std::string run_compiled(const CompiledKernel& kernel, std::span<const KernelArgument> arguments, const Grid& grid) {
  if (std::string problem = compare(kernel, arguments); !problem.empty()) return problem;
  std::vector<void*> addresses;
  for (const KernelArgument& argument : arguments) addresses.push_back(argument.data);
  ItemState state{0, 0, grid.groups, grid.group_size, [](int line) { group_runner().wait(line); }};
  *kernel.state = &state;
  const std::function<void()> run = [&] { kernel.run(addresses.data(), static_cast<int>(addresses.size())); };
  std::vector<std::uint32_t> groups;
  fill_order(grid.order, grid.seed, grid.groups, groups);
  for (const std::uint32_t group : groups) {
    state.group = group;
    std::fill(kernel.local_begin, kernel.local_end, std::byte{VIRTUAL_GPU_FRESH_BYTE});
    const std::uint64_t seed = grid.seed * 0x10001 + group * 0x101;
    std::string problem = group_runner().run(grid.group_size, grid.order, seed, state.item, run);
    if (!problem.empty()) return problem + ", in group " + std::to_string(group);
  }
  return {};
}

}  // namespace

std::string make_kernel(const std::string& text, const std::string& entry, std::uint32_t dialect,
                        KernelFunction& kernel) {
  if (entry == "sluice_probe") {
    kernel = run_probe;
    return {};
  }
  CompiledKernel compiled;
  std::string log = compile_text(text, entry, dialect, compiled);
  if (log.empty()) {
    kernel = [compiled](std::span<const KernelArgument> arguments, const Grid& grid) {
      return run_compiled(compiled, arguments, grid);
    };
  }
  return log;
}

}  // namespace virtual_gpu
