#include "finite_differences.hpp"
#include "messages.hpp"
#include "strided_reference.hpp"

namespace sluice {
namespace {

using test::Index;

void expect_sliced(const Tensor& x, int dim, std::int64_t first, std::int64_t last, std::int64_t step) {
  std::int64_t count = 0;
  for (std::int64_t i = first; i < last; i += step) ++count;
  test::expect_moved(slice(x, dim, first, last, step), x, x.shape().with(dim, count), [&](Index index) {
    auto& i = index[static_cast<std::size_t>(dim)];
    i = first + i * step;
    return index;
  });
}

TEST(Slice, EveryRangeStepAndType) {
  std::mt19937 random(2);
  for (const DType dtype : test::all_dtypes()) {
    for (int rank = 1; rank <= 5; ++rank) {
      const Tensor x = test::distinct(test::random_shape(random, rank), dtype);
      for (int dim = 0; dim < rank; ++dim) {
        for (std::int64_t first = 0; first <= x.size(dim); ++first) {
          for (std::int64_t last = first; last <= x.size(dim); ++last) {
            for (std::int64_t step = 1; step <= 3; ++step) expect_sliced(x, dim, first, last, step);
          }
        }
      }
    }
  }
}

TEST(Slice, Large) {
  for (const DType dtype : {u8, f16, f32, f64}) {
    expect_sliced(test::distinct({300, 400}, dtype), 0, 7, 293, 1);
    expect_sliced(test::distinct({300, 400}, dtype), 0, 7, 293, 3);
    expect_sliced(test::distinct({300, 400}, dtype), 1, 7, 393, 5);
    expect_sliced(test::distinct({100000}, dtype), 0, 1, 99999, 2);
  }
}

TEST(Slice, OfTheLastDimensionSharesStorage) {
  const Tensor x = test::distinct({3, 4}, i32);
  EXPECT_EQ(slice(x, 1, 1, 3).bytes().data(), x.bytes().data() + 12);
  EXPECT_EQ(slice(slice(x, 1, 1, 4), 1, 2, 3).bytes().data(), x.bytes().data() + 36);
  EXPECT_NE(slice(x, 0, 0, 2).bytes().data(), x.bytes().data());
}

TEST(Slice, OutlivesWhatItWasCutFrom) {
  Tensor part;
  {
    const Tensor x = reshape(arange(12), {3, 4});
    part = slice(x, 1, 2, 4);
  }
  EXPECT_EQ(part.to_vector<std::int64_t>(), (std::vector<std::int64_t>{6, 7, 8, 9, 10, 11}));
}

TEST(Slice, RefusesWhatIsOutside) {
  const Tensor x = zeros({3, 4});
  EXPECT_EQ(tests::message_of<IndexError>([&] { slice(x, 1, 2, 5); }),
            "slice: 2 ... 5 does not lie within dimension 1 of (3, 4); 0 <= first <= last <= 4 is needed");
  EXPECT_THROW(slice(x, 1, -1, 2), IndexError);
  EXPECT_THROW(slice(x, 1, 3, 2), IndexError);
  EXPECT_THROW(slice(x, 2, 0, 1), IndexError);
  EXPECT_THROW(slice(scalar(1.0F), 0, 0, 1), IndexError);
  EXPECT_EQ(tests::message_of<ArgumentError>([&] { slice(x, 1, 0, 2, 0); }),
            "slice: a step of 0; it must be at least 1");
  EXPECT_THROW(slice(x, 1, 0, 2, -1), ArgumentError);
  EXPECT_EQ(slice(x, 1, 0, 4, std::int64_t{1} << 62).shape(), (Shape{3, 1}));
}

TEST(Slice, Gradients) {
  const std::vector<Tensor> x{test::random_f64({3, 5, 2}, 1)};
  test::expect_gradients([](auto& v) { return slice(v[0], 0, 1, 3); }, x);
  test::expect_gradients([](auto& v) { return slice(v[0], 1, 1, 5, 2); }, x);
  test::expect_gradients([](auto& v) { return slice(v[0], 2, 1, 2); }, x);
  test::expect_gradients([](auto& v) { return slice(v[0], 2, 1, 1); }, x);
  test::expect_gradients([](auto& v) { return slice(v[0], 0, 0, 2) * slice(v[0], 0, 1, 3); }, x);
}

}  // namespace
}  // namespace sluice
