// Random numbers of the CPU: the numbers at an index depend on the key alone, not on the threads.
#pragma once

#include <cstdint>

#include "src/device/device_impl.hpp"

namespace sluice::detail {

/// Uniforms (u32 >> 8) * 2^-24, in [0, 1), to `count` dense elements of f32 or f64 (the same numbers, widened).
void cpu_uniform(const Operand& output, std::int64_t count, RandomKey key);

/// Standard normals to `count` dense elements of f32 or f64 (the same numbers, widened), by Box and Muller: elements 2j
/// and 2j + 1 are sqrt(-2 log(1 - u)) times the cosine and the sine of 2 pi v, with u and v the uniforms of that place.
void cpu_normal(const Operand& output, std::int64_t count, RandomKey key);

}  // namespace sluice::detail
