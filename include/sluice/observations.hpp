// What data is: something with a number of observations that can be picked by index.
//
//   numobs(data)             how many
//   getobs(data, 3)          one observation
//   getobs(data, {3, 1, 4})  several, as one batch
//
// Data are tensors (the last dimension counts the observations), std::vector, and std::array, tuple, pair or struct of
// data with equally many observations. A class of your own is data when it has the members `numobs() const` and
// `getobs(index) const`, or free functions of these names beside it. Its getobs takes a std::int64_t and gives one
// observation (tensors are then stacked along a new last dimension), or takes `Indices` and gives a batch, or both. A
// DataLoader with workers calls it from several threads at once.
#pragma once

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "sluice/model.hpp"

namespace sluice::inline v0 {
/// Numbers of observations, from 0.
using Indices = std::span<const std::int64_t>;
}  // namespace sluice::inline v0

namespace sluice::detail {

/// Size of the last dimension. Throws ShapeError for a 0-dimensional tensor.
SLUICE_API std::int64_t count_columns(const Tensor& x);
/// Columns of the last dimension: a view where the indices are consecutive.
SLUICE_API Tensor pick_columns(const Tensor& x, Indices indices);
/// One column, without the last dimension.
SLUICE_API Tensor pick_column(const Tensor& x, std::int64_t index);
[[noreturn]] SLUICE_API void throw_no_observations();
/// Throws IndexError unless 0 <= index < count; returns the index.
SLUICE_API std::size_t checked_observation(std::int64_t index, std::size_t count);
/// The number all parts agree on. Throws ShapeError naming the numbers.
SLUICE_API std::int64_t common_count(std::span<const std::int64_t> counts);
/// What names the random numbers of one observation in one epoch.
SLUICE_API RandomKey observation_key(RandomKey epoch, std::int64_t index);
/// The key of an epoch for the data inside a mapobs, so that its numbers differ from those outside.
SLUICE_API RandomKey inner_key(RandomKey epoch);
/// Throws the exception being handled again with `where` before its message: of the same type if it is the library's,
/// else an Error; the original is nested in it (std::rethrow_if_nested). Call inside a catch block.
[[noreturn]] SLUICE_API void rethrow_at(const std::string& where);

namespace own {  // a user's functions, found beside the user's class

void numobs() = delete;
void getobs() = delete;

template <class D>
concept CountFunction = requires(const D& data) {
  { numobs(data) } -> std::convertible_to<std::int64_t>;
};
template <class D>
concept CountMember = requires(const D& data) {
  { data.numobs() } -> std::convertible_to<std::int64_t>;
};
template <class D, class I>
concept PickFunction = requires(const D& data, I index) { getobs(data, index); };
template <class D, class I>
concept PickMember = requires(const D& data, I index) { data.getobs(index); };
template <class D, class I>
concept Picks = PickFunction<D, I> || PickMember<D, I>;

template <class D>
std::int64_t count(const D& data) {
  if constexpr (CountMember<D>) return static_cast<std::int64_t>(data.numobs());
  else return static_cast<std::int64_t>(numobs(data));
}
template <class D, class I>
auto pick(const D& data, I index) {
  if constexpr (PickMember<D, I>) return data.getobs(index);
  else return getobs(data, index);
}

}  // namespace own

/// Data that hands the key of the epoch on: Mapped, Subset.
template <class D>
concept KeyedData = requires { typename D::SluiceKeyedData; };

enum class DataKind : std::uint8_t { keyed, own, tensor, array, tuple, vector, fields, none };

template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t N>
inline constexpr bool kIsArray<std::array<T, N>> = true;

template <class D>
constexpr DataKind data_kind() {
  constexpr FieldKind kKind = kind_of<D>();
  if constexpr (KeyedData<D>) return DataKind::keyed;
  else if constexpr ((own::CountFunction<D> || own::CountMember<D>)&&(own::Picks<D, std::int64_t> ||
                                                                      own::Picks<D, Indices>))
    return DataKind::own;
  else if constexpr (kKind == FieldKind::tensor) return DataKind::tensor;
  else if constexpr (kIsArray<D>) return DataKind::array;
  else if constexpr (kKind == FieldKind::list) return DataKind::vector;
  else if constexpr (kKind == FieldKind::tuple) return DataKind::tuple;
  else if constexpr (kKind == FieldKind::named || kKind == FieldKind::aggregate) return DataKind::fields;
  else return DataKind::none;
}

template <class D>
inline constexpr bool kIsData = data_kind<D>() != DataKind::none;

/// References to the fields of a struct; the caller does not write to those of a const one.
template <class S>
auto field_references(const S& data) {
  auto& fields = const_cast<S&>(data);
  if constexpr (kind_of<S>() == FieldKind::named) return FieldAccess::fields(fields);
  else return tie_fields(fields);
}

template <class D>
std::int64_t count_observations(const D& data);

template <class Tuple>
std::int64_t count_parts(const Tuple& parts) {
  std::vector<std::int64_t> counts;
  const auto meet = [&]<class P>(const P& part) {
    if constexpr (kIsData<P>) counts.push_back(count_observations(part));
  };
  std::apply([&](const auto&... part) { (meet(part), ...); }, parts);
  return common_count(counts);
}

template <class D>
std::int64_t count_observations(const D& data) {
  constexpr DataKind kKind = data_kind<D>();
  static_assert(kIsData<D>, "this type is not data: give it the members numobs() const and getobs(index) const");
  if constexpr (kKind == DataKind::keyed) return data.numobs();
  else if constexpr (kKind == DataKind::own) return own::count(data);
  else if constexpr (kKind == DataKind::tensor) return count_columns(data);
  else if constexpr (kKind == DataKind::vector) return static_cast<std::int64_t>(data.size());
  else if constexpr (kKind == DataKind::fields) return count_parts(field_references(data));
  else if constexpr (kKind != DataKind::none) return count_parts(data);
}

template <class S>
auto collate(std::vector<S> samples);

/// Whether samples of a struct become one struct of batches: all its fields are tensors, or such structs.
template <class S>
constexpr bool collates_fields() {
  if constexpr (data_kind<S>() == DataKind::tensor) return true;
  else if constexpr (data_kind<S>() != DataKind::fields) return false;
  else {
    return []<class... T>(std::type_identity<std::tuple<T&...>>) {
      return (collates_fields<T>() && ...);
    }(std::type_identity<decltype(field_references(std::declval<const S&>()))>{});
  }
}

/// The batch of part I of every sample.
template <std::size_t I, class S, class Part>
auto collate_part(const std::vector<S>& samples, Part part) {
  std::vector<std::remove_cvref_t<decltype(part(samples[0]))>> parts;
  parts.reserve(samples.size());
  for (const S& sample : samples) parts.push_back(part(sample));
  return collate(std::move(parts));
}

template <class S, std::size_t... I>
auto collate_tuple(const std::vector<S>& samples, std::index_sequence<I...>) {
  const auto part = [&]<std::size_t J>(std::integral_constant<std::size_t, J>) {
    return collate_part<J>(samples, [](const S& sample) -> const auto& { return std::get<J>(sample); });
  };
  if constexpr (kIsArray<S>) return std::array{part(std::integral_constant<std::size_t, I>{})...};
  else return std::tuple(part(std::integral_constant<std::size_t, I>{})...);
}

template <class S, std::size_t... I>
S collate_struct(const std::vector<S>& samples, std::index_sequence<I...>) {
  S batch = samples[0];
  auto fields = field_references(batch);
  ((std::get<I>(fields) =
        collate_part<I>(samples, [](const S& sample) -> const auto& { return std::get<I>(field_references(sample)); })),
   ...);
  return batch;
}

SLUICE_API Tensor collate_tensors(const std::vector<Tensor>& samples);

/// One batch of samples, of which there is at least one: tensors are stacked along a new last dimension, numbers become
/// a tensor, what consists of these is batched part by part; of anything else the batch is the std::vector.
template <class S>
auto collate(std::vector<S> samples) {
  constexpr DataKind kKind = data_kind<S>();
  if constexpr (kKind == DataKind::tensor) return collate_tensors(samples);
  else if constexpr (Element<S>) return from(samples);
  else if constexpr (kKind == DataKind::array || kKind == DataKind::tuple) {
    return collate_tuple(samples, std::make_index_sequence<std::tuple_size_v<S>>{});
  } else if constexpr (kKind == DataKind::fields && collates_fields<S>()) {
    using Fields = decltype(field_references(samples[0]));
    return collate_struct(samples, std::make_index_sequence<std::tuple_size_v<Fields>>{});
  } else {
    return samples;
  }
}

/// Batches `pick(index)` of every index, and says which failed.
template <class Pick>
auto collect(Indices indices, Pick pick) {
  if (indices.empty()) throw_no_observations();
  std::vector<std::remove_cvref_t<decltype(pick(std::int64_t{}))>> samples;
  samples.reserve(indices.size());
  for (const std::int64_t index : indices) {
    try {
      samples.push_back(pick(index));
    } catch (...) {
      rethrow_at("item " + std::to_string(index));
    }
  }
  return collate(std::move(samples));
}

/// The struct with `replace(field)` in place of every field that is data.
template <class D, class Replace>
D with_fields(const D& data, Replace replace) {
  D result = data;
  const auto put = [&]<class P>(P& part) {
    if constexpr (kIsData<P>) part = replace(part);
  };
  std::apply([&](auto&... part) { (put(part), ...); }, field_references(result));
  return result;
}

/// `replace(part)` of every part of a tuple or array.
template <class D, class Replace>
auto with_parts(const D& data, Replace replace) {
  return std::apply(
      [&](const auto&... part) {
        if constexpr (kIsArray<D>) return std::array<decltype(replace(data[0])), sizeof...(part)>{replace(part)...};
        else return std::tuple(replace(part)...);
      },
      data);
}

template <class D>
auto pick_one(const D& data, std::int64_t index, const RandomKey& epoch);

/// A batch of the observations; `epoch` names the random numbers it may use.
template <class D>
auto pick_batch(const D& data, Indices indices, const RandomKey& epoch) {
  constexpr DataKind kKind = data_kind<D>();
  static_assert(kIsData<D>, "this type is not data: give it the members numobs() const and getobs(index) const");
  const auto pick_part = [&](const auto& part) { return pick_batch(part, indices, epoch); };
  if constexpr (kKind == DataKind::keyed) return data.sluice_pick(indices, epoch);
  else if constexpr (kKind == DataKind::own && own::Picks<D, Indices>) return own::pick(data, indices);
  else if constexpr (kKind == DataKind::own) {
    return collect(indices, [&](std::int64_t index) { return own::pick(data, index); });
  } else if constexpr (kKind == DataKind::tensor) return pick_columns(data, indices);
  else if constexpr (kKind == DataKind::vector) {
    D batch;
    batch.reserve(indices.size());
    for (const std::int64_t index : indices) batch.push_back(data[checked_observation(index, data.size())]);
    return batch;
  } else if constexpr (kKind == DataKind::fields) return with_fields(data, pick_part);
  else if constexpr (kKind != DataKind::none) return with_parts(data, pick_part);
}

/// One observation.
template <class D>
auto pick_one(const D& data, std::int64_t index, const RandomKey& epoch) {
  constexpr DataKind kKind = data_kind<D>();
  static_assert(kIsData<D>, "this type is not data: give it the members numobs() const and getobs(index) const");
  const auto pick_part = [&](const auto& part) { return pick_one(part, index, epoch); };
  if constexpr (kKind == DataKind::keyed) return data.sluice_pick(index, epoch);
  else if constexpr (kKind == DataKind::own && own::Picks<D, std::int64_t>) return own::pick(data, index);
  else if constexpr (kKind == DataKind::own) return pick_one(own::pick(data, Indices(&index, 1)), 0, epoch);
  else if constexpr (kKind == DataKind::tensor) return pick_column(data, index);
  else if constexpr (kKind == DataKind::vector) {
    return typename D::value_type(data[checked_observation(index, data.size())]);
  } else if constexpr (kKind == DataKind::fields) return with_fields(data, pick_part);
  else if constexpr (kKind != DataKind::none) return with_parts(data, pick_part);
}

struct NumObs {
  template <class D>
  std::int64_t operator()(const D& data) const {
    return count_observations(data);
  }
};

struct GetObs {
  template <class D, Integer I>
  auto operator()(const D& data, I index) const {
    return pick_one(data, static_cast<std::int64_t>(index), RandomKey{});
  }
  template <class D>
  auto operator()(const D& data, Indices indices) const {
    return pick_batch(data, indices, RandomKey{});
  }
  template <class D>
  auto operator()(const D& data, std::initializer_list<std::int64_t> indices) const {
    return pick_batch(data, Indices(indices.begin(), indices.size()), RandomKey{});
  }
};

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// Number of observations. Throws ShapeError when parts have different numbers.
inline constexpr detail::NumObs numobs{};
/// One observation, getobs(data, i), or a batch, getobs(data, {i, j}): of tensors with the observations last, of a
/// tuple a tuple, of a struct the struct. Throws IndexError naming index and bound.
inline constexpr detail::GetObs getobs{};

/// What a DataLoader of these data gives.
template <class D>
using Batch = decltype(detail::pick_batch(std::declval<const D&>(), Indices{}, RandomKey{}));

}  // namespace sluice::inline v0
