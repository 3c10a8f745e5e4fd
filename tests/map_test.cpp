#include <gtest/gtest.h>

#include <cmath>

#include "finite_differences.hpp"
#include "sluice/ops.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice {
namespace {

TEST(Map, BroadcastsWithTheFirstDimensionsAligned) {
  const Tensor matrix = tensor({{1, 2, 3}, {4, 5, 6}});  // 2x3
  const Tensor column = tensor({10, 20});
  const Tensor row = reshape(tensor({100, 200, 300}), {1, 3});
  EXPECT_TRUE(equal(matrix + column, tensor({{11, 12, 13}, {24, 25, 26}})));
  EXPECT_TRUE(equal(matrix + row, tensor({{101, 202, 303}, {104, 205, 306}})));
  EXPECT_TRUE(equal(column + row, tensor({{110, 210, 310}, {120, 220, 320}})));
  EXPECT_TRUE(equal(matrix + scalar(1), tensor({{2, 3, 4}, {5, 6, 7}})));
}

/// f(a, b) by index arithmetic, for every element.
Tensor naive_add(const Tensor& a, const Tensor& b, const Shape& shape) {
  std::vector<double> values;
  const auto at = [&](const Tensor& t, std::int64_t flat) {
    std::int64_t position = 0, stride = 1;
    for (int d = 0; d < shape.rank(); ++d) {
      const std::int64_t index = flat % shape[d];
      flat /= shape[d];
      if (t.size(d) != 1) position += index * stride;
      stride *= t.size(d);
    }
    return t.span<double>()[static_cast<std::size_t>(position)];
  };
  for (std::int64_t i = 0; i < shape.numel(); ++i) values.push_back(at(a, i) + 3 * at(b, i));
  return from(values, shape);
}

TEST(Map, AgreesWithIndexArithmeticForEveryPairOfBroadcastShapes) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 400; ++trial) {
    const int rank = static_cast<int>(random() % 5);
    std::vector<std::int64_t> full, left, right;
    for (int d = 0; d < rank; ++d) {
      const std::int64_t sizes[] = {0, 1, 2, 3, 7, 40};
      full.push_back(trial % 50 == 0 ? sizes[random() % 6] : sizes[1 + random() % 5]);
      left.push_back(random() % 3 == 0 ? 1 : full.back());
      right.push_back(left.back() == full.back() && random() % 3 == 0 ? 1 : full.back());
    }
    while (!right.empty() && right.back() == 1 && random() % 2 == 0) right.pop_back();
    const Tensor a = test::random_f64(Shape(left), unsigned(trial)),
                 b = test::random_f64(Shape(right), 1000 + unsigned(trial));
    const Shape shape = broadcast(a.shape(), b.shape(), "test");
    const Tensor got = map([](auto x, auto y) { return x + 3 * y; }, a, b);
    ASSERT_TRUE(equal(got, naive_add(a, b, shape))) << a.shape() << " with " << b.shape();
  }
}

TEST(Map, ShapesThatDoNotFitAreNamed) {
  try {
    zeros({3, 2}) + zeros({4});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("(3, 2)"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("(4)"), std::string::npos) << error.what();
  }
  EXPECT_THROW(Tensor() + zeros({3}), ArgumentError);
}

TEST(Map, SeveralOutputsComeAsAnArray) {
  const auto [sum_, difference, truth] =
      map([](auto a, auto b) { return std::tuple(a + b, a - b, a < b); }, tensor({1.0, 5.0}), tensor({2.0, 3.0}));
  EXPECT_TRUE(equal(sum_, tensor({3.0, 8.0})));
  EXPECT_TRUE(equal(difference, tensor({-1.0, 2.0})));
  EXPECT_TRUE(equal(truth, tensor({true, false})));
}

TEST(Map, TheSameValueTwiceIsTwoOutputs) {
  const auto [a, b] = map([](auto x) { return std::tuple(x * 2, x * 2); }, tensor({1.0, 2.0}));
  EXPECT_TRUE(equal(a, b));
  EXPECT_TRUE(equal(a, tensor({2.0, 4.0})));
  const auto [c, d] = map([](auto x) { return std::tuple(x, 7); }, tensor({1.0, 2.0}));
  EXPECT_TRUE(equal(c, tensor({1.0, 2.0})));
  EXPECT_EQ(d.to_vector<std::int64_t>(), (std::vector<std::int64_t>{7, 7}));
}

TEST(Map, ReusesOnlyWhatWasGivenAway) {
  Tensor x = rand({1000});
  const Tensor copy = x;
  const void* memory = x.span<float>().data();
  Tensor y = std::move(x) + 1;
  EXPECT_NE(y.span<float>().data(), memory) << "`copy` still holds the buffer";
  memory = y.span<float>().data();
  const std::vector<float> before = y.to_vector<float>();
  Tensor z = y * 2;
  EXPECT_EQ(y.to_vector<float>(), before);
  z = std::move(y) * 2;
  EXPECT_EQ(z.span<float>().data(), memory);
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_EQ(z.span<float>()[i], 2 * before[i]);
}

TEST(Map, InPlaceResultsDoNotDisturbLaterReads) {
  // The first output may take the place of x, which the second still reads, over several tiles.
  Tensor x = rand({3001}), y = rand({3001});
  const std::vector<float> a = x.to_vector<float>(), b = y.to_vector<float>();
  const auto [first, second] =
      map([](auto p, auto q) { return std::tuple(p + q, p * q - p); }, std::move(x), std::move(y));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(first.span<float>()[i], a[i] + b[i]);
    ASSERT_EQ(second.span<float>()[i], a[i] * b[i] - a[i]);
  }
}

TEST(Map, AnOperandThatIsAResultKeepsItsElements) {
  // Neither result may take the place of what the other one is.
  const std::vector<float> a = {7, -129, 3, 5}, b = {1, 2, 3, 4};
  Tensor x = from(a), y = from(b);
  const auto sums = map([](auto p) { return std::tuple(p + 1, p); }, std::move(x));
  EXPECT_EQ(sums[0].to_vector<float>(), (std::vector<float>{8, -128, 4, 6}));
  EXPECT_EQ(sums[1].to_vector<float>(), a);
  x = from(a);
  const auto swapped = map([](auto p, auto q) { return std::tuple(q, p); }, std::move(x), std::move(y));
  EXPECT_EQ(swapped[0].to_vector<float>(), b);
  EXPECT_EQ(swapped[1].to_vector<float>(), a);
  Tensor whole = from(std::vector<std::int32_t>{7, -129});
  const auto halves = map([](auto p) { return std::tuple(p / 2, p); }, std::move(whole));
  EXPECT_EQ(halves[0].to_vector<float>(), (std::vector<float>{3.5f, -64.5f}));
  EXPECT_EQ(halves[1].to_vector<std::int32_t>(), (std::vector<std::int32_t>{7, -129}));
}

TEST(Map, OffsetViewsAreNeverReused) {
  Tensor whole = rand({4, 6});
  const std::vector<float> before = whole.to_vector<float>();
  Tensor part = slice(whole, 1, 2, 4);
  const Tensor result = std::move(part) * 0;
  EXPECT_EQ(whole.to_vector<float>(), before);
  EXPECT_TRUE(equal(result, zeros({4, 2})));
}

TEST(Map, GradientsOfBroadcastOperandsAreSummed) {
  const auto f = [](const std::vector<Tensor>& x) {
    return map([](auto h, auto b, auto s) { return tanh(h * s + b); }, x[0], x[1], x[2]);
  };
  test::expect_gradients(f, {test::random_f64({4, 5}, 1), test::random_f64({4}, 2), test::random_f64({}, 3)});
  test::expect_gradients(f, {test::random_f64({1, 5}, 1), test::random_f64({4}, 2), test::random_f64({1, 1, 3}, 3)});
}

TEST(Map, GradientsFlowThroughSeveralOutputs) {
  test::expect_gradients(
      [](const std::vector<Tensor>& x) {
        const auto [a, b] = map([](auto p, auto q) { return std::tuple(p * q, sin(p) + q); }, x[0], x[1]);
        return a * b;
      },
      {test::random_f64({3, 4}, 1), test::random_f64({3}, 2)});
  test::expect_gradients(
      [](const std::vector<Tensor>& x) {
        return map([](auto p, auto q) { return std::tuple(p * q, sin(p)); }, x[0], x[1])[0];
      },
      {test::random_f64({3, 4}, 1), test::random_f64({3}, 2)});
}

TEST(Map, AnUnusedOperandGetsNoGradient) {
  Tensor x = test::random_f64({3}, 1), y = test::random_f64({3}, 2);
  detail::Tape tape;
  tape.track(x);
  tape.track(y);
  tape.backward(sum(map([](auto a, auto) { return a * 2; }, x, y)));
  EXPECT_TRUE(equal(tape.gradient(x), full_like(x, 2)));
  EXPECT_FALSE(tape.gradient(y));
}

TEST(Map, RunTimeNumbersMakeNoNewProgram) {
  const detail::Program* first = trace<1>([](auto x) { return x * 0.37; }).program();
  const detail::Program* second = trace<1>([](auto x) { return x * 123.0; }).program();
  EXPECT_EQ(first, second);
  EXPECT_NE(first, trace<1>([](auto x) { return x * 3; }).program()) << "small integers are part of the program";
  EXPECT_NE(first, trace<1>([](auto x) { return x * 1000; }).program()) << "an integer parameter promotes differently";
  EXPECT_EQ(trace<2>([](auto x, auto y) { return x * 0.5 + y * 0.5; }).program(),
            trace<2>([](auto x, auto y) { return x * 0.5 + y * 0.25; }).program())
      << "parameters are not merged by value";
}

TEST(Map, TracedValuesLiveOnlyInsideATrace) {
  EXPECT_THROW(Expr(1.0), ArgumentError);
  EXPECT_THROW(map(
                   [](auto x) {
                     return x + sum(zeros({2})).item<float>() +
                            map([](auto y) { return y; }, ones({1})).template item<float>();
                   },
                   ones({2})),
               ArgumentError);
  // The failed trace leaves the thread usable.
  EXPECT_TRUE(equal(ones({2}) + ones({2}), full({2}, 2.0)));
}

TEST(Map, EmptyTensorsPassThrough) {
  const Tensor nothing = zeros({0, 3});
  EXPECT_EQ((nothing + zeros({1, 3})).shape(), (Shape{0, 3}));
  test::expect_gradients([](const std::vector<Tensor>& x) { return tanh(x[0]) * x[1]; },
                         {test::random_f64({0, 3}, 1), test::random_f64({1, 3}, 2)});
}

TEST(Map, ManyOperandsWork) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < 30; ++i) inputs.push_back(full({3}, double(i)));
  const Function total = [] {
    detail::Trace trace(30);
    Expr sum = Expr::node(detail::Trace::emit(detail::Node{detail::Op::input, {0}}));
    for (std::uint16_t i = 1; i < 30; ++i)
      sum = sum + Expr::node(detail::Trace::emit(detail::Node{detail::Op::input, {i}}));
    trace.output(sum.id());
    return Function(trace.program(), {});
  }();
  EXPECT_TRUE(equal(detail::map_program1(total.program(), {}, inputs), full({3}, 435.0)));
}

// Two arithmetic operations may run as one loop; the values are those of the operations one after the other.
TEST(Map, ChainsOfArithmeticEqualTheOperationsOneByOne) {
  using Op = Expr (*)(Expr, Expr);
  const std::vector<std::pair<Op, Tensor (*)(const Tensor&, const Tensor&)>> ops = {
      {[](Expr x, Expr y) { return x + y; }, [](const Tensor& x, const Tensor& y) { return x + y; }},
      {[](Expr x, Expr y) { return x - y; }, [](const Tensor& x, const Tensor& y) { return x - y; }},
      {[](Expr x, Expr y) { return x * y; }, [](const Tensor& x, const Tensor& y) { return x * y; }},
      {[](Expr x, Expr y) { return x / y; }, [](const Tensor& x, const Tensor& y) { return x / y; }},
      {[](Expr x, Expr y) { return max(x, y); }, [](const Tensor& x, const Tensor& y) { return max(x, y); }},
      {[](Expr x, Expr y) { return min(x, y); }, [](const Tensor& x, const Tensor& y) { return min(x, y); }},
  };
  for (const DType dtype : {f32, f64}) {
    const Tensor a = cast(test::random_f64({1300}, 1) * 9.0, dtype);
    const Tensor b = cast(test::random_f64({1300}, 2) * 9.0, dtype), c = cast(test::random_f64({1300}, 3) * 9.0, dtype);
    for (const auto& [outer, outer_tensor] : ops) {
      for (const auto& [inner, inner_tensor] : ops) {
        const auto same = [](const Tensor& x, const Tensor& y) { return x.dtype() == y.dtype() && equal(x, y); };
        const auto left = [&](auto x, auto y, auto z) { return outer(inner(x, y), z); };
        const auto right = [&](auto x, auto y, auto z) { return outer(z, inner(x, y)); };
        const auto twice = [&](auto x, auto y, auto z) { return outer(inner(x, y), inner(x, y) + z); };
        const auto itself = [&](auto x, auto y, auto) { return outer(y, inner(x, x)); };
        const Tensor ab = inner_tensor(a, b);
        EXPECT_TRUE(same(map(left, a, b, c), outer_tensor(ab, c)));
        EXPECT_TRUE(same(map(right, a, b, c), outer_tensor(c, ab)));
        EXPECT_TRUE(same(map(twice, a, b, c), outer_tensor(ab, ab + c)));
        EXPECT_TRUE(same(map(itself, a, b, c), outer_tensor(b, inner_tensor(a, a))));
      }
    }
  }
}

}  // namespace
}  // namespace sluice
