// Philox 4x32-10 on several blocks at once: the loops over the blocks are plain, so that compilers vectorise them.
// Includes no library code and defines nothing that the linker could share between instruction sets.
#pragma once

#include <cstdint>

namespace sluice::detail {

/// Makes word[w][i] word w of block `first + i` of a call: the key is the seed, the counter (block, call).
template <int N>
static inline void philox_blocks(std::uint32_t (&word)[4][N], std::uint64_t seed, std::uint64_t call,
                                 std::uint64_t first) {
  for (int i = 0; i < N; ++i) {
    const std::uint64_t block = first + static_cast<std::uint64_t>(i);
    word[0][i] = static_cast<std::uint32_t>(block);
    word[1][i] = static_cast<std::uint32_t>(block >> 32);
    word[2][i] = static_cast<std::uint32_t>(call);
    word[3][i] = static_cast<std::uint32_t>(call >> 32);
  }
  auto key_low = static_cast<std::uint32_t>(seed);
  auto key_high = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < N; ++i) {
      const std::uint64_t a = std::uint64_t{0xd2511f53} * word[0][i];
      const std::uint64_t b = std::uint64_t{0xcd9e8d57} * word[2][i];
      word[0][i] = static_cast<std::uint32_t>(b >> 32) ^ word[1][i] ^ key_low;
      word[1][i] = static_cast<std::uint32_t>(b);
      word[2][i] = static_cast<std::uint32_t>(a >> 32) ^ word[3][i] ^ key_high;
      word[3][i] = static_cast<std::uint32_t>(a);
    }
    key_low += 0x9e3779b9;
    key_high += 0xbb67ae85;
  }
}

}  // namespace sluice::detail
