#include "sluice/interop.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernel_device.hpp"

namespace sluice {
namespace {

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

TEST(Interop, HostMemoryIsATensorWithoutACopy) {
  std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  int released = 0;
  {
    const Tensor x = wrap_memory(cpu_device(), numbers.data(), {2, 3}, f32, [&] { ++released; });
    EXPECT_EQ(x.span<float>().data(), numbers.data());
    EXPECT_EQ(memory_address(x), address_of(numbers.data()));
    EXPECT_EQ(sum(x, {0}).to_vector<float>(), (std::vector<float>{3, 7, 11}));
    const Tensor part = slice(x, 1, 1, 3);
    EXPECT_EQ(memory_address(part), address_of(numbers.data() + 2)) << "of its own first element";
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Interop, TheMemoryIsNeverWritten) {
  std::vector<float> numbers = {1, 2, 3};
  Tensor x = wrap_memory(cpu_device(), address_of(numbers.data()), {3}, f32);
  const Tensor y = std::move(x) * 2 + 1;  // a tensor that nobody else holds may be overwritten, but not this one
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{3, 5, 7}));
  EXPECT_EQ(numbers, (std::vector<float>{1, 2, 3}));
}

TEST(Interop, TheLastHandleGivesTheMemoryBack) {
  std::array<double, 2> numbers = {1, 2};
  int released = 0;
  Tensor x = wrap_memory(cpu_device(), address_of(numbers.data()), {2}, f64, [&] { ++released; });
  Tensor part = slice(x, 0, 1, 2);
  x = {};
  EXPECT_EQ(released, 0);
  EXPECT_EQ(part.item<double>(), 2);
  part = {};
  EXPECT_EQ(released, 1);
}

TEST(Interop, WhatCannotHoldTheElementsIsRefused) {
  alignas(8) std::array<float, 4> numbers{};
  int released = 0;
  const auto release = [&] { ++released; };
  EXPECT_THROW(wrap_memory(cpu_device(), 0, {2}, f32, release), ArgumentError);
  EXPECT_THROW(wrap_memory(cpu_device(), address_of(numbers.data()) + 2, {2}, f32, release), ArgumentError);
  EXPECT_EQ(released, 0) << "it is still the caller's";
  EXPECT_EQ(wrap_memory(cpu_device(), 0, {0, 3}, f32, release).shape(), (Shape{0, 3}));
  EXPECT_EQ(released, 1);
  EXPECT_THROW((void)memory_address(Tensor()), ArgumentError);
}

TEST(Interop, AnOwnerThatThrowsDoesNoHarm) {
  set_log_sink([](LogLevel, std::string_view) {});
  std::array<float, 1> numbers{};
  (void)wrap_memory(cpu_device(), address_of(numbers.data()), {1}, f32, [] { throw std::runtime_error("no"); });
}

class InteropOnDevice : public tests::KernelDevice {
 protected:
  bool has_addresses() const { return GetParam() != std::string("OpenCL") && GetParam() != std::string("Metal"); }
};

TEST_P(InteropOnDevice, ATensorsMemoryIsATensorAgain) {
  const Tensor x = tests::numbers({7, 5}, f32, -1, 1, 1);
  if (!has_addresses()) {
    EXPECT_THROW((void)memory_address(x | device), Unsupported);
    EXPECT_THROW(wrap_memory(device, 4096, {1}, f32), Unsupported);
    return;
  }
  const Tensor owner = (x | device) * 2;
  int released = 0;
  {
    const Tensor part = slice(owner, 1, 2, 5);
    EXPECT_EQ(memory_address(part), memory_address(owner) + 2 * 7 * sizeof(float));
    const Tensor again = wrap_memory(device, memory_address(part), part.shape(), f32, [&] { ++released; });
    EXPECT_EQ(again.device(), device);
    expect_close("wrapped", 0, 0, cpu(again + 1), slice(x, 1, 2, 5) * 2 + 1);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  expect_close("owner", 0, 0, cpu(owner), x * 2);
}

TEST_P(InteropOnDevice, WhatIsNotMemoryOfTheDeviceIsRefused) {
  if (!has_addresses()) GTEST_SKIP() << "no addresses";
  const std::vector<float> numbers(4);
  int released = 0;
  const auto release = [&] { ++released; };
  EXPECT_THROW(wrap_memory(device, address_of(numbers.data()), {4}, f32, release), DeviceError);
  const Tensor small = full({4}, 1.0F, f32, device);
  EXPECT_THROW(wrap_memory(device, memory_address(small), {1 << 20}, f32, release), DeviceError);
  EXPECT_THROW(wrap_memory(device, memory_address(small) + 1, {1}, f32, release), ArgumentError);
  EXPECT_EQ(released, 0);
}

SLUICE_INSTANTIATE_FOR_KERNEL_DEVICES(InteropOnDevice);

}  // namespace
}  // namespace sluice
