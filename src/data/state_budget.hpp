// What reading a tree may cost, so that a small file cannot unfold to a large one: a value that is referred to from
// many places, each of which is referred to from many, doubles with every step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/data/byte_source.hpp"

namespace sluice::detail {

class StateBudget {
 public:
  /// A value is 1, a tensor 4, 64 bytes of text 1. A large network has some ten thousand.
  static constexpr std::uint64_t kMostValues = std::uint64_t{1} << 18;
  static constexpr std::uint64_t kTensor = 4;
  /// Values within values. Chain within Chain takes two: the record and its tuple.
  static constexpr int kMostDepth = 128;

  /// What a value took to read. A copy of it takes the same.
  struct Cost {
    std::uint64_t values = 0;
    int height = 0;
  };

  explicit StateBudget(const ByteSource& source) : source_(source) {}

  void spend(std::uint64_t values) {
    if (values > kMostValues - spent_) {
      source_.fail("holds more than 262144 values, counting those again that are referred to more than once");
    }
    spent_ += values;
  }
  void spend_text(std::uint64_t bytes) { spend(1 + bytes / 64); }
  void spend(Cost copy) {
    spend(copy.values);
    reach(depth_ + copy.height);
  }

  /// What calling `f` costs.
  template <class F>
  Cost measure(F f) {
    const std::uint64_t before = spent_;
    const int deepest = std::exchange(deepest_, depth_);
    f();
    const Cost cost{spent_ - before, deepest_ - depth_};
    deepest_ = std::max(deepest, deepest_);
    return cost;
  }

  /// One level deeper for as long as this lives.
  class Level {
   public:
    explicit Level(StateBudget& budget) : budget_(budget) {
      budget_.reach(budget_.depth_ + 1);
      ++budget_.depth_;
    }
    ~Level() { --budget_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    StateBudget& budget_;
  };

 private:
  void reach(int depth) {
    if (depth > kMostDepth) source_.fail("values lie within one another more than 128 levels deep");
    deepest_ = std::max(deepest_, depth);
  }

  const ByteSource& source_;
  std::uint64_t spent_ = 0;
  int depth_ = 0, deepest_ = 0;
};

}  // namespace sluice::detail
