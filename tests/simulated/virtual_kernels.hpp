// The kernels that a virtual GPU can run: any text that its compiler takes, and the probe's, which is known by the name
// of its entry whatever the text says, so that opening a device needs no compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "tests/simulated/virtual_group.hpp"

namespace virtual_gpu {

/// An argument as the kernel sees it: the rest of a block from an offset, or a value.
struct KernelArgument {
  std::byte* data;
  std::uint64_t bytes;
  bool is_memory;
};

/// How work items are arranged, and in which order they run.
struct Grid {
  std::uint32_t groups, group_size;
  Order order;
  std::uint64_t seed;
};

/// Runs a kernel. Returns what went wrong, empty if nothing did.
using KernelFunction = std::function<std::string(std::span<const KernelArgument> arguments, const Grid& grid)>;

/// Empty, or the compiler's log. The function must run in one thread at a time.
std::string make_kernel(const std::string& text, const std::string& entry, std::uint32_t dialect,
                        KernelFunction& kernel);

}  // namespace virtual_gpu
