// The compiler of a virtual GPU. Kernel text in any dialect goes, behind a header of tests/simulated/dialects/ that
// says what the dialect's words mean in C++, through the compiler of the tests, and becomes a shared library of this
// machine.
//
// Libraries are kept in a folder by a hash of all that went into them, so a text is compiled once for all tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace virtual_gpu {

/// What the text of a kernel sees of the item that is running. The same struct as in dialects/host.h.
struct ItemState {
  unsigned int item, group, groups, group_size;
  void (*wait)(int line);
};

/// A compiled text with one kernel. It stays loaded.
struct CompiledKernel {
  ItemState** state = nullptr;
  void (*run)(void* const* arguments, int count) = nullptr;
  int (*parameter_size)(int k) = nullptr;  // 0 for a block, -1 behind the last parameter
  std::byte* local_begin = nullptr;
  std::byte* local_end = nullptr;
};

/// The kernel `entry` of a text in a dialect of backend.h. Empty, or the compiler's log.
std::string compile_text(const std::string& text, const std::string& entry, std::uint32_t dialect,
                         CompiledKernel& kernel);

/// A hash that is the same in every process.
std::uint64_t hash_text(const std::string& text, std::uint64_t seed = 0);

}  // namespace virtual_gpu
