// The text of the kernels, embedded in the library, and what comes before any of it in a dialect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::detail {

/// Items of a group in every kernel, where a device has groups as large.
inline constexpr std::uint32_t kGroupSize = 256;
/// Kernels work with smaller groups down to this.
inline constexpr std::uint32_t kLeastGroupSize = 16;

/// The items of a group on a device whose groups have at most `most`: a power of two, at most kGroupSize. 0 is unknown,
/// and taken for enough.
std::uint32_t group_size_for(std::uint32_t most);

/// What decides how kernels are written for a device.
struct KernelTarget {
  std::uint32_t dialect = 0;  ///< SLUICE_DIALECT_...
  bool has_f64 = false;
  std::uint32_t group_size = kGroupSize;
};

/// The dialect, the polynomials and the scalar helpers: the beginning of every kernel's text. Throws Unsupported for an
/// unknown dialect.
std::string kernel_prelude(const KernelTarget& target);

/// The text of kernels/<name>.k.
std::string_view kernel_file(std::string_view name);

}  // namespace sluice::detail
