// The kernels that a virtual GPU can run. It has no compiler: the name of the entry alone chooses a C++ function,
// whatever the text says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace virtual_gpu {

/// An argument as the kernel sees it: the rest of a block from an offset, or a value.
struct KernelArgument {
  std::byte* data;
  std::uint64_t bytes;
  bool is_memory;
};

/// Runs with so many work items. Returns what went wrong, empty if nothing did.
using KernelFunction = std::string (*)(std::span<const KernelArgument> arguments, std::uint64_t items);

/// Null for an unknown entry.
KernelFunction find_kernel(std::string_view entry);

}  // namespace virtual_gpu
