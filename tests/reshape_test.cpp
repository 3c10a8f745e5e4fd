#include "finite_differences.hpp"
#include "messages.hpp"
#include "strided_reference.hpp"

namespace sluice {
namespace {

using tests::message_of;

TEST(Reshape, KeepsElementsAndStorage) {
  const Tensor x = test::distinct({3, 4, 5}, i32);
  for (const Shape& shape : {Shape{60}, Shape{12, 5}, Shape{5, 4, 3}, Shape{1, 60, 1}, Shape{2, 2, 3, 5}}) {
    const Tensor y = reshape(x, shape);
    EXPECT_EQ(y.shape(), shape);
    EXPECT_EQ(y.bytes().data(), x.bytes().data());
    EXPECT_FALSE(y.same_handle(x));
  }
}

TEST(Reshape, FillsInWhatIsLeft) {
  const Tensor x = test::distinct({3, 4, 5}, f32);
  EXPECT_EQ(reshape(x, {-1}).shape(), Shape{60});
  EXPECT_EQ(reshape(x, {6, -1}).shape(), (Shape{6, 10}));
  EXPECT_EQ(reshape(x, {-1, 5, 4}).shape(), (Shape{3, 5, 4}));
  EXPECT_EQ(reshape(x, {60, -1}).shape(), (Shape{60, 1}));
  EXPECT_EQ(reshape(zeros({0, 4}), {4, -1}).shape(), (Shape{4, 0}));
  EXPECT_EQ(reshape(zeros({1}), {}).shape(), Shape{});
  EXPECT_EQ(reshape(scalar(2.0F), {1, -1}).shape(), (Shape{1, 1}));
}

TEST(Reshape, NamesWhatDoesNotFit) {
  const Tensor x = zeros({3, 4});
  EXPECT_EQ(message_of<ShapeError>([&] {
              reshape(x, Shape{5, 2});
            }),
            "reshape: (3, 4) has 12 elements, (5, 2) cannot hold them");
  EXPECT_EQ(message_of<ShapeError>([&] {
              reshape(x, {5, -1});
            }),
            "reshape: (3, 4) has 12 elements, (5, -1) cannot hold them");
  EXPECT_EQ(message_of<ShapeError>([&] {
              reshape(x, {-1, -1});
            }),
            "reshape: more than one size of -1 in (-1, -1); give all but one");
  EXPECT_EQ(message_of<ShapeError>([&] { reshape(x, {-2, 6}); }), "reshape: a size of -2 in (-2, 6)");
  EXPECT_EQ(message_of<ShapeError>([&] {
              reshape(zeros({0}), {0, -1});
            }),
            "reshape: the size of -1 in (0, -1) could be anything beside a size of 0; give it");
  EXPECT_THROW(reshape(Tensor(), {1}), ArgumentError);
}

TEST(Reshape, OfAnOffsetView) {
  const Tensor x = arange(24);
  const Tensor y = reshape(slice(reshape(x, {6, 4}), 1, 1, 3), {3, 4});
  std::vector<std::int64_t> expected(12);
  for (std::size_t i = 0; i < 12; ++i) expected[i] = static_cast<std::int64_t>(i) + 6;
  EXPECT_EQ(y.to_vector<std::int64_t>(), expected);
}

TEST(Squeeze, DropsSizesOfOne) {
  const Tensor x = test::distinct({1, 3, 1, 0, 1}, f32);
  EXPECT_EQ(squeeze(x).shape(), (Shape{3, 0}));
  EXPECT_EQ(squeeze(x, 0).shape(), (Shape{3, 1, 0, 1}));
  EXPECT_EQ(squeeze(x, 4).shape(), (Shape{1, 3, 1, 0}));
  EXPECT_EQ(squeeze(ones({1, 1})).shape(), Shape{});
  EXPECT_EQ(message_of<ShapeError>([&] { squeeze(x, 1); }),
            "squeeze: dimension 1 of (1, 3, 1, 0, 1) has size 3, not 1");
  EXPECT_THROW(squeeze(x, 5), IndexError);
  EXPECT_THROW(squeeze(x, -1), IndexError);
}

TEST(Unsqueeze, InsertsASizeOfOne) {
  const Tensor x = test::distinct({3, 4}, f32);
  EXPECT_EQ(unsqueeze(x, 0).shape(), (Shape{1, 3, 4}));
  EXPECT_EQ(unsqueeze(x, 1).shape(), (Shape{3, 1, 4}));
  EXPECT_EQ(unsqueeze(x, 2).shape(), (Shape{3, 4, 1}));
  EXPECT_EQ(unsqueeze(scalar(1.0F), 0).shape(), Shape{1});
  EXPECT_THROW(unsqueeze(x, 3), IndexError);
  EXPECT_THROW(unsqueeze(zeros({1, 1, 1, 1, 1, 1, 1, 1}), 0), ShapeError);
}

TEST(FlattenBatch, KeepsTheLastDimension) {
  EXPECT_EQ(flatten_batch(zeros({2, 3, 4, 5})).shape(), (Shape{24, 5}));
  EXPECT_EQ(flatten_batch(zeros({2, 3, 4, 0})).shape(), (Shape{24, 0}));
  EXPECT_EQ(flatten_batch(zeros({2, 0, 5})).shape(), (Shape{0, 5}));
  EXPECT_EQ(flatten_batch(zeros({7})).shape(), (Shape{1, 7}));
  EXPECT_EQ(flatten_batch(scalar(1.0F)).shape(), (Shape{1, 1}));
}

TEST(Reshape, Gradients) {
  const std::vector<Tensor> x{test::random_f64({2, 1, 3}, 1)};
  test::expect_gradients([](auto& v) { return reshape(v[0], {3, -1}); }, x);
  test::expect_gradients([](auto& v) { return squeeze(v[0]); }, x);
  test::expect_gradients([](auto& v) { return squeeze(v[0], 1); }, x);
  test::expect_gradients([](auto& v) { return unsqueeze(v[0], 1); }, x);
  test::expect_gradients([](auto& v) { return flatten_batch(v[0]); }, x);
}

}  // namespace
}  // namespace sluice
