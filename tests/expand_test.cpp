#include "finite_differences.hpp"
#include "messages.hpp"
#include "strided_reference.hpp"

namespace sluice {
namespace {

using test::Index;

TEST(Expand, EverySubsetOfDimensions) {
  std::mt19937 random(4);
  for (const DType dtype : test::all_dtypes()) {
    for (int rank = 0; rank <= 5; ++rank) {
      for (unsigned kept = 0; kept < 1U << rank; ++kept) {
        const Shape shape = test::random_shape(random, rank);
        Shape small = shape;
        for (int dim = 0; dim < rank; ++dim) small = (kept >> dim & 1) != 0 ? small : small.with(dim, 1);
        const Tensor x = test::distinct(small, dtype);
        test::expect_moved(expand(x, shape), x, shape, [&](Index index) {
          for (std::size_t d = 0; d < index.size(); ++d) {
            if (small[static_cast<int>(d)] == 1) index[d] = 0;
          }
          return index;
        });
      }
    }
  }
}

TEST(Expand, AlignsTheFirstDimension) {
  EXPECT_EQ(expand(tensor({1, 2}), {2, 3}).to_vector<int>(), (std::vector<int>{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(expand(scalar(7), {2, 2}).to_vector<int>(), (std::vector<int>{7, 7, 7, 7}));
  EXPECT_EQ(expand(ones({1}), Shape{100000}).to_vector<float>(), std::vector<float>(100000, 1.0F));
}

TEST(Expand, NamesBothShapes) {
  EXPECT_EQ(tests::message_of<ShapeError>([] {
              expand(zeros({3, 2}), {4, 2});
            }),
            "expand: (3, 2) does not broadcast to (4, 2); sizes must be equal or 1, first dimensions aligned");
  EXPECT_THROW(expand(zeros({1, 1}), Shape{5}), ShapeError);
  EXPECT_THROW(expand(zeros({3}), {2, 3}), ShapeError);
}

TEST(Expand, Gradients) {
  test::expect_gradients([](auto& x) { return expand(x[0], {2, 3, 4}); }, {test::random_f64({2, 1, 4}, 1)});
  test::expect_gradients([](auto& x) { return expand(x[0], {2, 3, 4}); }, {test::random_f64({2}, 1)});
  test::expect_gradients([](auto& x) { return expand(x[0], {2, 3}); }, {test::random_f64({}, 1)});
  test::expect_gradients([](auto& x) { return expand(x[0], {2, 1}); }, {test::random_f64({2}, 1)});
  test::expect_gradients([](auto& x) { return expand(x[0], {3, 0}); }, {test::random_f64({3}, 1)});
}

}  // namespace
}  // namespace sluice
