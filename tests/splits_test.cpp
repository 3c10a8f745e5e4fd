#include "sluice/splits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sluice/loader.hpp"
#include "sluice/ops.hpp"

namespace sluice {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers(const Tensor& x) { return x.to_vector<std::int64_t>(); }

TEST(Observations, CountTheLastDimension) {
  EXPECT_EQ(numobs(zeros({3, 2, 5})), 5);
  EXPECT_EQ(numobs(zeros({4})), 4);
  EXPECT_EQ(numobs(std::vector<int>{1, 2}), 2);
  EXPECT_EQ(numobs(std::tuple(zeros({2, 3}), std::vector<int>{1, 2, 3})), 3);
  EXPECT_THROW(numobs(scalar(1.0f)), ShapeError);
  EXPECT_THROW(numobs(std::tuple(zeros({2, 3}), zeros({2}))), ShapeError);
}

TEST(Observations, OneAndSeveral) {
  const Tensor x = reshape(arange(12), {2, 2, 3});
  EXPECT_TRUE(equal(getobs(x, 1), reshape(slice(x, 2, 1, 2), {2, 2})));
  EXPECT_EQ(numbers(getobs(x, {2, 0})), (Numbers{8, 9, 10, 11, 0, 1, 2, 3}));
  EXPECT_EQ(getobs(arange(3), 2).rank(), 0);
  const auto [a, b] = getobs(std::tuple(x, std::vector<std::string>{"p", "q", "r"}), 2);
  EXPECT_EQ(numbers(a), (Numbers{8, 9, 10, 11}));
  EXPECT_EQ(b, "r");
  EXPECT_THROW(getobs(x, 3), IndexError);
  EXPECT_THROW(getobs(x, -1), IndexError);
  EXPECT_THROW(getobs(x, {0, 3}), IndexError);
  EXPECT_THROW(getobs(std::vector<int>{1}, 1), IndexError);
}

TEST(SplitObs, RoundsToNearest) {
  for (std::int64_t n = 0; n <= 12; ++n) {
    for (const double at : {0.0, 0.3, 0.5, 0.7, 1.0}) {
      const auto [a, b] = splitobs(arange(n), at);
      // Half to even, as Julia rounds.
      const double exact = static_cast<double>(n) * at;
      double expected = std::floor(exact + 0.5);
      if (exact - std::floor(exact) == 0.5 && std::fmod(expected, 2) == 1) expected -= 1;
      EXPECT_EQ(static_cast<double>(a.numel()), expected) << n << ' ' << at;
      Numbers all = numbers(a);
      const Numbers rest = numbers(b);
      all.insert(all.end(), rest.begin(), rest.end());
      EXPECT_EQ(all, numbers(arange(n)));
    }
  }
}

TEST(SplitObs, SeveralPartsAndCounts) {
  const auto [a, b, c] = splitobs(arange(10), {0.5, 0.3});
  EXPECT_EQ(numbers(a), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(numbers(b), (Numbers{5, 6, 7}));
  EXPECT_EQ(numbers(c), (Numbers{8, 9}));
  EXPECT_EQ(numbers(splitobs(arange(10), 9)[1]), (Numbers{9}));
  EXPECT_THROW(splitobs(arange(10), 11), ArgumentError);
  EXPECT_THROW(splitobs(arange(10), 1.5), ArgumentError);
  EXPECT_THROW(splitobs(arange(10), -0.1), ArgumentError);
  EXPECT_THROW(splitobs(arange(10), {0.7, 0.7}), ArgumentError);
}

TEST(SplitObs, ShuffledPartsKeepColumnsTogether) {
  const Tensor x = reshape(arange(20), {2, 10}), y = arange(10);
  const auto [train, test] = splitobs({x, y}, 0.7, {.shuffle = true, .key = RandomKey{1, 1}});
  EXPECT_EQ(numobs(train), 7);
  Numbers all;
  for (const auto& part : {train, test}) {
    for (std::int64_t i = 0; i < numobs(part); ++i) {
      const auto [column, number] = getobs(part, i);
      EXPECT_EQ(numbers(column)[0], 2 * number.item<std::int64_t>());
      all.push_back(number.item<std::int64_t>());
    }
  }
  EXPECT_NE(all, numbers(y));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, numbers(y));
}

TEST(SplitObs, StratifiedPartsHaveTheSameShares) {
  Numbers labels;
  for (int i = 0; i < 100; ++i) labels.push_back(i % 10 == 0 ? 7 : -1);
  for (const bool shuffle : {false, true}) {
    const auto [train, test] = splitobs(arange(100), 0.8, {.shuffle = shuffle, .stratified = from(labels)});
    const auto rare = [](const Tensor& part) {
      const Numbers list = numbers(part);
      return std::count_if(list.begin(), list.end(), [](std::int64_t i) { return i % 10 == 0; });
    };
    EXPECT_EQ(train.numel(), 80);
    EXPECT_EQ(rare(train), 8);
    EXPECT_EQ(rare(test), 2);
  }
  EXPECT_THROW(splitobs(arange(3), 0.5, {.stratified = arange(2)}), ShapeError);
  EXPECT_THROW(splitobs(arange(3), 0.5, {.stratified = zeros({3})}), TypeError);
}

TEST(ShuffleObs, IsAPermutation) {
  const Tensor shuffled = shuffleobs(arange(30), RandomKey{3, 0});
  EXPECT_TRUE(equal(shuffled, shuffleobs(arange(30), RandomKey{3, 0})));
  Numbers all = numbers(shuffled);
  EXPECT_NE(all, numbers(arange(30)));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, numbers(arange(30)));
}

TEST(MapObs, IsLazyAndSplits) {
  int calls = 0;
  const auto doubled = mapobs(
      [&calls](const Tensor& x) {
        ++calls;
        return x * 2;
      },
      arange(6));
  const auto [a, b] = splitobs(doubled, 0.5);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(numobs(b), 3);
  EXPECT_EQ(getobs(b, 1).item<std::int64_t>(), 8);
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(getobs(b, 3), IndexError);
  for (const Tensor& batch : DataLoader(a, {.batchsize = 3})) EXPECT_EQ(numbers(batch), (Numbers{0, 2, 4}));
  EXPECT_EQ(calls, 2);
  const auto pairs = mapobs([](const std::array<Tensor, 2>& p) { return p[0] + p[1]; }, {arange(3), arange(3)});
  EXPECT_EQ(numbers(getobs(pairs, {0, 2})), (Numbers{0, 4}));
}

TEST(EachObs, OneByOne) {
  std::int64_t i = 0;
  for (const auto [x, y] : eachobs(std::tuple(reshape(arange(6), {2, 3}), std::vector<int>{5, 6, 7}))) {
    EXPECT_EQ(numbers(x), (Numbers{2 * i, 2 * i + 1}));
    EXPECT_EQ(y, 5 + i);
    ++i;
  }
  EXPECT_EQ(i, 3);
}

}  // namespace
}  // namespace sluice
