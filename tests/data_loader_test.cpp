#include "sluice/loader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <thread>

#include "fake_device.hpp"
#include "sluice/ops.hpp"
#include "sluice/splits.hpp"

namespace sluice {
namespace {

using tests::FakeDevice;
using Numbers = std::vector<std::int64_t>;

/// The observations 0 ... n-1 of a vector of their numbers, batch by batch.
template <class Loader>
std::vector<Numbers> batches_of(const Loader& loader) {
  std::vector<Numbers> batches;
  for (const auto& batch : loader) batches.push_back(batch.template to_vector<std::int64_t>());
  return batches;
}

Numbers joined(const std::vector<Numbers>& batches) {
  Numbers all;
  for (const Numbers& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

Numbers up_to(std::int64_t n) {
  Numbers numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return numbers;
}

TEST(DataLoader, BatchesOfEverySize) {
  for (std::int64_t n = 0; n <= 13; ++n) {
    for (std::int64_t b = 1; b <= 14; ++b) {
      for (const bool partial : {true, false}) {
        std::vector<Numbers> expected;
        for (std::int64_t first = 0; first < n; first += b) {
          if (first + b > n && !partial) break;
          Numbers batch;
          for (std::int64_t i = first; i < std::min(first + b, n); ++i) batch.push_back(i);
          expected.push_back(batch);
        }
        const DataLoader loader(arange(n), {.batchsize = b, .partial = partial});
        EXPECT_EQ(batches_of(loader), expected) << n << ' ' << b;
        EXPECT_EQ(loader.size(), static_cast<std::int64_t>(expected.size()));
      }
    }
  }
}

TEST(DataLoader, BatchsizeIsOneUnlessGiven) {
  EXPECT_EQ(batches_of(DataLoader(arange(3))), (std::vector<Numbers>{{0}, {1}, {2}}));
}

TEST(DataLoader, BadOptions) {
  EXPECT_THROW(DataLoader(arange(3), {.batchsize = 0}), ArgumentError);
  EXPECT_THROW(DataLoader(arange(3), {.batchsize = -1}), ArgumentError);
  EXPECT_THROW(DataLoader(arange(3), {.workers = -1}), ArgumentError);
  EXPECT_THROW(DataLoader(scalar(1.0f)), ShapeError);
  EXPECT_EQ(DataLoader(arange(3), {.batchsize = INT64_MAX}).size(), 1);
}

TEST(DataLoader, UnequalPartsNameTheirSizes) {
  try {
    DataLoader({zeros({2, 5}), zeros({6})}, {.batchsize = 2});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("5 and 6"), std::string::npos) << error.what();
  }
}

TEST(DataLoader, BracesGiveAnArrayOfColumns) {
  const Tensor images = rand({3, 2, 7}), labels = rand({4, 7});
  std::int64_t first = 0;
  for (auto [x, y] : DataLoader({images, labels}, {.batchsize = 3})) {
    const std::int64_t last = std::min<std::int64_t>(first + 3, 7);
    EXPECT_TRUE(equal(x, slice(images, 2, first, last)));
    EXPECT_TRUE(equal(y, slice(labels, 1, first, last)));
    // A view, not a copy.
    EXPECT_EQ(x.span<float>().data(), images.span<float>().data() + 6 * first);
    first = last;
  }
  EXPECT_EQ(first, 7);
}

TEST(DataLoader, ShuffledColumnsStayTogether) {
  const Tensor x = reshape(arange(0, 60), {2, 3, 10}), y = arange(10);
  Numbers seen;
  for (auto [a, b] : DataLoader(std::tuple(x, y), {.batchsize = 4, .shuffle = true})) {
    const Numbers numbers = b.to_vector<std::int64_t>();
    for (std::size_t j = 0; j < numbers.size(); ++j) {
      const auto column = static_cast<std::int64_t>(j);
      EXPECT_TRUE(equal(slice(a, 2, column, column + 1), slice(x, 2, numbers[j], numbers[j] + 1)));
      seen.push_back(numbers[j]);
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, up_to(10));
}

TEST(DataLoader, AnEpochIsAnotherOrderAndTheSeedDecidesIt) {
  const DataLoader a(arange(50), {.batchsize = 8, .shuffle = true, .seed = 3});
  const DataLoader b(arange(50), {.batchsize = 8, .shuffle = true, .seed = 3});
  const DataLoader c(arange(50), {.batchsize = 8, .shuffle = true, .seed = 4});
  const auto first = batches_of(a), second = batches_of(a);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, batches_of(b));
  EXPECT_EQ(second, batches_of(b));
  EXPECT_NE(first, batches_of(c));
  for (Numbers all : {joined(first), joined(second)}) {
    EXPECT_NE(all, up_to(50));
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, up_to(50));
  }
}

TEST(DataLoader, TheProcessSeedDecidesWhereNoneIsGiven) {
  std::vector<std::vector<Numbers>> orders;
  for (const std::uint64_t value : {7, 7, 8}) {
    seed(value);
    orders.push_back(batches_of(DataLoader(arange(40), {.batchsize = 5, .shuffle = true})));
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
}

TEST(DataLoader, WorkersChangeNothing) {
  const auto run = [](int workers) {
    const DataLoader loader(arange(101), {.batchsize = 4, .shuffle = true, .seed = 1, .workers = workers});
    return std::array{batches_of(loader), batches_of(loader)};
  };
  const auto expected = run(0);
  EXPECT_EQ(run(1), expected);
  EXPECT_EQ(run(2), expected);
  EXPECT_EQ(run(8), expected);
}

TEST(DataLoader, NestedLoopsAreIndependent) {
  for (const int workers : {0, 2}) {
    const DataLoader loader(arange(9), {.batchsize = 2, .shuffle = true, .seed = 2, .workers = workers});
    Numbers outer;
    for (const Tensor& a : loader) {
      Numbers inner = joined(batches_of(loader));
      std::sort(inner.begin(), inner.end());
      EXPECT_EQ(inner, up_to(9));
      for (const std::int64_t i : a.to_vector<std::int64_t>()) outer.push_back(i);
    }
    const DataLoader fresh(arange(9), {.batchsize = 2, .shuffle = true, .seed = 2});
    EXPECT_EQ(outer, joined(batches_of(fresh)));
  }
}

TEST(DataLoader, ManyThreadsOnOneLoader) {
  const DataLoader loader(arange(40), {.batchsize = 3, .shuffle = true, .workers = 2});
  std::vector<Numbers> seen(4);
  std::vector<std::thread> threads;
  for (Numbers& numbers : seen) {
    threads.emplace_back([&numbers, &loader] {
      for (int epoch = 0; epoch < 5; ++epoch) numbers = joined(batches_of(loader));
      std::sort(numbers.begin(), numbers.end());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Numbers& numbers : seen) EXPECT_EQ(numbers, up_to(40));
}

TEST(DataLoader, LeavingEarlyAndKeepingBatches) {
  for (const int workers : {0, 1, 8}) {
    std::vector<Tensor> kept;
    {
      const DataLoader loader(arange(100), {.batchsize = 7, .shuffle = true, .seed = 5, .workers = workers});
      for (const Tensor& batch : loader) {
        kept.push_back(batch);
        if (kept.size() == 3) break;
      }
    }
    const auto expected = batches_of(DataLoader(arange(100), {.batchsize = 7, .shuffle = true, .seed = 5}));
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].to_vector<std::int64_t>(), expected[i]);
  }
}

/// Fails at one observation.
struct Broken {
  std::int64_t bad;
  std::int64_t numobs() const { return 20; }
  Tensor getobs(std::int64_t i) const {
    if (i == bad) throw std::domain_error("torn image");
    return full({2}, i);
  }
};

TEST(DataLoader, AnExceptionNamesItsItem) {
  for (const int workers : {0, 1, 8}) {
    const DataLoader loader(Broken{13}, {.batchsize = 3, .workers = workers});
    int batches = 0;
    try {
      for (const Tensor& batch : loader) {
        EXPECT_EQ(batch.shape(), (Shape{2, 3}));
        ++batches;
      }
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(batches, 4);
      const std::string message = error.what();
      EXPECT_NE(message.find("item 13"), std::string::npos) << message;
      EXPECT_NE(message.find("torn image"), std::string::npos) << message;
    }
  }
}

TEST(DataLoader, AnExceptionOfTheLibraryKeepsItsType) {
  const auto reject = [](const Tensor& x) -> Tensor {
    if (x.to_vector<std::int64_t>()[0] >= 4) throw IndexError("no such word");
    return x;
  };
  for (const int workers : {0, 2}) {
    EXPECT_THROW(batches_of(DataLoader(mapobs(reject, arange(8)), {.batchsize = 4, .workers = workers})), IndexError);
  }
}

struct Pair {
  Tensor image;
  Tensor label;
};

struct NamedPair {
  Tensor image;
  std::vector<std::string> words;
  double scale = 1;
  SLUICE_FIELDS(image, words, scale)
};

TEST(DataLoader, StructsStayStructs) {
  std::int64_t count = 0;
  for (const Pair& batch : DataLoader(Pair{rand({3, 5}), arange(5)}, {.batchsize = 2})) {
    EXPECT_EQ(batch.image.size(1), batch.label.numel());
    EXPECT_EQ(batch.label.to_vector<std::int64_t>()[0], count);
    count += batch.label.numel();
  }
  EXPECT_EQ(count, 5);
  for (const NamedPair& batch : DataLoader(NamedPair{arange(3), {"a", "b", "c"}, 2}, {.batchsize = 3})) {
    EXPECT_EQ(batch.words, (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(batch.scale, 2);
  }
}

struct Words {
  std::vector<std::string> words;
};
std::int64_t numobs(const Words& data) { return static_cast<std::int64_t>(data.words.size()); }
auto getobs(const Words& data, std::int64_t i) {
  const std::string& word = data.words[static_cast<std::size_t>(i)];
  return std::tuple(word, static_cast<int>(word.size()), full({2}, i));
}

TEST(DataLoader, ClassesWithFreeFunctions) {
  const Words words{{"one", "three", "seventeen"}};
  EXPECT_EQ(sluice::numobs(words), 3);
  for (const auto& [text, length, number] : DataLoader(words, {.batchsize = 3})) {
    EXPECT_EQ(text, words.words);
    EXPECT_EQ(length.to_vector<int>(), (std::vector<int>{3, 5, 9}));
    EXPECT_EQ(number.shape(), (Shape{2, 3}));
    EXPECT_EQ(number.to_vector<std::int64_t>(), (Numbers{0, 0, 1, 1, 2, 2}));
  }
}

struct Squares {
  std::int64_t numobs() const { return 10; }
  Tensor getobs(Indices indices) const {
    Numbers squares;
    for (const std::int64_t i : indices) squares.push_back(i * i);
    return from(squares);
  }
};

TEST(DataLoader, ClassesThatMakeBatches) {
  EXPECT_EQ(batches_of(DataLoader(Squares{}, {.batchsize = 4})),
            (std::vector<Numbers>{{0, 1, 4, 9}, {16, 25, 36, 49}, {64, 81}}));
  EXPECT_EQ(sluice::getobs(Squares{}, 3).item<std::int64_t>(), 9);
}

TEST(DataLoader, MovesBatchesNotData) {
  FakeDevice fake;
  const Device device(&fake);
  {
    const Tensor x = rand({3, 10});
    auto loader = DataLoader({x, rand({2, 10})}, {.batchsize = 4}) | device;
    static_assert(std::is_same_v<decltype(loader), DataLoader<std::array<Tensor, 2>>>);
    std::int64_t first = 0;
    std::vector<Tensor> kept;
    for (auto [a, b] : loader) {
      EXPECT_EQ(a.device(), device);
      EXPECT_EQ(b.device(), device);
      kept.push_back(a);
      first += a.size(1);
    }
    EXPECT_EQ(first, 10);
    EXPECT_EQ(loader.data()[0].device(), cpu_device());
    EXPECT_EQ(fake.blocks, 3);  // those that are kept
    EXPECT_TRUE(equal(cpu(kept[1]), slice(x, 1, 4, 8)));
    for (auto [a, b] : cpu(loader)) EXPECT_EQ(a.device(), cpu_device());
    for (auto [a, b] : loader) break;
  }
  EXPECT_EQ(fake.blocks, 0);
}

TEST(DataLoader, AContainerMovesItsLoader) {
  FakeDevice fake;
  const Device device(&fake);
  const auto moved = device(std::tuple(DataLoader(arange(4), {.batchsize = 2}), arange(3)));
  for (const Tensor& batch : std::get<0>(moved)) EXPECT_EQ(batch.device(), device);
}

TEST(DeviceIterator, HoldsOneBatchAtATime) {
  FakeDevice fake;
  const Device device(&fake);
  const DataLoader loader(arange(6), {.batchsize = 2});
  int batches = 0;
  for (Tensor& batch : device_iterator(device, loader)) {
    EXPECT_EQ(batch.device(), device);
    EXPECT_EQ(fake.blocks, 1);
    EXPECT_EQ(cpu(batch).to_vector<std::int64_t>(), (Numbers{2 * batches, 2 * batches + 1}));
    ++batches;
  }
  EXPECT_EQ(batches, 3);
  EXPECT_EQ(fake.blocks, 0);
  std::vector<Tensor> kept;
  for (const Tensor& each : device_iterator(device, std::vector{arange(2), arange(3)})) kept.push_back(each);
  EXPECT_EQ(fake.blocks, 2);
  EXPECT_EQ(cpu(kept[0]).numel(), 2);
}

TEST(Augmentation, DependsOnSeedEpochAndSampleOnly) {
  const auto noise = [](const Tensor& x, RandomKey key) { return x + rand(x.shape(), f32, key); };
  const auto run = [&](int workers, std::int64_t batchsize, bool shuffle) {
    const auto numbered = std::tuple(mapobs(noise, zeros({2, 12})), arange(12));
    const DataLoader loader(numbered, {.batchsize = batchsize, .shuffle = shuffle, .seed = 9, .workers = workers});
    std::array<std::map<std::int64_t, std::vector<float>>, 2> epochs;
    for (auto& epoch : epochs) {
      for (const auto& [x, y] : loader) {
        for (std::int64_t j = 0; j < y.numel(); ++j) {
          epoch[y.template to_vector<std::int64_t>()[static_cast<std::size_t>(j)]] =
              slice(x, 1, j, j + 1).template to_vector<float>();
        }
      }
    }
    return epochs;
  };
  const auto expected = run(0, 1, false);
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_NE(expected[0].at(0), expected[0].at(1));
  EXPECT_EQ(run(1, 5, true), expected);
  EXPECT_EQ(run(8, 3, true), expected);
}

TEST(Augmentation, EqualForAllPartsAndOtherInside) {
  const auto draw = [](const Tensor& x, RandomKey key) { return x + rand({1}, f32, key); };
  const Tensor x = zeros({1, 4});
  for (const auto& [a, b] : DataLoader(std::tuple(mapobs(draw, x), mapobs(draw, x)), {.batchsize = 4})) {
    EXPECT_TRUE(equal(a, b));
  }
  const DataLoader once(mapobs(draw, x), {.batchsize = 4, .seed = 1});
  const DataLoader twice(mapobs(draw, mapobs(draw, x)), {.batchsize = 4, .seed = 1});
  EXPECT_FALSE(allclose(*twice.begin(), *once.begin() * 2.0f));
}

}  // namespace
}  // namespace sluice
