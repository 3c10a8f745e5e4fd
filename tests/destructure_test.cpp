#include <gtest/gtest.h>

#include "sluice/layers.hpp"

namespace sluice {
namespace {

struct Mixed {
  Tensor a = tensor({{1.0, 3.0}, {2.0, 4.0}});
  Tensor count = tensor({7});
  Tensor b = f64(tensor({5.0}));
  Tensor tie = a;
  Buffer state = tensor({9.0});
};

TEST(Destructure, IsDepthFirstColumnMajorTiesOnce) {
  const Mixed model;
  const auto [flat, rebuild] = destructure(model);
  EXPECT_EQ(flat.dtype(), f64);
  EXPECT_EQ(flat.to_vector<double>(), (std::vector<double>{1, 2, 3, 4, 5}));
}

TEST(Destructure, RebuildsInTheOriginalTypes) {
  const Mixed model;
  const auto [flat, rebuild] = destructure(model);
  const Mixed other = rebuild(flat * 2);
  EXPECT_EQ(other.a.dtype(), f32);
  EXPECT_EQ(other.a.shape(), (Shape{2, 2}));
  EXPECT_EQ(other.a.to_vector<float>(), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_TRUE(other.tie.same_handle(other.a));
  EXPECT_EQ(other.b.item<double>(), 10.0);
  EXPECT_TRUE(other.count.same_handle(model.count));
  EXPECT_EQ(other.state.get().item<float>(), 9.0F);
  EXPECT_EQ(model.a.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Destructure, ChecksTheLength) {
  const auto rebuild = destructure(Mixed{}).rebuild;
  EXPECT_THROW(rebuild(zeros({4})), ShapeError);
  EXPECT_THROW(rebuild(zeros({5, 1})), ShapeError);
  EXPECT_THROW(rebuild(Tensor()), ShapeError);
}

TEST(Destructure, OfNothingIsEmpty) {
  const auto [flat, rebuild] = destructure(Chain(relu));
  EXPECT_EQ(flat.shape(), Shape{0});
  rebuild(flat);
}

TEST(Destructure, IsDifferentiable) {
  const Dense model(2, 2);
  const auto grads = gradient([](auto& m) { return sum(destructure(m).flat * arange(0, 6)); }, model);
  EXPECT_EQ(grads.weight.template to_vector<float>(), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(grads.bias.template to_vector<float>(), (std::vector<float>{4, 5}));
}

}  // namespace
}  // namespace sluice
