#include "sluice/shape.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <sstream>
#include <vector>

#include "messages.hpp"

namespace sluice {
namespace {

using tests::message_of;

TEST(Shape, HoldsSizesOfAnyIntegerType) {
  const std::vector<int> v(7);
  const Shape shape{3, 2L, v.size(), static_cast<std::uint8_t>(5)};
  EXPECT_EQ(shape.rank(), 4);
  EXPECT_EQ(shape.numel(), 3 * 2 * 7 * 5);
  EXPECT_EQ(shape[2], 7);
  EXPECT_EQ(shape[6], 1);
  EXPECT_EQ(shape.back(), 5);
  EXPECT_EQ(to_string(shape), "(3, 2, 7, 5)");
}

TEST(Shape, WithoutDimensionsHasOneElement) {
  const Shape shape;
  EXPECT_EQ(shape.rank(), 0);
  EXPECT_EQ(shape.numel(), 1);
  EXPECT_EQ(shape.back(), 1);
  std::ostringstream out;
  out << shape;
  EXPECT_EQ(out.str(), "()");
}

TEST(Shape, ComparesRankAndSizes) {
  EXPECT_EQ((Shape{3, 2}), (Shape{3, 2}));
  EXPECT_NE((Shape{3, 2}), (Shape{2, 3}));
  EXPECT_NE((Shape{3}), (Shape{3, 1}));
}

TEST(Shape, RefusesNegativeSizes) {
  EXPECT_NE(message_of<ShapeError>([] { Shape(3, -1); }).find("dimension 1 is negative"), std::string::npos);
  EXPECT_THROW(Shape(std::numeric_limits<std::uint64_t>::max()), ShapeError);
}

TEST(Shape, RefusesMoreThanEightDimensions) {
  EXPECT_EQ(Shape(1, 2, 1, 2, 1, 2, 1, 2).numel(), 16);
  EXPECT_NE(message_of<ShapeError>([] { Shape(1, 1, 1, 1, 1, 1, 1, 1, 1); }).find("9 dimensions"), std::string::npos);
}

TEST(Shape, RefusesProductsThatOverflow) {
  const std::int64_t big = std::int64_t{1} << 31;
  EXPECT_EQ(Shape(big, big).numel(), std::int64_t{1} << 62);
  EXPECT_THROW(Shape(big, big, 2), ShapeError);
  EXPECT_THROW(Shape(big, big, big, big), ShapeError);  // the product wraps to 0
  EXPECT_THROW(Shape(big, big, big, 0), ShapeError);    // its strides would overflow
  EXPECT_EQ(Shape(big, 0).numel(), 0);
}

TEST(Shape, WithChangesOneSize) {
  const Shape shape{3, 2};
  EXPECT_EQ(shape.with(0, 5), (Shape{5, 2}));
  EXPECT_EQ(shape.with(3, 4), (Shape{3, 2, 1, 4}));
  EXPECT_THROW(shape.with(8, 1), IndexError);
  EXPECT_THROW(shape.with(-1, 1), IndexError);
  EXPECT_THROW(shape.with(0, -2), ShapeError);
}

TEST(Shape, InsertedAndErased) {
  const Shape shape{3, 2};
  EXPECT_EQ(shape.inserted(0, 4), (Shape{4, 3, 2}));
  EXPECT_EQ(shape.inserted(1, 4), (Shape{3, 4, 2}));
  EXPECT_EQ(shape.inserted(2, 4), (Shape{3, 2, 4}));
  EXPECT_THROW(shape.inserted(3, 4), IndexError);
  EXPECT_THROW(Shape(1, 1, 1, 1, 1, 1, 1, 1).inserted(8, 1), ShapeError);
  EXPECT_EQ(shape.erased(0), (Shape{2}));
  EXPECT_EQ(shape.erased(1), (Shape{3}));
  EXPECT_EQ((Shape{3}).erased(0), Shape());
  EXPECT_THROW(shape.erased(2), IndexError);
}

TEST(Broadcast, AlignsTheFirstDimension) {
  EXPECT_EQ(broadcast({3, 2}, {3, 2}, "add"), (Shape{3, 2}));
  EXPECT_EQ(broadcast({3}, {3, 5}, "add"), (Shape{3, 5}));
  EXPECT_EQ(broadcast({1, 5}, {3, 1}, "add"), (Shape{3, 5}));
  EXPECT_EQ(broadcast({}, {3, 5}, "add"), (Shape{3, 5}));
  EXPECT_EQ(broadcast({0, 1}, {1, 4}, "add"), (Shape{0, 4}));
  EXPECT_EQ(broadcast({1}, {1, 1}, "add"), (Shape{1, 1}));
}

TEST(Broadcast, NamesOperationAndBothShapes) {
  const std::string message = message_of<ShapeError>([] { broadcast({3, 2}, {3, 5}, "where"); });
  for (const char* part : {"where", "dimension 1", "(3, 2)", "(3, 5)"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  EXPECT_THROW(broadcast({5}, {3, 5}, "add"), ShapeError);  // the last dimensions are not aligned
  EXPECT_THROW(broadcast({0}, {3}, "add"), ShapeError);
}

}  // namespace
}  // namespace sluice
