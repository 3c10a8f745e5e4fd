#include "sluice/splits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sluice/ops.hpp"

namespace sluice::detail {
namespace {

using Order = std::vector<std::int64_t>;

Order ascending(std::int64_t count) {
  Order order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

/// The observations of each label, or all of them.
std::vector<Order> groups_of(std::int64_t count, const SplitOptions& options) {
  if (!options.stratified) return {ascending(count)};
  const Tensor& labels = options.stratified;
  if (!labels.dtype().is_integer() && labels.dtype() != boolean) {
    throw TypeError(fmt::format("splitobs: stratified labels are {}; give integers", labels.dtype().name()));
  }
  if (labels.numel() != count) {
    throw ShapeError(fmt::format("splitobs: {} stratified labels for {} observations", labels.numel(), count));
  }
  std::map<std::int64_t, Order> groups;
  const std::vector<std::int64_t> values = cpu_device()(cast(labels, i64)).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) groups[values[i]].push_back(static_cast<std::int64_t>(i));
  std::vector<Order> list;
  list.reserve(groups.size());
  for (auto& [label, group] : groups) list.push_back(std::move(group));
  return list;
}

void permute_in_place(Order& list, RandomKey key) {
  Order permuted;
  permuted.reserve(list.size());
  for (const std::int64_t place : random_order(static_cast<std::int64_t>(list.size()), key)) {
    permuted.push_back(list[static_cast<std::size_t>(place)]);
  }
  list = std::move(permuted);
}

/// Gives sizes(n)[i] observations of every group of n to part i, and the rest to the last.
template <class Sizes>
std::vector<Order> deal(std::int64_t count, std::size_t parts, const SplitOptions& options, Sizes sizes) {
  const std::optional<RandomKey> key = options.shuffle ? options.key.value_or(next_random_key()) : options.key;
  std::vector<Order> result(parts);
  std::int64_t number = 0;
  for (Order& group : groups_of(count, options)) {
    if (options.shuffle) permute_in_place(group, observation_key(*key, number++));
    auto next = group.begin();
    for (std::size_t part = 0; part < parts; ++part) {
      const auto left = static_cast<std::int64_t>(group.end() - next);
      const std::int64_t size =
          part + 1 == parts ? left : std::min(left, sizes(static_cast<std::int64_t>(group.size()), part));
      result[part].insert(result[part].end(), next, next + size);
      next += size;
    }
  }
  if (options.stratified) {  // not one label after the other
    for (Order& part : result) {
      if (options.shuffle) permute_in_place(part, observation_key(*key, number++));
      else std::sort(part.begin(), part.end());
    }
  }
  return result;
}

}  // namespace

std::vector<std::int64_t> random_order(std::int64_t count, RandomKey key) {
  return randperm(count, key).to_vector<std::int64_t>();
}

std::vector<std::vector<std::int64_t>> split_by_fraction(std::int64_t count, std::span<const double> at,
                                                         const SplitOptions& options) {
  const double sum = std::accumulate(at.begin(), at.end(), 0.0);
  for (const double fraction : at) {
    if (!(fraction >= 0 && sum <= 1 + 1e-9)) {
      throw ArgumentError(
          fmt::format("splitobs: a fraction of {} in a sum of {}; each must be at least 0, their sum "
                      "at most 1 (an integer counts observations)",
                      fraction, sum));
    }
  }
  return deal(count, at.size() + 1, options, [at](std::int64_t n, std::size_t part) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(n) * at[part]));
  });
}

std::vector<std::vector<std::int64_t>> split_by_count(std::int64_t count, std::int64_t first,
                                                      const SplitOptions& options) {
  if (first < 0 || first > count) {
    throw ArgumentError(fmt::format("splitobs: {} of {} observations cannot be split off", first, count));
  }
  if (options.stratified) {
    throw ArgumentError("splitobs: a stratified split takes a fraction, not a number of observations");
  }
  return deal(count, 2, options, [first](std::int64_t, std::size_t) { return first; });
}

}  // namespace sluice::detail
