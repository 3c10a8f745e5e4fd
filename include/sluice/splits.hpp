// Data made from other data: shuffled, split in parts, mapped on the way.
//
//   auto [train, test] = splitobs(std::tuple(images, labels), 0.8, {.shuffle = true});
//   auto augmented = mapobs([](Tensor image, RandomKey key) { return flip(image, key); }, images);
#pragma once

#include <memory>

#include "sluice/observations.hpp"

namespace sluice::inline v0 {

/// Some observations of data that are not held in memory; of those in memory, getobs gives data of the same type.
template <class D>
class Subset {
 public:
  Subset(D data, std::vector<std::int64_t> indices)
      : data_(std::move(data)), indices_(std::make_shared<const std::vector<std::int64_t>>(std::move(indices))) {}

  std::int64_t numobs() const { return static_cast<std::int64_t>(indices_->size()); }

  // For the library's own use.
  using SluiceKeyedData = void;
  auto sluice_pick(Indices indices, const RandomKey& epoch) const {
    std::vector<std::int64_t> inner;
    inner.reserve(indices.size());
    for (const std::int64_t index : indices) inner.push_back(at(index));
    return detail::pick_batch(data_, Indices(inner), epoch);
  }
  auto sluice_pick(std::int64_t index, const RandomKey& epoch) const {
    return detail::pick_one(data_, at(index), epoch);
  }

 private:
  std::int64_t at(std::int64_t index) const {
    return (*indices_)[detail::checked_observation(index, indices_->size())];
  }

  D data_;
  std::shared_ptr<const std::vector<std::int64_t>> indices_;
};

/// What mapobs gives.
template <class F, class D>
class Mapped {
 public:
  Mapped(F function, D data) : function_(std::move(function)), data_(std::move(data)) {}

  std::int64_t numobs() const { return detail::count_observations(data_); }

  // For the library's own use.
  using SluiceKeyedData = void;
  auto sluice_pick(Indices indices, const RandomKey& epoch) const {
    if constexpr (kTakesKey) {
      return detail::collect(indices, [&](std::int64_t index) { return sluice_pick(index, epoch); });
    } else {
      return function_(detail::pick_batch(data_, indices, epoch));
    }
  }
  auto sluice_pick(std::int64_t index, const RandomKey& epoch) const {
    if constexpr (kTakesKey) {
      return function_(detail::pick_one(data_, index, detail::inner_key(epoch)), detail::observation_key(epoch, index));
    } else {
      return function_(detail::pick_one(data_, index, epoch));
    }
  }

 private:
  using Sample = decltype(detail::pick_one(std::declval<const D&>(), 0, RandomKey{}));
  static constexpr bool kTakesKey = std::is_invocable_v<const F&, Sample, RandomKey>;
  static_assert(kTakesKey || std::is_invocable_v<const F&, Sample>,
                "the function of mapobs must be callable, as const, with an observation, or with it and a RandomKey");

  F function_;
  D data_;
};

/// `data` with `function` applied whenever observations are fetched; nothing is computed before.
///
/// A function of one argument is given what is fetched: a whole batch by a DataLoader, one observation by getobs(data,
/// i). A function (observation, RandomKey) is called once per observation; its key is determined by the loader's seed,
/// the epoch and the number of the observation alone, and equal for all parts of a tuple. It may be called from several
/// threads at once.
template <class F, class D>
Mapped<F, D> mapobs(F function, D data) {
  return {std::move(function), std::move(data)};
}
template <class F, class T, std::size_t N>
auto mapobs(F function, const T (&parts)[N]) {
  return mapobs(std::move(function), std::to_array(parts));
}

struct SplitOptions {
  bool shuffle = false;
  Tensor stratified = {};             ///< integer labels: each part gets the same fraction of each label
  std::optional<RandomKey> key = {};  ///< of the order; the process's next one unless given
};

}  // namespace sluice::inline v0

namespace sluice::detail {

/// Numbers of the observations of each part.
SLUICE_API std::vector<std::vector<std::int64_t>> split_by_fraction(std::int64_t count, std::span<const double> at,
                                                                    const SplitOptions& options);
SLUICE_API std::vector<std::vector<std::int64_t>> split_by_count(std::int64_t count, std::int64_t first,
                                                                 const SplitOptions& options);
SLUICE_API std::vector<std::int64_t> random_order(std::int64_t count, RandomKey key);

/// The observations as data: fetched when that gives data of the same type, else a Subset.
template <class D>
auto part_of_data(const D& data, std::vector<std::int64_t> indices) {
  if constexpr (!KeyedData<D> && std::is_same_v<Batch<D>, D>) return pick_batch(data, Indices(indices), RandomKey{});
  else return Subset<D>(data, std::move(indices));
}

template <std::size_t N, class D>
auto parts_of_data(const D& data, std::vector<std::vector<std::int64_t>> parts) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{part_of_data(data, std::move(parts[I]))...};
  }(std::make_index_sequence<N>{});
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// Two parts: round(n * at) observations, and the rest. Throws ArgumentError unless 0 <= at <= 1.
template <class D>
auto splitobs(const D& data, double at, const SplitOptions& options = {}) {
  return detail::parts_of_data<2>(data, detail::split_by_fraction(numobs(data), std::span(&at, 1), options));
}
/// N + 1 parts: round(n * at[i]) observations each, and the rest. Throws ArgumentError unless the sum is within 0
/// ... 1.
template <class D, std::size_t N>
auto splitobs(const D& data, const double (&at)[N], const SplitOptions& options = {}) {
  return detail::parts_of_data<N + 1>(data, detail::split_by_fraction(numobs(data), at, options));
}
/// Two parts: `count` observations, and the rest. Throws ArgumentError unless there are so many.
template <class D, Integer I>
auto splitobs(const D& data, I count, const SplitOptions& options = {}) {
  return detail::parts_of_data<2>(data,
                                  detail::split_by_count(numobs(data), static_cast<std::int64_t>(count), options));
}
template <class T, std::size_t N, class At>
auto splitobs(const T (&parts)[N], At at, const SplitOptions& options = {}) {
  return splitobs(std::to_array(parts), at, options);
}

/// The observations in random order.
template <class D>
auto shuffleobs(const D& data, RandomKey key = next_random_key()) {
  return detail::part_of_data(data, detail::random_order(numobs(data), key));
}
template <class T, std::size_t N>
auto shuffleobs(const T (&parts)[N], RandomKey key = next_random_key()) {
  return shuffleobs(std::to_array(parts), key);
}

}  // namespace sluice::inline v0
