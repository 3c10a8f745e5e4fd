// Arrays of Julia as tensors. Both are column-major, so bytes go over as they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "sluice/state.hpp"
#include "src/data/byte_source.hpp"

namespace sluice::detail {

/// How many bytes elements of `size` bytes take; nothing beyond 2^62, or if a size is negative.
std::optional<std::uint64_t> array_bytes(std::span<const std::int64_t> sizes, std::uint64_t size);

/// What is wrong with `bytes` bytes of data for an array; empty if nothing is.
std::string wrong_size(DType dtype, std::span<const std::int64_t> sizes, std::uint64_t bytes);

/// A tensor of the bytes at `at`, whose size has been checked. Throws FileError for a Bool that is neither 0 nor 1.
Tensor read_julia_tensor(ByteSource& source, std::uint64_t at, DType dtype, const Shape& shape);
/// The same of bytes that are not as they lie in the file: `fill` makes them of what is at `at`.
Tensor read_julia_tensor(ByteSource& source, std::uint64_t at, DType dtype, const Shape& shape,
                         const std::function<void(std::span<std::byte>)>& fill);

/// A name that two members have; nothing if all differ.
std::optional<std::string> repeated_name(const State::Record& record);

}  // namespace sluice::detail
