#include <algorithm>
#include <numeric>

#include "finite_differences.hpp"
#include "messages.hpp"
#include "strided_reference.hpp"

namespace sluice {
namespace {

using test::Index;

void expect_permuted(const Tensor& x, const std::vector<int>& order) {
  Shape shape = x.shape();
  for (int dim = 0; dim < shape.rank(); ++dim) shape = shape.with(dim, x.shape()[order[static_cast<std::size_t>(dim)]]);
  test::expect_moved(permute(x, order), x, shape, [&](const Index& index) {
    Index source(index.size());
    for (std::size_t i = 0; i < index.size(); ++i) source[static_cast<std::size_t>(order[i])] = index[i];
    return source;
  });
}

TEST(Permute, EveryOrderAndType) {
  std::mt19937 random(1);
  for (const DType dtype : test::all_dtypes()) {
    for (int rank = 0; rank <= 5; ++rank) {
      std::vector<int> order(static_cast<std::size_t>(rank));
      std::iota(order.begin(), order.end(), 0);
      do {
        expect_permuted(test::distinct(test::random_shape(random, rank), dtype), order);
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

TEST(Permute, LargerThanTilesAndSharedByThreads) {
  for (const DType dtype : {boolean, u8, f16, f32, f64}) {
    expect_permuted(test::distinct({513, 257}, dtype), {1, 0});
    expect_permuted(test::distinct({1024, 512}, dtype), {1, 0});
    expect_permuted(test::distinct({3, 129, 65, 2}, dtype), {1, 2, 0, 3});
    expect_permuted(test::distinct({129, 65, 3, 2}, dtype), {2, 0, 1, 3});
    expect_permuted(test::distinct({33, 17, 70}, dtype), {2, 1, 0});
    expect_permuted(test::distinct({40, 3, 2, 90}, dtype), {0, 2, 1, 3});
    expect_permuted(test::distinct({100000, 2}, dtype), {1, 0});
    expect_permuted(test::distinct({2, 100000}, dtype), {1, 0});
  }
}

TEST(Permute, EightDimensions) {
  expect_permuted(test::distinct({2, 3, 2, 3, 2, 3, 2, 3}, i16), {7, 2, 5, 0, 3, 6, 1, 4});
  expect_permuted(test::distinct({2, 3, 2, 3, 2, 3, 2, 3}, f64), {0, 7, 6, 5, 4, 3, 2, 1});
}

TEST(Permute, OfAnOffsetViewLeavesItAsItIs) {
  const Tensor x = reshape(arange(24), {2, 3, 4});
  const Tensor part = slice(x, 2, 1, 3);
  expect_permuted(part, {2, 0, 1});
  EXPECT_EQ(x.to_vector<std::int64_t>(), arange(24).to_vector<std::int64_t>());
}

TEST(Permute, RefusesWhatIsNoOrder) {
  const Tensor x = zeros({3, 2});
  EXPECT_EQ(tests::message_of<ArgumentError>([&] {
              permute(x, {1, 1});
            }),
            "permute: {1, 1} does not name every dimension of (3, 2) once");
  EXPECT_THROW(permute(x, {0}), ArgumentError);
  EXPECT_THROW(permute(x, {0, 1, 2}), ArgumentError);
  EXPECT_THROW(permute(x, {0, -1}), ArgumentError);
  EXPECT_THROW(permute(Tensor(), {}), ArgumentError);
}

TEST(Transpose, ExchangesTheFirstTwo) {
  EXPECT_EQ(transpose(tensor({{1, 2, 3}, {4, 5, 6}})).to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(transpose(zeros({2, 3, 4})).shape(), (Shape{3, 2, 4}));
  EXPECT_EQ(transpose(zeros({5})).shape(), (Shape{1, 5}));
  EXPECT_EQ(transpose(scalar(1.0F)).shape(), Shape{});
}

TEST(Permute, Gradients) {
  test::expect_gradients([](auto& x) { return permute(x[0], {2, 0, 3, 1}); }, {test::random_f64({2, 3, 4, 2}, 1)});
  test::expect_gradients([](auto& x) { return transpose(x[0]); }, {test::random_f64({3, 4}, 1)});
  test::expect_gradients([](auto& x) { return transpose(x[0]); }, {test::random_f64({3}, 1)});
  test::expect_gradients([](auto& x) { return permute(x[0], {1, 0}); }, {test::random_f64({3, 0}, 1)});
}

}  // namespace
}  // namespace sluice
