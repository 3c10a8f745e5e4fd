// Tensors of arbitrary bits, for tests of what must keep every bit.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sluice/sluice.hpp"

namespace sluice::tests {

inline constexpr DType kAllTypes[] = {boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64};

/// Bytes of a tensor, wherever it is.
inline std::vector<std::byte> bytes_of(const Tensor& x) {
  const Tensor here = cpu(x);
  const std::span<const std::byte> bytes = here.bytes();
  return {bytes.begin(), bytes.end()};
}

/// Arbitrary bits, NaN payloads and denormals among them; bool holds 0 and 1.
inline Tensor arbitrary(const Shape& shape, DType dtype, std::uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape.numel()) * dtype.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint32_t word = philox({seed, 0}, i)[0];
    bytes[i] = static_cast<std::byte>(dtype == boolean ? word & 1 : word & 255);
  }
  return from_bytes(bytes.data(), bytes.size(), shape, dtype);
}

}  // namespace sluice::tests
