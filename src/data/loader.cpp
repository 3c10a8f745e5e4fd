#include "sluice/loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/splits.hpp"

namespace sluice::detail {

EpochPlan::EpochPlan(std::int64_t observations, const LoaderOptions& options, std::uint64_t seed, std::uint64_t epoch)
    : observations_(observations), batchsize_(options.batchsize), key_{seed, 2 * epoch + 1} {
  if (options.shuffle) order_ = random_order(observations, {seed, 2 * epoch});
}

std::vector<std::int64_t> EpochPlan::indices(std::int64_t batch) const {
  const std::int64_t first = batch * batchsize_;
  const std::int64_t count = std::min(batchsize_, observations_ - first);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  if (order_.empty()) std::iota(indices.begin(), indices.end(), first);
  else std::copy_n(order_.begin() + first, count, indices.begin());
  return indices;
}

void check_options(const LoaderOptions& options) {
  if (options.batchsize < 1) {
    throw ArgumentError(fmt::format("DataLoader: batchsize is {}; it must be at least 1", options.batchsize));
  }
  if (options.workers < 0 || options.workers > 1024) {
    throw ArgumentError(fmt::format("DataLoader: workers is {}; it must be 0 ... 1024", options.workers));
  }
}

std::int64_t count_batches(std::int64_t observations, const LoaderOptions& options) {
  const bool extra = options.partial && observations % options.batchsize != 0;
  return observations / options.batchsize + (extra ? 1 : 0);
}

// Mixed, so that a loader with the seed of the process does not repeat the numbers of its weights.
std::uint64_t loader_seed(const LoaderOptions& options) {
  constexpr std::uint64_t kLoaders = 0x6c6f61646572;  // a call number that no generator reaches
  const RandomKey key = options.seed ? RandomKey{*options.seed, kLoaders} : next_random_key();
  return observation_key(key, 0).seed;
}

void refuse_to_move() {
  throw TypeError(
      "DataLoader: a batch of this type cannot be moved to a device; give it SLUICE_FIELDS, or move its "
      "tensors in the loop");
}

}  // namespace sluice::detail
