#include <cstdlib>

#include "finite_differences.hpp"
#include "messages.hpp"
#include "strided_reference.hpp"

namespace sluice {
namespace {

using test::Index;
using tests::message_of;

Tensor random_indices(std::mt19937& random, const Shape& shape, std::int64_t bound) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.numel()));
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random()) % bound;
  return from(values, shape);
}

Shape joined(const Shape& features, const Shape& last) {
  Shape shape = features;
  for (int dim = 0; dim < last.rank(); ++dim) shape = shape.with(features.rank() + dim, last[dim]);
  return shape;
}

TEST(Gather, EveryShapeAndType) {
  std::mt19937 random(5);
  for (const DType dtype : test::all_dtypes()) {
    for (int features = 0; features <= 3; ++features) {
      for (int rank = 0; rank <= 3; ++rank) {
        const Shape column = test::random_shape(random, features);
        const Shape shape = test::random_shape(random, rank);
        const Tensor x = test::distinct(column.with(features, 5), dtype);
        const Tensor indices = random_indices(random, shape, 5);
        test::expect_moved(gather(x, indices), x, joined(column, shape), [&](const Index& index) {
          Index source(index.begin(), index.begin() + features);
          const Index place(index.begin() + features, index.end());
          source.push_back(indices.span<std::int64_t>()[static_cast<std::size_t>(test::flat_at(shape, place))]);
          return source;
        });
      }
    }
  }
}

TEST(Gather, LargeAndWithNarrowIndices) {
  std::mt19937 random(6);
  const Tensor x = test::distinct({33, 100}, f32);
  const Tensor indices = random_indices(random, Shape{5000}, 100);
  const Tensor y = gather(x, indices);
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    const std::int64_t column = indices.span<std::int64_t>()[static_cast<std::size_t>(i / 33)];
    ASSERT_EQ(test::bits_at(y, i), test::bits_at(x, column * 33 + i % 33));
  }
  EXPECT_TRUE(std::ranges::equal(gather(x, cast(indices, i32)).bytes(), y.bytes()));
}

TEST(Gather, NamesTheIndexAndTheBound) {
  const Tensor x = zeros({4, 10});
  EXPECT_EQ(message_of<IndexError>([&] {
              gather(x, tensor({1, 2, 9, 12, 13}));
            }),
            "gather: index 12 at position 3 is out of range for 10 columns");
  EXPECT_EQ(message_of<IndexError>([&] {
              gather(x, tensor({{1}, {-1}}));
            }),
            "gather: index -1 at position 1 is out of range for 10 columns");
  EXPECT_THROW(gather(zeros({4, 0}), tensor({0})), IndexError);
  EXPECT_THROW(gather(zeros({0, 3}), tensor({3})), IndexError);
  EXPECT_EQ(message_of<TypeError>([&] { gather(x, tensor({1.0})); }), "gather: indices are f32; give i64 or i32");
  EXPECT_THROW(gather(scalar(1.0F), tensor({0})), ShapeError);
  EXPECT_THROW(gather(zeros({1, 1, 1, 1, 1, 1}), zeros({1, 1, 1, 1}, i64)), ShapeError);
  EXPECT_THROW(gather(x, Tensor()), ArgumentError);
  EXPECT_EQ(gather(x, tensor({9})).shape(), (Shape{4, 1}));
}

// Sums in double, in the order of the indices.
std::vector<double> scattered(const Tensor& updates, const Tensor& indices, std::int64_t n) {
  const std::vector<double> values = cast(updates, f64).to_vector<double>();
  const std::vector<std::int64_t> places = indices.to_vector<std::int64_t>();
  const std::size_t column = places.empty() ? 0 : values.size() / places.size();
  std::vector<double> result(column * static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    result[static_cast<std::size_t>(places[i / column]) * column + i % column] += values[i];
  }
  return result;
}

TEST(ScatterAdd, EveryTypeAndManySizes) {
  std::mt19937 random(7);
  for (const DType dtype : test::all_dtypes()) {
    for (const std::int64_t column : {1, 2, 7, 300}) {
      for (const std::int64_t count : {1, 6, 40}) {
        std::vector<double> small(static_cast<std::size_t>(column * count));
        for (double& value : small) value = static_cast<double>(random() % 3);
        const Tensor updates = cast(from(small, Shape{column, count}), dtype);
        const Tensor indices = random_indices(random, Shape{count}, 5);
        const Tensor y = scatter_add(updates, indices, 5);
        ASSERT_EQ(y.shape(), (Shape{column, 5}));
        ASSERT_EQ(y.dtype(), dtype == boolean ? i32 : dtype);
        ASSERT_EQ(cast(y, f64).to_vector<double>(), scattered(updates, indices, 5)) << dtype << column << count;
      }
    }
  }
}

TEST(ScatterAdd, ShapesAndEmptyParts) {
  EXPECT_EQ(scatter_add(ones({2, 3, 4}), zeros({3, 4}, i64), 6).shape(), (Shape{2, 6}));
  EXPECT_EQ(scatter_add(ones({3, 4}), zeros({3, 4}, i32), 2).to_vector<float>(), (std::vector<float>{12, 0}));
  EXPECT_EQ(scatter_add(ones({2}), scalar(std::int64_t{1}), 2).to_vector<float>(), (std::vector<float>{0, 0, 1, 1}));
  EXPECT_EQ(scatter_add(ones({2, 0}), zeros({0}, i64), 3).to_vector<float>(), std::vector<float>(6, 0.0F));
  EXPECT_EQ(scatter_add(ones({2, 0}), zeros({0}, i64), 0).shape(), (Shape{2, 0}));
  EXPECT_EQ(scatter_add(ones({0, 2}), zeros({2}, i64), 3).shape(), (Shape{0, 3}));
}

TEST(ScatterAdd, AddsHalvesInFloat) {
  // 2048 + 1 is 2048 in f16, so adding one by one in f16 would stay there.
  std::vector<double> values(101, 1.0);
  values[0] = 2048;
  const Tensor indices = zeros({101}, i64);
  EXPECT_EQ(static_cast<float>(scatter_add(cast(from(values), f16), indices, 1).to_vector<Float16>()[0]), 2148.0F);
  values[0] = 256;
  EXPECT_EQ(static_cast<float>(scatter_add(cast(from(values), bf16), indices, 1).to_vector<BFloat16>()[0]), 356.0F);
}

TEST(ScatterAdd, IntegersWrap) {
  const std::vector<std::int8_t> values{100, 100};
  EXPECT_EQ(scatter_add(from(values), tensor({1, 1}), 2).to_vector<std::int8_t>(), (std::vector<std::int8_t>{0, -56}));
}

TEST(ScatterAdd, SameBitsOnAnyNumberOfThreads) {
  std::mt19937 random(8);
  const Tensor updates = cast(test::random_f64({37, 20000}, 1), f32);
  const Tensor indices = random_indices(random, Shape{20000}, 50);
  std::vector<float> expected(37 * 50);
  const auto values = updates.span<float>();
  for (std::size_t j = 0; j < 20000; ++j) {
    const auto column = static_cast<std::size_t>(indices.span<std::int64_t>()[j]);
    for (std::size_t r = 0; r < 37; ++r) expected[column * 37 + r] += values[j * 37 + r];
  }
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(scatter_add(updates, indices, 50).to_vector<float>(), expected) << threads;
  }
}

TEST(ScatterAdd, SaysWhatIsWrong) {
  EXPECT_EQ(message_of<ShapeError>([] {
              scatter_add(zeros({4, 3}), zeros({5}, i64), 2);
            }),
            "scatter_add: updates (4, 3) do not end in the shape of the indices, (5)");
  EXPECT_THROW(scatter_add(zeros({3}), zeros({3, 1}, i64), 2), ShapeError);
  EXPECT_EQ(message_of<IndexError>([] {
              scatter_add(zeros({4, 2}), tensor({1, 2}), 2);
            }),
            "scatter_add: index 2 at position 1 is out of range for 2 columns");
  EXPECT_THROW(scatter_add(zeros({4, 2}), tensor({0, 1}), -1), ArgumentError);
  EXPECT_THROW(scatter_add(zeros({4, 2}), zeros({2}, u8), 2), TypeError);
}

TEST(TakeAlong, EveryDimensionAndType) {
  std::mt19937 random(9);
  for (const DType dtype : test::all_dtypes()) {
    for (int rank = 1; rank <= 5; ++rank) {
      for (int dim = 0; dim < rank; ++dim) {
        const Shape shape = test::random_shape(random, rank).with(dim, 4);
        const Tensor x = test::distinct(shape, dtype);
        const Tensor indices = random_indices(random, shape.with(dim, 1), 4);
        test::expect_moved(take_along(x, indices, dim), x, indices.shape(), [&](Index index) {
          const auto flat = static_cast<std::size_t>(test::flat_at(indices.shape(), index));
          index[static_cast<std::size_t>(dim)] = indices.span<std::int64_t>()[flat];
          return index;
        });
      }
    }
  }
}

TEST(TakeAlong, SaysWhatIsWrong) {
  const Tensor x = zeros({3, 2});
  EXPECT_EQ(message_of<IndexError>([&] {
              take_along(x, tensor({{2, 3}}), 0);
            }),
            "take_along: index 3 at position 1 is out of range for size 3 of dimension 0 of (3, 2)");
  // Inside the tensor when counted from the start of another column, outside its own.
  EXPECT_THROW(take_along(x, tensor({{-1, -1}}), 0), IndexError);
  EXPECT_EQ(message_of<ShapeError>([&] {
              take_along(x, tensor({1, 2}), 0);
            }),
            "take_along: indices (2) do not fit (3, 2); (1, 2) is needed for dimension 0");
  EXPECT_THROW(take_along(x, zeros({1, 2}), 0), TypeError);
  EXPECT_THROW(take_along(x, zeros({1, 2}, i64), 2), IndexError);
  EXPECT_THROW(take_along(zeros({0, 2}), zeros({1, 2}, i64), 0), IndexError);
  EXPECT_EQ(take_along(zeros({3, 0}), zeros({1, 0}, i32), 0).shape(), (Shape{1, 0}));
}

TEST(Gather, Gradients) {
  const Tensor repeated = tensor({{0, 2, 2}, {1, 2, 0}});
  test::expect_gradients([&](auto& x) { return gather(x[0], repeated); }, {test::random_f64({2, 4}, 1)});
  test::expect_gradients([&](auto& x) { return gather(x[0], repeated); }, {test::random_f64({3}, 1)});
  test::expect_gradients([&](auto& x) { return scatter_add(x[0], repeated, 4); }, {test::random_f64({5, 2, 3}, 1)});
  test::expect_gradients([](auto& x) { return gather(x[0], zeros({0}, i64)); }, {test::random_f64({2, 3}, 1)});
  test::expect_gradients(
      [](auto& x) {
        return take_along(x[0], tensor({{2, 0, 2, 1}}), 0);
      },
      {test::random_f64({3, 4}, 1)});
  test::expect_gradients(
      [](auto& x) {
        return take_along(x[0], tensor({{3}, {0}, {1}}), 1);
      },
      {test::random_f64({3, 4}, 1)});
}

}  // namespace
}  // namespace sluice
