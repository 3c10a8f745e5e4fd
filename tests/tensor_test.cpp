#include "sluice/tensor.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "fake_device.hpp"
#include "messages.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice {
namespace {

using detail::Operand;
using tests::expect_contains;
using tests::FakeDevice;
using tests::message_of;

Tensor on(const Tensor& host, FakeDevice& device) {
  const Tensor x = detail::empty(host.shape(), host.dtype(), &device);
  device.write(*x.rep()->storage, 0, host.bytes().data(), host.bytes().size());
  return x;
}

TEST(Tensor, CopiesTheHandle) {
  const Tensor x = tensor({1.0f, 2.0f, 3.0f});
  const Tensor y = x;
  EXPECT_TRUE(x.same_handle(y));
  EXPECT_EQ(x.rep()->refs, 2u);
  Tensor z = std::move(const_cast<Tensor&>(y));
  EXPECT_FALSE(static_cast<bool>(y));
  EXPECT_TRUE(z.same_handle(x));
  const Tensor& same = z;
  z = same;
  EXPECT_EQ(z.to_vector<float>(), (std::vector<float>{1, 2, 3}));
}

TEST(Tensor, FreesItsBlockWithTheLastHandle) {
  FakeDevice device;
  {
    const Tensor x = detail::empty(Shape{4}, f32, &device);
    const Tensor y = detail::view(x, 2, Shape{2});
    EXPECT_EQ(device.blocks, 1);
    EXPECT_FALSE(x.same_handle(y));
    { const Tensor moved = std::move(const_cast<Tensor&>(x)); }
    EXPECT_EQ(device.blocks, 1);  // the view holds it
  }
  EXPECT_EQ(device.blocks, 0);
}

TEST(Tensor, HandlesAreCountedAcrossThreads) {
  FakeDevice device;
  {
    const Tensor x = detail::empty(Shape{4}, f32, &device);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([x] {
        for (int i = 0; i < 10000; ++i) const Tensor copy = x;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(x.rep()->refs, 1u);
  }
  EXPECT_EQ(device.blocks, 0);
}

TEST(Tensor, ThatHoldsNothingThrows) {
  const Tensor x;
  EXPECT_FALSE(static_cast<bool>(x));
  EXPECT_THROW(x.shape(), ArgumentError);
  EXPECT_THROW(x.dtype(), ArgumentError);
  EXPECT_THROW(x.device(), ArgumentError);
  EXPECT_THROW(x.item<float>(), ArgumentError);
  EXPECT_THROW(x.to_vector<float>(), ArgumentError);
  EXPECT_THROW(x.span<float>(), ArgumentError);
}

TEST(Tensor, SizeIsCheckedAndOnePastTheLastDimension) {
  const Tensor x = zeros({3, 2});
  EXPECT_EQ(x.size(1), 2);
  EXPECT_EQ(x.size(2), 1);
  EXPECT_THROW(x.size(-1), IndexError);
  EXPECT_THROW(x.size(8), IndexError);
}

TEST(Tensor, ItemNeedsOneElementOfTheRightType) {
  EXPECT_EQ(scalar(2.5).item<double>(), 2.5);
  EXPECT_EQ(tensor({7}).item<int>(), 7);
  EXPECT_THROW(zeros({2}).item<float>(), ShapeError);
  EXPECT_THROW(zeros({0}).item<float>(), ShapeError);
  EXPECT_EQ(message_of<TypeError>([] { scalar(1.0f).item<double>(); }),
            "item<f64>: the tensor holds f32; use item<float>() or cast(x, f64)");
}

TEST(Tensor, ToVectorNeedsTheRightType) {
  EXPECT_THROW(zeros({2}).to_vector<double>(), TypeError);
  EXPECT_THROW(zeros({2}).to_vector<bool>(), TypeError);
  EXPECT_EQ(from(std::vector<bool>{true, false, true}).to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(zeros({0, 3}).to_vector<float>().size(), 0u);
}

TEST(Tensor, SpanShowsAViewInPlace) {
  const Tensor x = arange(6);
  const Tensor y = detail::view(x, 2, Shape{2, 2});
  EXPECT_EQ(y.span<std::int64_t>().data(), x.span<std::int64_t>().data() + 2);
  EXPECT_EQ(y.to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 3, 4, 5}));
  EXPECT_EQ(y.bytes().size(), 32u);
  const Tensor z = detail::view(y, y.rep()->offset + 2, Shape{2});
  EXPECT_EQ(z.to_vector<std::int64_t>(), (std::vector<std::int64_t>{4, 5}));
}

TEST(Tensor, OnAnotherDeviceIsReadButNotSpanned) {
  FakeDevice device(1);
  const Tensor x = on(tensor({1.0f, 2.0f}), device);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(detail::view(x, 1, Shape{}).item<float>(), 2.0f);
  EXPECT_EQ(on(from(std::vector<bool>{true, false}), device).to_vector<bool>(), (std::vector<bool>{true, false}));
  expect_contains(message_of<DeviceError>([&] { (void)x.span<float>(); }),
                  {"span", "CUDA device 1", "x | cpu_device()"});
  EXPECT_THROW(x.bytes(), DeviceError);
}

TEST(Tensor, HugeShapesRunOutOfMemory) {
  EXPECT_THROW(zeros({std::int64_t{1} << 62}, f64), OutOfMemory);
  EXPECT_THROW(zeros({std::int64_t{1} << 55}, u8), OutOfMemory);
}

TEST(Device, NamesItself) {
  FakeDevice fake(2);
  EXPECT_EQ(to_string(Device(&fake)), "CUDA device 2: Fake");
  EXPECT_EQ(to_string(cpu_device()), "CPU");
  EXPECT_EQ(Device(), cpu_device());
  EXPECT_NE(Device(&fake), cpu_device());
  EXPECT_THROW(cpu_device().as(i32), TypeError);
  EXPECT_THROW(set_num_threads(0), ArgumentError);
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
}

TEST(CommonDevice, NamesBothDevices) {
  FakeDevice fake;
  const Tensor pair[] = {zeros({2}), on(zeros({2}), fake)};
  EXPECT_EQ(detail::common_device(std::span(pair, 1), "add"), detail::cpu_device_impl());
  EXPECT_EQ(message_of<DeviceError>([&] { detail::common_device(pair, "add"); }),
            "add: operands are on CPU and CUDA device 0; move one first, for example y | x.device()");
}

TEST(CheckedDim, NamesTheBound) {
  EXPECT_EQ(detail::checked_dim(1, 2, "sum"), 1);
  expect_contains(message_of<IndexError>([] { detail::checked_dim(2, 2, "sum"); }), {"sum", "2", "0 ... 1"});
  EXPECT_THROW(detail::checked_dim(-1, 2, "sum"), IndexError);
  EXPECT_THROW(detail::checked_dim(0, 0, "sum"), IndexError);
}

// The elements an operand visits, in the order of the space.
std::vector<std::int64_t> walk(const Operand& operand, const Shape& space) {
  std::vector<std::int64_t> visited;
  for (std::int64_t i = 0; i < space.numel(); ++i) {
    std::int64_t rest = i;
    std::int64_t place = operand.offset;
    for (int d = 0; d < space.rank(); ++d) {
      place += rest % space[d] * operand.strides[static_cast<std::size_t>(d)];
      rest /= space[d];
    }
    visited.push_back(place);
  }
  return visited;
}

TEST(BroadcastOperand, StandsStillWhereItsSizeIsOne) {
  const Tensor row = zeros({1, 3});
  const Operand operand = detail::broadcast_operand(row, Shape{2, 3});
  EXPECT_EQ(walk(operand, Shape{2, 3}), (std::vector<std::int64_t>{0, 0, 1, 1, 2, 2}));
  const Tensor bias = zeros({2});
  EXPECT_EQ(walk(detail::broadcast_operand(bias, Shape{2, 3}), Shape{2, 3}),
            (std::vector<std::int64_t>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(walk(detail::broadcast_operand(zeros({}), Shape{2, 2}), Shape{2, 2}), (std::vector<std::int64_t>(4, 0)));
}

TEST(Collapse, MergesDenseOperandsToOneDimension) {
  const Tensor x = zeros({3, 4, 5});
  Operand operands[] = {detail::dense_operand(x), detail::broadcast_operand(x, x.shape())};
  Shape space = x.shape();
  detail::collapse(space, operands);
  EXPECT_EQ(space, (Shape{60}));
  EXPECT_EQ(operands[0].strides[0], 1);
  EXPECT_EQ(operands[1].strides[0], 1);
}

TEST(Collapse, OneElementBecomesOneDimension) {
  for (Shape space : {Shape{}, Shape{1, 1}}) {
    const Tensor x = zeros(space);
    Operand operands[] = {detail::broadcast_operand(x, space)};
    detail::collapse(space, operands);
    EXPECT_EQ(space, (Shape{1}));
    EXPECT_EQ(operands[0].strides[0], 1);
  }
}

TEST(Collapse, KeepsApartWhatOneOperandWalksDifferently) {
  Shape space{10, 1, 6, 7};
  const Tensor bias = zeros({10});
  const Tensor x = zeros(space);
  Operand operands[] = {detail::broadcast_operand(bias, space), detail::dense_operand(x)};
  detail::collapse(space, operands);
  EXPECT_EQ(space, (Shape{10, 42}));
  EXPECT_EQ(operands[0].strides[1], 0);
  EXPECT_EQ(operands[1].strides[1], 10);
}

// Every pair of broadcast shapes of rank 4 over sizes 1, 2, 3: the walk stays the same.
TEST(Collapse, NeverChangesTheWalk) {
  const Shape full_space{2, 3, 2, 3};
  for (int mask = 0; mask < 256; ++mask) {
    Shape a = full_space;
    Shape b = full_space;
    for (int d = 0; d < 4; ++d) {
      if ((mask >> d & 1) != 0) a = a.with(d, 1);
      if ((mask >> (d + 4) & 1) != 0) b = b.with(d, 1);
    }
    Shape space = broadcast(a, b, "add");
    const Tensor x = zeros(a);
    const Tensor y = zeros(b);
    Operand operands[] = {detail::broadcast_operand(x, space), detail::broadcast_operand(y, space)};
    const auto walk_x = walk(operands[0], space);
    const auto walk_y = walk(operands[1], space);
    detail::collapse(space, operands);
    EXPECT_EQ(walk(operands[0], space), walk_x) << mask;
    EXPECT_EQ(walk(operands[1], space), walk_y) << mask;
    EXPECT_EQ(space.numel(), broadcast(a, b, "add").numel());
  }
}

}  // namespace
}  // namespace sluice
