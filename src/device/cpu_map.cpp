#include "src/device/cpu_map.hpp"

#include <algorithm>

#include "src/device/thread_pool.hpp"
#include "src/device/tile_interpreter.hpp"

namespace sluice::detail {
namespace {

/// Elements that one thread should take at least: waking another costs as much as this many.
std::int64_t grain(const TypedProgram& program) {
  constexpr std::int64_t kSimple = 32768;
  const auto operations = static_cast<std::int64_t>(program.nodes.size());
  const std::int64_t elements = std::max<std::int64_t>(4096, kSimple * 4 / std::max<std::int64_t>(operations, 1));
  return (elements + kTile - 1) / kTile * kTile;
}

bool share_memory(std::span<const Operand> a, std::span<const Operand> b) {
  for (const Operand& x : a) {
    for (const Operand& y : b) {
      if (x.storage == y.storage) return true;
    }
  }
  return false;
}

}  // namespace

void cpu_map(const MapCall& call) {
  const bool overlap = share_memory(call.outputs, call.inputs);
  const std::int64_t numel = call.space.numel();
  const auto run = [&](std::int64_t first, std::int64_t last) {
    TileRunner(call.program, call.params, call.space, call.inputs).run(first, last, call.outputs, overlap);
  };
  const std::int64_t piece = grain(call.program);
  if (numel <= piece) return run(0, numel);
  // Pieces are whole tiles, so that two threads never write into one tile.
  const std::int64_t tiles = (numel + kTile - 1) / kTile;
  parallel_for(tiles, piece / kTile,
               [&](std::int64_t first, std::int64_t last) { run(first * kTile, std::min(last * kTile, numel)); });
}

}  // namespace sluice::detail
