// The vector loops behind random numbers, compiled once per instruction set (random_kernel.cpp); all give equal bits.
#pragma once

#include <cstdint>

namespace sluice::detail {

struct RandomLoops {
  static constexpr int kBlocks = 64;         // Philox blocks that are worked on together
  static constexpr int kTile = 4 * kBlocks;  // numbers they give
  /// Fills tile number `index` of a call with kTile numbers.
  using Tile = void (*)(float* tile, std::uint64_t seed, std::uint64_t call, std::uint64_t index);

  Tile uniform;
  Tile normal;
};

namespace baseline {
extern const RandomLoops kRandomLoops;
}
#if defined(__x86_64__)
namespace avx2 {
extern const RandomLoops kRandomLoops;
}
namespace avx512 {
extern const RandomLoops kRandomLoops;
}
#endif

}  // namespace sluice::detail
