// Many indices on a device: the sort behind scatter_add, and what is known of indices without looking.
#include <gtest/gtest.h>

#include "kernel_device.hpp"

namespace sluice {
namespace {

class PluginIndex : public tests::KernelDevice {};
SLUICE_INSTANTIATE_FOR_KERNEL_DEVICES(PluginIndex);

/// count indices below bound, some of them often.
Tensor some_indices(std::int64_t count, std::int64_t bound, std::uint64_t seed) {
  const Tensor unit = rand({count}, f64, {seed, 0});
  return cast(floor(unit * unit * static_cast<double>(bound)), i64);
}

TEST_P(PluginIndex, SumsAreMadeInTheOrderOfTheIndices) {
  for (const std::int64_t count : {1, 2, 511, 512, 513, 3000, 70001}) {
    for (const std::int64_t bound : {1, 7, 1000}) {
      const Tensor indices = some_indices(count, bound, 3), updates = rand({count}, f32, {4, 4});
      const Tensor expected = scatter_add(updates, indices, bound);
      const Tensor got = scatter_add(updates | device, indices | device, bound) | cpu_device();
      ASSERT_EQ(got.to_vector<float>(), expected.to_vector<float>()) << count << " indices, " << bound << " columns";
    }
  }
}

TEST_P(PluginIndex, ColumnsWithoutAnIndexAreZero) {
  const Tensor updates = full({3, 2}, 1, f32, device);
  const Tensor got = scatter_add(updates, from(std::vector<std::int64_t>{5, 5}) | device, 9) | cpu_device();
  for (std::int64_t column = 0; column < 9; ++column) {
    EXPECT_EQ(slice(got, 1, column, column + 1).to_vector<float>(), std::vector<float>(3, column == 5 ? 2.0f : 0.0f));
  }
}

// Memory that is used again must not keep what was known of the numbers in it.
TEST_P(PluginIndex, IndicesChangedOnTheDeviceAreChecked) {
  const Tensor x = rand({2, 5}, f32, {1, 1}) | device;
  Tensor indices = from(std::vector<std::int64_t>{0, 4, 2}) | device;
  EXPECT_NO_THROW(gather(x, indices));
  indices = std::move(indices) + 1;
  EXPECT_THROW(gather(x, indices), IndexError);
  EXPECT_THROW(scatter_add(rand({3}, f32, {1, 2}) | device, indices, 5), IndexError);
  EXPECT_NO_THROW(gather(x, indices - 1));
}

TEST_P(PluginIndex, PartsAndCopiesOfIndicesAreChecked) {
  const Tensor x = rand({2, 5}, f32, {1, 1}) | device;
  const Tensor indices = from(std::vector<std::int64_t>{0, 4, 7}) | device;
  EXPECT_THROW(gather(x, indices), IndexError);
  EXPECT_NO_THROW(gather(x, slice(indices, 0, 0, 2)));
  EXPECT_THROW(gather(x, slice(indices, 0, 1, 3)), IndexError);
  EXPECT_THROW(gather(x, cast(indices, i32)), IndexError);
  EXPECT_THROW(gather(x, from(std::vector<std::int32_t>{1, 5}) | device), IndexError);
  EXPECT_NO_THROW(gather(x, from(std::vector<std::int32_t>{1, 4}) | device));
}

TEST_P(PluginIndex, OneHotColumns) {
  for (const DType dtype : {i64, u8}) {
    const Tensor values = cast(from(std::vector<std::int64_t>{3, 0, 2, 3, 1, 1}, {3, 2}), dtype);
    const Tensor there = onehotbatch(values | device, 4);
    EXPECT_EQ(there.device(), device);
    EXPECT_TRUE(equal(there | cpu_device(), onehotbatch(values, 4)));
    EXPECT_THROW(onehotbatch(values | device, 3), IndexError);
  }
  EXPECT_EQ(onehotbatch(from(std::vector<std::int64_t>{2}) | device, {5, 2}).device(), device);
  EXPECT_THROW(onecold(from(std::vector<float>{1, NAN}) | device), ArgumentError);
}

}  // namespace
}  // namespace sluice
