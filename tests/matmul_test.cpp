#include "finite_differences.hpp"
#include "messages.hpp"
#include "strided_reference.hpp"

namespace sluice {
namespace {

using test::Index;
using tests::message_of;

// Small whole numbers: exact in every type.
Tensor small(const Shape& shape, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (double& value : values) value = static_cast<double>(random() % 4) - (dtype == u8 || dtype == boolean ? 0 : 2);
  return cast(from(values, shape), dtype);
}

Index batch_index(const Index& index, const Shape& shape, std::int64_t row, std::int64_t column) {
  Index own{row, column};
  for (int dim = 2; dim < shape.rank(); ++dim)
    own.push_back(shape[dim] == 1 ? 0 : index[static_cast<std::size_t>(dim)]);
  return own;
}

// One element at a time, in double; operands are matrices or batches of them.
std::vector<double> reference(const Tensor& a, const Tensor& b, MatmulOptions options, const Shape& shape) {
  const std::vector<double> left = cast(a, f64).to_vector<double>();
  const std::vector<double> right = cast(b, f64).to_vector<double>();
  const std::int64_t inner = a.size(options.transpose_a ? 0 : 1);
  std::vector<double> result;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const Index at = test::index_at(shape, i);
    double total = 0;
    for (std::int64_t p = 0; p < inner; ++p) {
      const Index in_a =
          options.transpose_a ? batch_index(at, a.shape(), p, at[0]) : batch_index(at, a.shape(), at[0], p);
      const Index in_b =
          options.transpose_b ? batch_index(at, b.shape(), at[1], p) : batch_index(at, b.shape(), p, at[1]);
      total += left[static_cast<std::size_t>(test::flat_at(a.shape(), in_a))] *
               right[static_cast<std::size_t>(test::flat_at(b.shape(), in_b))];
    }
    result.push_back(total);
  }
  return result;
}

Shape with_batch(std::int64_t rows, std::int64_t columns, const Shape& batch) {
  Shape shape{rows, columns};
  for (int dim = 0; dim < batch.rank(); ++dim) shape = shape.with(dim + 2, batch[dim]);
  return shape;
}

struct Batches {
  Shape a, b, c;
};
const Batches kBatches[] = {
    {{}, {}, {}},         {{}, {3}, {3}},           {{3}, {}, {3}},           {{3}, {3}, {3}},
    {{1}, {3}, {3}},      {{3}, {1}, {3}},          {{2, 3}, {2, 3}, {2, 3}}, {{}, {2, 3}, {2, 3}},
    {{2, 3}, {}, {2, 3}}, {{2, 1}, {1, 3}, {2, 3}}, {{2, 3}, {2}, {2, 3}},    {{1, 3}, {2, 3}, {2, 3}},
    {{0}, {0}, {0}},      {{1}, {0}, {0}},          {{}, {2, 0}, {2, 0}},     {{1, 1}, {1}, {1, 1}}};
const MatmulOptions kOptions[] = {{false, false}, {true, false}, {false, true}, {true, true}};

Shape shape_a(const Batches& batches, MatmulOptions options, std::int64_t m, std::int64_t k) {
  return options.transpose_a ? with_batch(k, m, batches.a) : with_batch(m, k, batches.a);
}
Shape shape_b(const Batches& batches, MatmulOptions options, std::int64_t k, std::int64_t n) {
  return options.transpose_b ? with_batch(n, k, batches.b) : with_batch(k, n, batches.b);
}

TEST(Matmul, EveryTypeTransposeAndBatch) {
  constexpr std::int64_t kSizes[][3] = {{3, 4, 5}, {1, 7, 1}, {5, 1, 2}, {0, 2, 3}, {2, 0, 3}, {2, 3, 0}};
  for (const DType dtype : test::all_dtypes()) {
    for (const Batches& batches : kBatches) {
      for (const MatmulOptions options : kOptions) {
        for (const auto [m, k, n] : kSizes) {
          const Tensor a = small(shape_a(batches, options, m, k), dtype, 1);
          const Tensor b = small(shape_b(batches, options, k, n), dtype, 2);
          const Tensor c = matmul(a, b, options);
          ASSERT_EQ(c.shape(), with_batch(m, n, batches.c));
          ASSERT_EQ(c.dtype(), dtype == boolean ? i32 : dtype);
          ASSERT_EQ(cast(c, f64).to_vector<double>(), reference(a, b, options, c.shape()))
              << dtype << a.shape() << b.shape() << options.transpose_a << options.transpose_b;
        }
      }
    }
  }
}

TEST(Matmul, LargerSizes) {
  for (const MatmulOptions options : kOptions) {
    const Tensor a = cast(test::random_f64(shape_a(kBatches[0], options, 67, 129), 1), f32);
    const Tensor b = cast(test::random_f64(shape_b(kBatches[0], options, 129, 45), 2), f32);
    const std::vector<float> c = matmul(a, b, options).to_vector<float>();
    const std::vector<double> expected = reference(a, b, options, {67, 45});
    for (std::size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(c[i], expected[i], 2e-5);
  }
}

TEST(Matmul, Vectors) {
  const Tensor w = tensor({{1, 2, 3}, {4, 5, 6}});
  const Tensor x = tensor({1, 0, 2});
  EXPECT_EQ(matmul(w, x).shape(), Shape{2});
  EXPECT_EQ(matmul(w, x).to_vector<int>(), (std::vector<int>{7, 16}));
  EXPECT_EQ(matmul(x, w, {.transpose_a = true, .transpose_b = true}).shape(), (Shape{1, 2}));
  EXPECT_EQ(matmul(x, x, {.transpose_a = true}).shape(), Shape{1});
  EXPECT_EQ(matmul(x, x, {.transpose_a = true}).to_vector<int>(), (std::vector<int>{5}));
  EXPECT_EQ(matmul(x, x, {.transpose_b = true}).shape(), (Shape{3, 3}));
  EXPECT_EQ(matmul(x, x, {.transpose_b = true}).to_vector<int>(), (std::vector<int>{1, 0, 2, 0, 0, 0, 2, 0, 4}));
  EXPECT_EQ(matmul(zeros({2, 3, 4}), zeros({3})).shape(), (Shape{2, 4}));
  EXPECT_EQ(matmul(zeros({2}), zeros({1, 3, 4})).shape(), (Shape{2, 3, 4}));
}

TEST(Matmul, PromotesElementTypes) {
  const Tensor counts = tensor({{1, 2}, {3, 4}});
  EXPECT_EQ(matmul(counts, tensor({0.5, 1.5})).to_vector<float>(), (std::vector<float>{3.5F, 7.5F}));
  EXPECT_EQ(matmul(cast(counts, f16), cast(counts, bf16)).dtype(), f32);
  EXPECT_EQ(matmul(tensor({{true, true}}), tensor({{true}, {true}})).item<int>(), 2);
  EXPECT_EQ(matmul(tensor({{true, true}}), cast(counts, u8)).dtype(), u8);
}

TEST(Matmul, IntegersWrap) {
  const std::vector<std::int8_t> hundred{100};
  EXPECT_EQ(matmul(from(hundred), tensor({std::int8_t{2}})).item<std::int8_t>(), -56);
  const std::int64_t big = std::int64_t{1} << 62;
  EXPECT_EQ(matmul(tensor({{big}}), tensor({{std::int64_t{4}}})).item<std::int64_t>(), 0);
}

TEST(Matmul, SaysWhatDoesNotFit) {
  EXPECT_EQ(message_of<ShapeError>([] {
              matmul(zeros({64, 128}), zeros({100, 10}));
            }),
            "matmul: inner sizes differ, (64, 128) x (100, 10)");
  EXPECT_EQ(message_of<ShapeError>([] {
              matmul(zeros({64, 128}), zeros({100, 10}), {.transpose_a = true, .transpose_b = true});
            }),
            "matmul: inner sizes differ, (64, 128) transposed x (100, 10) transposed");
  EXPECT_EQ(message_of<ShapeError>([] {
              matmul(zeros({2, 3, 4}), zeros({3, 2, 5}));
            }),
            "matmul: batch sizes differ, (2, 3, 4) x (3, 2, 5); they must be equal or 1");
  EXPECT_THROW(matmul(zeros({2, 3, 0}), zeros({3, 2, 5})), ShapeError);
  EXPECT_THROW(matmul(scalar(2.0F), zeros({2, 2})), ShapeError);
  EXPECT_THROW(matmul(zeros({3}), zeros({3})), ShapeError);
  EXPECT_THROW(matmul(Tensor(), zeros({3})), ArgumentError);
}

TEST(Matmul, GradientsOfEveryTransposeAndBatch) {
  for (const Batches& batches : kBatches) {
    for (const MatmulOptions options : kOptions) {
      test::expect_gradients(
          [options](auto& x) { return matmul(x[0], x[1], options); },
          {test::random_f64(shape_a(batches, options, 2, 3), 1), test::random_f64(shape_b(batches, options, 3, 4), 2)});
    }
  }
}

TEST(Matmul, GradientsOfVectorsAndEmptyOnes) {
  const auto check = [](const Shape& a, const Shape& b, MatmulOptions options) {
    test::expect_gradients([options](auto& x) { return matmul(x[0], x[1], options); },
                           {test::random_f64(a, 1), test::random_f64(b, 2)});
  };
  check({2, 3}, Shape{3}, {});
  check({3, 2}, Shape{3}, {.transpose_a = true});
  check(Shape{3}, Shape{3}, {.transpose_a = true});
  check(Shape{3}, Shape{4}, {.transpose_b = true});
  check(Shape{3}, {3, 2}, {.transpose_a = true});
  check({2, 3, 4}, Shape{3}, {});
  check(Shape{2}, {1, 3, 2}, {});
  for (const MatmulOptions options : kOptions) {
    check(shape_a(kBatches[0], options, 0, 3), shape_b(kBatches[0], options, 3, 2), options);
    check(shape_a(kBatches[0], options, 2, 0), shape_b(kBatches[0], options, 0, 2), options);
    check(shape_a(kBatches[0], options, 2, 3), shape_b(kBatches[0], options, 3, 0), options);
  }
}

TEST(Matmul, GradientOfASquareAddsBothSides) {
  test::expect_gradients([](auto& x) { return matmul(x[0], x[0]); }, {test::random_f64({3, 3}, 1)});
  test::expect_gradients([](auto& x) { return matmul(x[0], x[0], {.transpose_b = true}); },
                         {test::random_f64({3, 2, 2}, 1)});
}

TEST(Matmul, GradientsComeBackInTheTypeOfEachOperand) {
  Tensor a = ones({2, 3}, f16);
  Tensor b = ones({3, 4}, f32);
  detail::Tape tape;
  tape.track(a);
  tape.track(b);
  tape.backward(sum(matmul(a, b)));
  EXPECT_EQ(tape.gradient(a).dtype(), f16);
  EXPECT_EQ(tape.gradient(b).to_vector<float>(), std::vector<float>(12, 2.0F));
}

TEST(Matmul, AConstantOperandGetsNoGradient) {
  Tensor a = ones({2, 3});
  const Tensor b = ones({3, 4});
  detail::Tape tape;
  tape.track(a);
  tape.backward(sum(matmul(a, b)));
  EXPECT_EQ(tape.gradient(a).to_vector<float>(), std::vector<float>(6, 4.0F));
}

}  // namespace
}  // namespace sluice
