// Random numbers: Philox 4x32-10 (Salmon et al., SC'11), counter-based, so that element i of call c of a seed is the
// same on every device, platform and thread count.
//
// The key is the seed (low word, high word), the counter is (element / 4, call number), low words first; a uniform is
// (u32 >> 8) * 2^-24, in [0, 1).
#pragma once

#include <array>
#include <cstdint>

#include "sluice/device.hpp"

namespace sluice::inline v0 {

/// Names the numbers of one call: what a kernel needs to make them.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t call = 0;
  bool operator==(const RandomKey&) const = default;
};

/// Four random words: the block that holds elements 4 * block ... 4 * block + 3 of a call.
SLUICE_API std::array<std::uint32_t, 4> philox(RandomKey key, std::uint64_t block);

/// A generator: a seed and the number of the next call. A value: a copy goes on from the same place, independently.
class SLUICE_API Generator {
 public:
  Generator() = default;
  explicit Generator(std::uint64_t seed, std::uint64_t call = 0) : key_{seed, call} {}
  /// The key of the next call. One generator is used by one thread at a time.
  RandomKey next() { return {key_.seed, key_.call++}; }
  /// The key that `next` would give.
  RandomKey peek() const { return key_; }
  bool operator==(const Generator&) const = default;

 private:
  RandomKey key_;
};

/// Restarts the generator of the process: the same seed gives the same weights, masks and shuffles. A process that
/// never calls it starts from seed 0.
SLUICE_API void seed(std::uint64_t value);
/// The next key of the generator of the process; any thread may call it.
SLUICE_API RandomKey next_random_key();
/// The generator of the process as it stands, to be saved with a model and to go on from later.
SLUICE_API Generator random_state();
SLUICE_API void set_random_state(const Generator& generator);

}  // namespace sluice::inline v0
