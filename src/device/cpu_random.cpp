#include "src/device/cpu_random.hpp"

#include <algorithm>

#include "kernels/cpu_prelude.h"
// Must follow the prelude.
#include "kernels/math.h"
#include "src/device/philox.hpp"
#include "src/device/thread_pool.hpp"

namespace sluice::detail {
namespace {

constexpr int kBlocks = 32;                  // of four numbers each
constexpr std::int64_t kTile = 4 * kBlocks;  // numbers made at a time
constexpr std::int64_t kGrain = 128;         // tiles that are worth a thread

void fill_uniform(float* tile, RandomKey key, std::int64_t index) {
  const PhiloxBlocks<kBlocks> blocks(key, static_cast<std::uint64_t>(index) * kBlocks);
  for (int i = 0; i < kBlocks; ++i) {
    for (int w = 0; w < 4; ++w) tile[4 * i + w] = static_cast<float>(blocks.word[w][i] >> 8) * 0x1p-24f;
  }
}

void fill_normal(float* tile, RandomKey key, std::int64_t index) {
  constexpr int kPairs = kTile / 2;
  const PhiloxBlocks<kBlocks> blocks(key, static_cast<std::uint64_t>(index) * kBlocks);
  // Words 0 and 2 of all blocks give the radii, words 1 and 3 the angles: pair j = 2i + h lies at h * kBlocks + i.
  float cosine[kPairs];
  float sine[kPairs];
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < kBlocks; ++i) {
      const float u = static_cast<float>(static_cast<std::int32_t>(blocks.word[2 * h][i] >> 8)) * 0x1p-24f;
      const float v = static_cast<float>(static_cast<std::int32_t>(blocks.word[2 * h + 1][i] >> 8)) * 0x1p-24f;
      const float radius = k_sqrt(-2.0f * k_log(1.0f - u));
      const float angle = 6.28318531f * v;
      cosine[h * kBlocks + i] = radius * k_cos(angle);
      sine[h * kBlocks + i] = radius * k_sin(angle);
    }
  }
  for (int i = 0; i < kBlocks; ++i) {
    for (int h = 0; h < 2; ++h) {
      tile[4 * i + 2 * h] = cosine[h * kBlocks + i];
      tile[4 * i + 2 * h + 1] = sine[h * kBlocks + i];
    }
  }
}

template <class T, class Fill>
void fill_tiles(T* output, std::int64_t count, RandomKey key, Fill fill) {
  const std::int64_t tiles = (count + kTile - 1) / kTile;
  parallel_for(tiles, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      float tile[kTile];
      fill(tile, key, index);
      std::copy_n(tile, std::min(kTile, count - index * kTile), output + index * kTile);
    }
  });
}

template <class Fill>
void fill_operand(const Operand& output, std::int64_t count, RandomKey key, Fill fill) {
  if (output.dtype == f64) fill_tiles(reinterpret_cast<double*>(output.host()), count, key, fill);
  else fill_tiles(reinterpret_cast<float*>(output.host()), count, key, fill);
}

}  // namespace

void cpu_uniform(const Operand& output, std::int64_t count, RandomKey key) {
  fill_operand(output, count, key, fill_uniform);
}

void cpu_normal(const Operand& output, std::int64_t count, RandomKey key) {
  fill_operand(output, count, key, fill_normal);
}

}  // namespace sluice::detail
