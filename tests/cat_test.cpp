#include "finite_differences.hpp"
#include "messages.hpp"
#include "strided_reference.hpp"

namespace sluice {
namespace {

using test::Index;
using tests::message_of;

// Every element of the result against the part it comes from.
void expect_joined(const std::vector<Tensor>& parts, int dim) {
  const Tensor y = cat(parts, dim);
  std::int64_t start = 0;
  for (const Tensor& part : parts) {
    for (std::int64_t i = 0; i < part.numel(); ++i) {
      Index index = test::index_at(part.shape(), i);
      index[static_cast<std::size_t>(dim)] += start;
      ASSERT_EQ(test::bits_at(y, test::flat_at(y.shape(), index)), test::bits_at(part, i));
    }
    start += part.size(dim);
  }
  EXPECT_EQ(y.shape(), parts[0].shape().with(dim, start));
  EXPECT_EQ(y.dtype(), parts[0].dtype());
}

TEST(Cat, EveryDimensionAndType) {
  std::mt19937 random(3);
  for (const DType dtype : test::all_dtypes()) {
    for (int rank = 1; rank <= 5; ++rank) {
      const Shape shape = test::random_shape(random, rank);
      for (int dim = 0; dim < rank; ++dim) {
        std::vector<Tensor> parts;
        for (const std::int64_t size : {3, 0, 1, 5}) parts.push_back(test::distinct(shape.with(dim, size), dtype));
        expect_joined(parts, dim);
        expect_joined({parts[0]}, dim);
        expect_joined({parts[1], parts[1]}, dim);
      }
    }
  }
}

TEST(Cat, Large) {
  expect_joined({test::distinct({100, 300}, f32), test::distinct({57, 300}, f32)}, 0);
  expect_joined({test::distinct({300, 100}, f16), test::distinct({300, 57}, f16)}, 1);
}

TEST(Cat, PromotesElementTypes) {
  const Tensor y = cat({tensor({1, 2}), tensor({0.5, 1.5}), tensor({true})});
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 2, 0.5F, 1.5F, 1}));
  EXPECT_EQ(cat({zeros({1}, f16), zeros({1}, bf16)}).dtype(), f32);
}

TEST(Cat, SaysWhatDiffers) {
  EXPECT_EQ(message_of<ArgumentError>([] { cat({}); }), "cat: no tensors are given");
  EXPECT_EQ(message_of<ShapeError>([] {
              cat({zeros({3, 2}), zeros({1, 2}), zeros({4, 5})});
            }),
            "cat: sizes outside dimension 0 differ, (3, 2) and (4, 5) (tensor 2)");
  EXPECT_EQ(message_of<ShapeError>([] {
              cat({zeros({3, 2}), zeros({3})}, 1);
            }),
            "cat: ranks differ, (3, 2) and (3) (tensor 1)");
  EXPECT_THROW(cat({zeros({3}), zeros({3})}, 1), IndexError);
  EXPECT_THROW(cat({zeros({3}), Tensor()}), ArgumentError);
}

TEST(Stack, MakesADimension) {
  const std::vector<Tensor> parts{tensor({1, 2, 3}), tensor({4, 5, 6})};
  EXPECT_EQ(stack(parts).shape(), (Shape{2, 3}));
  EXPECT_EQ(stack(parts).to_vector<int>(), (std::vector<int>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(stack(parts, 1).shape(), (Shape{3, 2}));
  EXPECT_EQ(stack(parts, 1).to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(stack({scalar(1.0F), scalar(2.0F)}).shape(), Shape{2});
  EXPECT_EQ(message_of<ShapeError>([&] {
              stack({parts[0], zeros({2})});
            }),
            "stack: shapes differ, (3) and (2) (tensor 1)");
  EXPECT_THROW(stack(parts, 2), IndexError);
  EXPECT_THROW(stack({}), ArgumentError);
}

TEST(Cat, Gradients) {
  const std::vector<Tensor> x{test::random_f64({2, 3}, 1), test::random_f64({2, 1}, 2), test::random_f64({2, 0}, 3)};
  test::expect_gradients([](auto& v) { return cat({v[0], v[1], v[2]}, 1); }, x);
  test::expect_gradients([](auto& v) { return cat({v[0], transpose(v[0])}, 0); }, {test::random_f64({3, 3}, 1)});
  test::expect_gradients(
      [](auto& v) {
        return stack({v[0], v[1]}, 1);
      },
      {test::random_f64({2, 3}, 1), test::random_f64({2, 3}, 2)});
}

TEST(Cat, GradientsComeBackInTheTypeOfEachPart) {
  std::vector<Tensor> parts{ones({2}, f16), ones({2}, f32)};
  detail::Tape tape;
  for (Tensor& part : parts) tape.track(part);
  tape.backward(sum(cat(parts) * tensor({1.0, 2.0, 3.0, 4.0})));
  EXPECT_EQ(tape.gradient(parts[0]).dtype(), f16);
  EXPECT_EQ(tape.gradient(parts[1]).to_vector<float>(), (std::vector<float>{3, 4}));
}

}  // namespace
}  // namespace sluice
