// What reading a tree may cost, so that a small file cannot unfold to a large one: a value that is referred to from
// many places, each of which is referred to from many, doubles with every step. Readers go through a value again for
// every reference to it, at its price, and keep tensors only, so that what is shared stays shared.
#pragma once

#include <cstdint>

#include "src/data/byte_source.hpp"

namespace sluice::detail {

class StateBudget {
 public:
  /// A value is 1, a tensor 4, 64 bytes of text 1. A large network has some ten thousand.
  static constexpr std::uint64_t kMostValues = std::uint64_t{1} << 18;
  static constexpr std::uint64_t kTensor = 4;
  /// Values within values. Chain within Chain takes two: the record and its tuple.
  static constexpr int kMostDepth = 128;

  explicit StateBudget(const ByteSource& source) : source_(source) {}

  void spend(std::uint64_t values) {
    if (values > kMostValues - spent_) {
      source_.fail("holds more than 262144 values, counting those again that are referred to more than once");
    }
    spent_ += values;
  }
  void spend_text(std::uint64_t bytes) { spend(1 + bytes / 64); }

  /// One level deeper for as long as this lives.
  class Level {
   public:
    explicit Level(StateBudget& budget) : budget_(budget) {
      if (budget_.depth_ == kMostDepth) too_deep();
      ++budget_.depth_;
    }
    ~Level() { --budget_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    [[noreturn]] void too_deep() const {
      budget_.source_.fail("values lie within one another more than 128 levels deep");
    }

    StateBudget& budget_;
  };

 private:
  const ByteSource& source_;
  std::uint64_t spent_ = 0;
  int depth_ = 0;
};

}  // namespace sluice::detail
