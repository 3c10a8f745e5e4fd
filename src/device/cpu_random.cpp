#include "src/device/cpu_random.hpp"

#include <algorithm>

#include "src/device/host_isa.hpp"
#include "src/device/random_kernels.hpp"
#include "src/device/thread_pool.hpp"

namespace sluice::detail {
namespace {

constexpr std::int64_t kTile = RandomLoops::kTile;
constexpr std::int64_t kGrain = 64;  // tiles that are worth waking a thread

const RandomLoops& random_loops() {
#if defined(__x86_64__)
  if (host_isa() == HostIsa::avx512) return avx512::kRandomLoops;
  if (host_isa() == HostIsa::avx2) return avx2::kRandomLoops;
#endif
  return baseline::kRandomLoops;
}

template <class T>
void fill_tiles(T* output, std::int64_t count, RandomKey key, RandomLoops::Tile fill) {
  parallel_for((count + kTile - 1) / kTile, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      float tile[kTile];
      fill(tile, key.seed, key.call, static_cast<std::uint64_t>(index));
      std::copy_n(tile, std::min(kTile, count - index * kTile), output + index * kTile);
    }
  });
}

void fill_operand(const Operand& output, std::int64_t count, RandomKey key, RandomLoops::Tile fill) {
  if (output.dtype == f64) fill_tiles(reinterpret_cast<double*>(output.host()), count, key, fill);
  else fill_tiles(reinterpret_cast<float*>(output.host()), count, key, fill);
}

}  // namespace

void cpu_uniform(const Operand& output, std::int64_t count, RandomKey key) {
  fill_operand(output, count, key, random_loops().uniform);
}

void cpu_normal(const Operand& output, std::int64_t count, RandomKey key) {
  fill_operand(output, count, key, random_loops().normal);
}

}  // namespace sluice::detail
