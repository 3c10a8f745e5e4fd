#include "sluice/onehot.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "messages.hpp"
#include "sluice/ops.hpp"

namespace sluice {
namespace {

using tests::message_of;

using Numbers = std::vector<std::int64_t>;

void expect_onehot(const Tensor& y, const Numbers& places, std::int64_t labels) {
  ASSERT_EQ(y.dtype(), boolean);
  ASSERT_EQ(y.numel(), labels * static_cast<std::int64_t>(places.size()));
  const std::vector<bool> elements = y.to_vector<bool>();
  for (std::size_t j = 0; j < places.size(); ++j) {
    for (std::int64_t i = 0; i < labels; ++i) {
      EXPECT_EQ(elements[j * static_cast<std::size_t>(labels) + static_cast<std::size_t>(i)], i == places[j]);
    }
  }
}

TEST(OneHot, IntegersOfEveryType) {
  const Numbers places{2, 0, 3, 3};
  for (const DType dtype : {u8, i8, i16, i32, i64}) {
    const Tensor y = onehotbatch(cast(from(places), dtype), 4);
    EXPECT_EQ(y.shape(), (Shape{4, 4}));
    expect_onehot(y, places, 4);
  }
  EXPECT_EQ(onehotbatch(zeros({2, 3}, i64), 5).shape(), (Shape{5, 2, 3}));
  EXPECT_EQ(onehotbatch(arange(0), 5).shape(), (Shape{5, 0}));
  EXPECT_EQ(onehotbatch(scalar(std::int64_t{1}), 3).shape(), (Shape{3}));
  expect_onehot(onehotbatch(std::vector<int>{1, 0}, 3), {1, 0}, 3);
  EXPECT_THROW(onehotbatch(zeros({2}), 3), TypeError);
}

TEST(OneHot, LabelsOfAnyType) {
  expect_onehot(onehotbatch(from(Numbers{30, -1}), Numbers{-1, 5, 30}), {2, 0}, 3);
  const std::vector<std::string> words{"cat", "dog", "emu"};
  expect_onehot(onehotbatch(std::vector<std::string>{"emu", "cat"}, words), {2, 0}, 3);
  expect_onehot(onehotbatch(std::vector<char>{'b', 'a', 'c'}, {'a', 'b', 'c'}), {1, 0, 2}, 3);
  expect_onehot(onehotbatch(std::vector<int>{7}, {9, 7, 7, 8}), {1}, 4);  // the first of equals
  const Tensor one = onehot(std::string("dog"), words);
  EXPECT_EQ(one.shape(), (Shape{3}));
  expect_onehot(one, {1}, 3);
  expect_onehot(onehot(2, 3), {2}, 3);
}

TEST(OneHot, ValuesThatAreNoLabel) {
  for (const std::int64_t wrong : {-1, 4}) {
    const std::string message = message_of([&] { onehotbatch(from(Numbers{0, wrong}), 4); });
    EXPECT_NE(message.find("Value " + std::to_string(wrong) + " not found in labels"), std::string::npos) << message;
    EXPECT_THROW(onehotbatch(from(Numbers{0, wrong}), 4), IndexError);
  }
  EXPECT_NE(
      message_of([] { onehotbatch(std::vector<std::string>{"x"}, {"a"}); }).find("Value \"x\" not found in labels"),
      std::string::npos);
  EXPECT_NE(message_of([] {
              onehotbatch(std::vector<int>{9}, {1, 2});
            }).find("Value 9 not found in labels"),
            std::string::npos);
  EXPECT_THROW(onehot(3, 3), IndexError);
  EXPECT_THROW(onehotbatch(arange(2), -1), ArgumentError);
}

TEST(OneCold, IsTheWayBack) {
  const Numbers places{2, 0, 3, 3};
  const Tensor y = onehotbatch(from(places), 4);
  EXPECT_EQ(onecold(y).to_vector<std::int64_t>(), places);
  EXPECT_EQ(onecold(cast(y, f32)).to_vector<std::int64_t>(), places);
  EXPECT_EQ(onecold(y, std::vector<std::string>{"a", "b", "c", "d"}), (std::vector<std::string>{"c", "a", "d", "d"}));
  EXPECT_EQ(onecold(tensor({0.1, 0.7, 0.2})).item<std::int64_t>(), 1);
  EXPECT_EQ(onecold(tensor({0.1, 0.7, 0.2}), std::vector<int>{4, 5, 6}), (std::vector<int>{5}));
  EXPECT_EQ(onecold(zeros({3, 2, 5})).shape(), (Shape{2, 5}));
  EXPECT_THROW(onecold(y, std::vector<int>{1, 2}), ShapeError);
  EXPECT_THROW(onecold(scalar(1.0f)), ShapeError);
}

TEST(OneCold, NaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(onecold(tensor({0.1, nan, 0.9})), ArgumentError);
  EXPECT_EQ(onecold(tensor({{0.1, 0.5}, {nan, 0.4}})).to_vector<std::int64_t>(), (Numbers{1, 0}));
}

}  // namespace
}  // namespace sluice
