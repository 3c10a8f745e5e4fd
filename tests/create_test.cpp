#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fake_device.hpp"
#include "sluice/tensor.hpp"

namespace sluice {
namespace {

using tests::FakeDevice;

TEST(Create, ZerosAndOnesOfEveryType) {
  for (int code = 0; code < DType::kCount; ++code) {
    const DType dtype{DType::Code(code)};
    const Tensor zero = zeros({3, 2}, dtype);
    EXPECT_EQ(zero.dtype(), dtype);
    EXPECT_EQ(zero.shape(), (Shape{3, 2}));
    for (const std::byte byte : zero.bytes()) EXPECT_EQ(byte, std::byte{0});
  }
  EXPECT_EQ(ones({2}).to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(ones({2}, boolean).to_vector<bool>(), (std::vector<bool>{true, true}));
  EXPECT_EQ(ones({1}, f16).item<Float16>().bits, 0x3c00);
  EXPECT_EQ(ones({1}, bf16).item<BFloat16>().bits, 0x3f80);
  EXPECT_EQ(ones({1}, i64).item<std::int64_t>(), 1);
}

TEST(Create, LargeTensorsAreFilledToTheLastElement) {
  const Tensor x = full({1 << 20}, 3.0);
  EXPECT_TRUE(std::ranges::all_of(x.span<float>(), [](float v) { return v == 3.0f; }));
}

TEST(Create, FullTakesTheTypeOfTheValue) {
  EXPECT_EQ(full({2}, 2.5).dtype(), f32);
  EXPECT_EQ(full({2}, 7).dtype(), i64);
  EXPECT_EQ(full({2}, std::size_t{7}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{7, 7}));
  EXPECT_EQ(full({}, 0.1, f64).item<double>(), 0.1);
  EXPECT_EQ(full({}, std::numeric_limits<std::int64_t>::min()).item<std::int64_t>(),
            std::numeric_limits<std::int64_t>::min());
}

TEST(Create, FullRefusesWhatTheTypeCannotHold) {
  EXPECT_EQ(full({1}, 255, u8).item<std::uint8_t>(), 255);
  EXPECT_EQ(full({1}, -128.0, i8).item<std::int8_t>(), -128);
  EXPECT_THROW(full({1}, 256, u8), TypeError);
  EXPECT_THROW(full({1}, -1, u8), TypeError);
  EXPECT_THROW(full({1}, 2, boolean), TypeError);
  EXPECT_THROW(full({1}, 1.5, i32), TypeError);
  EXPECT_THROW(full({1}, 3e9, i32), TypeError);
  EXPECT_THROW(full({1}, 0x1p63, i64), TypeError);
  EXPECT_THROW(full({1}, std::nan(""), i64), TypeError);
  EXPECT_THROW(full({1}, std::numeric_limits<std::uint64_t>::max()), TypeError);
  EXPECT_TRUE(std::isinf(full({1}, 1e300, f32).item<float>()));
}

TEST(Create, LikeKeepsShapeTypeAndDevice) {
  const Tensor x = zeros({2, 3}, f64);
  EXPECT_EQ(ones_like(x).to_vector<double>(), std::vector<double>(6, 1.0));
  EXPECT_EQ(zeros_like(x).shape(), x.shape());
  EXPECT_EQ(full_like(x, 0.5).to_vector<double>(), std::vector<double>(6, 0.5));
  FakeDevice device;
  const Tensor there = full({2}, 2.0, f32, Device(&device));
  EXPECT_EQ(there.device(), Device(&device));
  EXPECT_EQ(there.to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(ones_like(there).device(), Device(&device));
  EXPECT_EQ(zeros({0}, f32, Device(&device)).numel(), 0);
}

TEST(Create, ArangeCountsIntegers) {
  EXPECT_EQ(arange(4).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(arange(0).numel(), 0);
  EXPECT_EQ(arange(-3).numel(), 0);
}

TEST(Create, ArangeStepsAndStopsBeforeTheEnd) {
  EXPECT_EQ(arange(1, 2, 0.25).to_vector<float>(), (std::vector<float>{1, 1.25, 1.5, 1.75}));
  EXPECT_EQ(arange(0, 1.1, 0.5).to_vector<float>(), (std::vector<float>{0, 0.5, 1}));
  EXPECT_EQ(arange(3, 0, -1, i32).to_vector<int>(), (std::vector<int>{3, 2, 1}));
  EXPECT_EQ(arange(1, 0).numel(), 0);
  EXPECT_THROW(arange(0, 1, 0), ArgumentError);
  EXPECT_THROW(arange(0, std::numeric_limits<double>::infinity()), ArgumentError);
  EXPECT_THROW(arange(0, 1, std::nan("")), ArgumentError);
  EXPECT_THROW(arange(0, 1, 0.5, i32), TypeError);
}

TEST(Create, FromCopiesColumnMajor) {
  std::vector<double> data{1, 2, 3, 4, 5, 6};
  const Tensor x = from(data, {2, 3});
  data[0] = 9;
  EXPECT_EQ(x.dtype(), f64);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW(from(data, {2, 2}), ShapeError);
  EXPECT_EQ(from(data).shape(), (Shape{6}));
  EXPECT_THROW(from_bytes(data.data(), 7, {7}, f64), ShapeError);
  EXPECT_EQ(from(std::vector<float>{}).numel(), 0);
  EXPECT_THROW(from(std::vector<bool>{true}, {2}), ShapeError);
}

TEST(Create, NestedListsAreWrittenAsOnPaper) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(x.dtype(), i32);
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{1, 4, 2, 5, 3, 6}));  // down the columns
  EXPECT_EQ(tensor({1.5, 2.5}).to_vector<float>(), (std::vector<float>{1.5, 2.5}));
  EXPECT_EQ(tensor({true, false}).to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(tensor({{true, false}, {true, true}}).to_vector<bool>(), (std::vector<bool>{true, true, false, true}));
  EXPECT_THROW(tensor({{1, 2}, {3}}), ShapeError);
}

TEST(Create, ThreeLevelsOfLists) {
  // Element (i, j, k) is 100 i + 10 j + k.
  const Tensor x = tensor({{{0, 1, 2, 3}, {10, 11, 12, 13}, {20, 21, 22, 23}},
                           {{100, 101, 102, 103}, {110, 111, 112, 113}, {120, 121, 122, 123}}});
  ASSERT_EQ(x.shape(), (Shape{2, 3, 4}));
  const std::vector<int> values = x.to_vector<int>();
  std::size_t place = 0;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) EXPECT_EQ(values[place++], 100 * i + 10 * j + k);
    }
  }
  EXPECT_THROW(tensor({{{1}, {2}}, {{3}}}), ShapeError);
}

}  // namespace
}  // namespace sluice
