// Uniforms and normals, a tile at a time.
#include "src/device/random_kernels.hpp"

#include "kernels/cpu_prelude.h"
#include "kernels/math.h"
#include "src/device/philox.hpp"

namespace sluice::detail::SLUICE_ISA {
namespace {

constexpr int kBlocks = RandomLoops::kBlocks;

KFN float uniform_of(std::uint32_t word) { return static_cast<float>(static_cast<int>(word >> 8)) * 0x1p-24f; }

void fill_uniform(float* tile, std::uint64_t seed, std::uint64_t call, std::uint64_t index) {
  std::uint32_t word[4][kBlocks];
  philox_blocks(word, seed, call, index * kBlocks);
  for (int i = 0; i < kBlocks; ++i) {
    for (int w = 0; w < 4; ++w) tile[4 * i + w] = uniform_of(word[w][i]);
  }
}

// Box and Muller on pairs of words: the first gives the radius, the second the angle.
void normals_of(const std::uint32_t* first, const std::uint32_t* second, float* cosine, float* sine) {
  for (int i = 0; i < kBlocks; ++i) {
    const float radius = k_sqrt(-2.0f * k_log(1.0f - uniform_of(first[i])));
    const float angle = 6.28318531f * uniform_of(second[i]);
    cosine[i] = radius * k_cos(angle);
    sine[i] = radius * k_sin(angle);
  }
}

void fill_normal(float* tile, std::uint64_t seed, std::uint64_t call, std::uint64_t index) {
  std::uint32_t word[4][kBlocks];
  philox_blocks(word, seed, call, index * kBlocks);
  float normal[4][kBlocks];
  normals_of(word[0], word[1], normal[0], normal[1]);
  normals_of(word[2], word[3], normal[2], normal[3]);
  for (int i = 0; i < kBlocks; ++i) {
    for (int w = 0; w < 4; ++w) tile[4 * i + w] = normal[w][i];
  }
}

}  // namespace

const RandomLoops kRandomLoops = {fill_uniform, fill_normal};

}  // namespace sluice::detail::SLUICE_ISA
