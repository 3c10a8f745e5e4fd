// DataLoader: data in batches, in order or shuffled, made by worker threads ahead of the loop if wanted, on the device
// where they are used.
//
//   auto loader = DataLoader({images, labels}, {.batchsize = 64, .shuffle = true}) | device;
//   for (auto [x, y] : loader) { ... }
//
// The batches and their order depend on the seed and the number of the epoch alone, not on the number of workers. Each
// loop is an epoch of its own; loops over one loader may be nested, left early, or run in several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>

#include "sluice/observations.hpp"

namespace sluice::inline v0 {

struct LoaderOptions {
  std::int64_t batchsize = 1;
  bool shuffle = false;                    ///< a new order for every epoch
  bool partial = true;                     ///< keep a last batch that is shorter
  std::optional<std::uint64_t> seed = {};  ///< taken from the process's generator unless given
  int workers = 0;                         ///< threads that make batches ahead of the loop
};

}  // namespace sluice::inline v0

namespace sluice::detail {

/// Which observations are in which batch of one epoch.
class SLUICE_API EpochPlan {
 public:
  EpochPlan(std::int64_t observations, const LoaderOptions& options, std::uint64_t seed, std::uint64_t epoch);
  std::vector<std::int64_t> indices(std::int64_t batch) const;
  RandomKey key() const { return key_; }

 private:
  std::int64_t observations_, batchsize_;
  RandomKey key_;
  std::vector<std::int64_t> order_;  // empty: as they are
};

/// Makes batches 0 ... count-1 and gives them out in order. With threads, a few are made ahead of `next`.
class SLUICE_API BatchQueue {
 public:
  using Make = std::function<std::shared_ptr<void>(std::int64_t batch)>;

  /// What `make` throws gets the number of its batch, unless it says so itself.
  enum class Errors : std::uint8_t { numbered, as_they_are };
  BatchQueue(std::int64_t count, int threads, Make make, Errors errors = Errors::numbered);
  /// Waits for batches being made.
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// The next batch, null after the last. Rethrows what making it threw, with its number; after that there are no more.
  std::shared_ptr<void> next();
  /// Calls f; what it throws gets the number of the batch.
  static void numbered(std::int64_t batch, const std::function<void()>& f);

 private:
  struct Shared;
  std::shared_ptr<void> take(std::int64_t batch);
  std::shared_ptr<void> made(std::int64_t batch) const;

  std::int64_t count_, next_ = 0;
  Make make_;
  Errors errors_;
  std::shared_ptr<Shared> shared_;  // null without threads
};

/// The next number of an epoch; copies count on their own.
class EpochCounter {
 public:
  EpochCounter() = default;
  EpochCounter(const EpochCounter& other) : next_(other.next_.load()) {}
  EpochCounter& operator=(const EpochCounter& other) {
    next_ = other.next_.load();
    return *this;
  }
  std::uint64_t next() const { return next_++; }

 private:
  mutable std::atomic<std::uint64_t> next_{0};
};

SLUICE_API void check_options(const LoaderOptions& options);
SLUICE_API std::int64_t count_batches(std::int64_t observations, const LoaderOptions& options);
SLUICE_API std::uint64_t loader_seed(const LoaderOptions& options);
[[noreturn]] SLUICE_API void refuse_to_move();

template <class T>
constexpr bool is_movable_to_device() {
  constexpr FieldKind kKind = kind_of<T>();
  if constexpr (kKind == FieldKind::list) return is_movable_to_device<typename T::value_type>();
  else if constexpr (kKind == FieldKind::tuple) {
    return []<template <class...> class Tuple, class... P>(std::type_identity<Tuple<P...>>) {
      return (is_movable_to_device<P>() && ...);
    }(std::type_identity<T>{});
  } else {
    return kKind != FieldKind::unknown && kKind != FieldKind::derived && kKind != FieldKind::pointer;
  }
}

template <class B>
void move_batch(B& batch, const Target& target) {
  if (!target.device && !target.dtype) return;
  if constexpr (is_movable_to_device<B>()) move_to_target(model_ref(batch), target);
  else refuse_to_move();
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// Data in batches. `loader | device` is the same loader giving its batches on that device, each moved by a thread
/// while the one before is in use; the data stay where they are. A batch that is kept stays valid.
template <class D>
class DataLoader {
 public:
  using value_type = Batch<D>;

  /// One pass over the data. Move-only; the batch it holds is dropped before the next is fetched.
  class Iterator {
   public:
    using value_type = Batch<D>;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(std::unique_ptr<detail::BatchQueue> queue) : queue_(std::move(queue)) { ++*this; }
    value_type& operator*() const { return *batch_; }
    Iterator& operator++() {
      batch_.reset();
      batch_ = std::static_pointer_cast<value_type>(queue_->next());
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return batch_ == nullptr; }

   private:
    std::unique_ptr<detail::BatchQueue> queue_;
    std::shared_ptr<value_type> batch_;
  };

  /// DataLoader({x, y}, ...), of parts of one type, gives std::array batches. Throws ArgumentError unless batchsize >=
  /// 1 and workers >= 0, ShapeError when parts have different numbers of observations.
  explicit DataLoader(D data, LoaderOptions options = {})
      : data_(std::make_shared<const D>(std::move(data))),
        observations_(numobs(*data_)),
        options_(options),
        seed_(detail::loader_seed(options)) {
    detail::check_options(options);
  }

  /// Number of batches.
  std::int64_t size() const { return detail::count_batches(observations_, options_); }
  const D& data() const { return *data_; }

  /// Starts an epoch.
  Iterator begin() const {
    const auto plan = std::make_shared<detail::EpochPlan>(observations_, options_, seed_, epoch_.next());
    auto make = [data = data_, plan](std::int64_t batch) -> std::shared_ptr<void> {
      const NoGrad guard;  // the same inside a gradient as on a worker
      const std::vector<std::int64_t> indices = plan->indices(batch);
      return std::make_shared<value_type>(detail::pick_batch(*data, Indices(indices), plan->key()));
    };
    auto picked = std::make_unique<detail::BatchQueue>(size(), options_.workers, std::move(make));
    return Iterator(target_.device || target_.dtype ? moved(std::move(picked)) : std::move(picked));
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  /// One thread moves the batches that others make, one ahead of the loop: no more than two are on the device.
  std::unique_ptr<detail::BatchQueue> moved(std::shared_ptr<detail::BatchQueue> picked) const {
    auto move = [picked = std::move(picked), target = target_](std::int64_t batch) -> std::shared_ptr<void> {
      const NoGrad guard;
      auto made = std::static_pointer_cast<value_type>(picked->next());
      if (made == nullptr) return nullptr;  // an earlier one threw; this one is never asked for
      detail::BatchQueue::numbered(batch, [&] { detail::move_batch(*made, target); });
      return made;
    };
    return std::make_unique<detail::BatchQueue>(size(), target_.device ? 1 : 0, std::move(move),
                                                detail::BatchQueue::Errors::as_they_are);
  }

  std::shared_ptr<const D> data_;
  std::int64_t observations_;
  LoaderOptions options_;
  std::uint64_t seed_;
  detail::EpochCounter epoch_;
  Target target_;

 public:
  SLUICE_FIELDS(target_)
};

template <class T, std::size_t N>
DataLoader(const T (&)[N], LoaderOptions = {}) -> DataLoader<std::array<T, N>>;

/// What eachobs gives: the observations one by one, in order.
template <class D>
class EachObs {
 public:
  class Iterator {
   public:
    using value_type = decltype(detail::pick_one(std::declval<const D&>(), 0, RandomKey{}));
    using difference_type = std::ptrdiff_t;

    Iterator(std::shared_ptr<const D> data, std::int64_t count) : data_(std::move(data)), count_(count) {}
    value_type operator*() const { return getobs(*data_, index_); }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return index_ >= count_; }

   private:
    std::shared_ptr<const D> data_;
    std::int64_t index_ = 0;
    std::int64_t count_;
  };

  explicit EachObs(D data) : data_(std::make_shared<const D>(std::move(data))), count_(numobs(*data_)) {}
  std::int64_t size() const { return count_; }
  Iterator begin() const { return Iterator(data_, count_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::shared_ptr<const D> data_;
  std::int64_t count_;
};

/// for (auto [x, y] : eachobs(std::tuple(xs, ys))): every observation, fetched when its turn comes.
template <class D>
EachObs<D> eachobs(D data) {
  return EachObs<D>(std::move(data));
}

/// What device_iterator gives.
template <class R>
class DeviceIterable {
 public:
  class Iterator {
   public:
    using Inner = decltype(std::declval<R&>().begin());
    using Sentinel = decltype(std::declval<R&>().end());
    using value_type = std::remove_cvref_t<decltype(*std::declval<Inner&>())>;
    using difference_type = std::ptrdiff_t;

    Iterator(const Device& device, R& range) : device_(device), inner_(range.begin()), end_(range.end()) { fetch(); }
    value_type& operator*() const { return *batch_; }
    Iterator& operator++() {
      batch_.reset();
      ++inner_;
      fetch();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return batch_ == nullptr; }

   private:
    void fetch() {
      if (inner_ != end_) batch_ = std::make_unique<value_type>(device_(value_type(*inner_)));
    }

    Device device_;
    Inner inner_;
    Sentinel end_;
    std::unique_ptr<value_type> batch_;
  };

  DeviceIterable(const Device& device, R&& range) : device_(device), range_(std::forward<R>(range)) {}
  Iterator begin() { return Iterator(device_, range_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  Device device_;
  R range_;  // a reference where an lvalue was given
};

/// The elements of any range on a device, moved one by one. The previous element is let go before the next is moved; a
/// copy the loop kept stays valid. A range that is not a temporary must outlive the loop.
template <class R>
DeviceIterable<R> device_iterator(const Device& device, R&& iterable) {
  return DeviceIterable<R>(device, std::forward<R>(iterable));
}

}  // namespace sluice::inline v0
