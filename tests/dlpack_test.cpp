// DLPack against its C declarations, written out once more here as the specification has them.
#include "sluice/dlpack.hpp"

#include <gtest/gtest.h>

#include <cstddef>

#include "fake_device.hpp"
#include "messages.hpp"
#include "sluice/sluice.hpp"
#include "src/core/tensor_rep.hpp"
#include "tests/simulated_driver.hpp"

namespace sluice {
namespace {

extern "C" {
struct DLDevice {
  int device_type;
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};
struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};
}

static_assert(sizeof(DLManagedTensor) == sizeof(dlpack::ManagedTensor));
static_assert(sizeof(DLManagedTensorVersioned) == sizeof(dlpack::ManagedTensorVersioned));
static_assert(offsetof(DLManagedTensorVersioned, dl_tensor) == offsetof(dlpack::ManagedTensorVersioned, tensor));
static_assert(offsetof(DLManagedTensorVersioned, flags) == offsetof(dlpack::ManagedTensorVersioned, flags));
static_assert(offsetof(DLTensor, byte_offset) == offsetof(dlpack::Tensor, byte_offset));
static_assert(offsetof(DLTensor, dtype) == offsetof(dlpack::Tensor, dtype));

/// Somebody else's array, and how often its deleter was called.
struct Foreign {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  std::vector<std::int64_t> shape = {2, 3}, strides = {3, 1};
  int deleted = 0;
  DLManagedTensorVersioned managed{};

  Foreign() {
    managed.version = {1, 2};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
    managed.dl_tensor = {values.data(), {1, 0}, 2, {2, 32, 1}, shape.data(), strides.data(), 0};
  }
  dlpack::ManagedTensorVersioned* pointer() { return reinterpret_cast<dlpack::ManagedTensorVersioned*>(&managed); }
};

TEST(Dlpack, HandsOutWithoutACopy) {
  Tensor x = rand({2, 3});
  const void* const data = x.bytes().data();
  auto* const lent = reinterpret_cast<DLManagedTensorVersioned*>(to_dlpack_versioned(x));
  const DLTensor& tensor = lent->dl_tensor;
  EXPECT_EQ(lent->version.major, 1u);
  EXPECT_EQ(lent->flags & 1, 1u);
  EXPECT_EQ(static_cast<std::byte*>(tensor.data) + tensor.byte_offset, data);
  EXPECT_EQ(tensor.device.device_type, 1);
  ASSERT_EQ(tensor.ndim, 2);
  EXPECT_EQ(tensor.shape[0], 2);
  EXPECT_EQ(tensor.shape[1], 3);
  EXPECT_EQ(tensor.strides[0], 1);
  EXPECT_EQ(tensor.strides[1], 2);
  EXPECT_EQ(tensor.dtype.code, 2);
  EXPECT_EQ(tensor.dtype.bits, 32);
  const float first = x.span<float>()[0];
  x = Tensor();  // the other side has it still
  EXPECT_EQ(*static_cast<float*>(tensor.data), first);
  lent->deleter(lent);
}

TEST(Dlpack, EveryTypeGoesAndComesBackWithoutACopy) {
  for (int code = 0; code < DType::kCount; ++code) {
    const DType dtype{static_cast<DType::Code>(code)};
    for (const Shape& shape : {Shape{2}, Shape{2, 2, 3}, Shape{}, Shape{3, 0}}) {
      const Tensor x = cast(reshape(arange(shape.numel()), shape), dtype);
      const Tensor old = from_dlpack(to_dlpack(x)), versioned = from_dlpack(to_dlpack_versioned(x));
      EXPECT_TRUE(equal(old, x) && equal(versioned, x)) << dtype.name();
      if (shape.numel() == 0) continue;
      EXPECT_EQ(old.bytes().data(), x.bytes().data());
      EXPECT_EQ(versioned.bytes().data(), x.bytes().data());
    }
  }
}

TEST(Dlpack, TakesOverWithoutACopyWhereTheLayoutAllows) {
  Foreign foreign;
  {
    const Tensor reversed = from_dlpack(foreign.pointer(), {.reverse = true});
    EXPECT_EQ(reversed.bytes().data(), static_cast<void*>(foreign.values.data()));
    EXPECT_TRUE(equal(reversed, tensor({{1.0f, 4.0f}, {2.0f, 5.0f}, {3.0f, 6.0f}})));
    const Tensor part = slice(reversed, 1, 1, 2);
    EXPECT_EQ(foreign.deleted, 0);
  }
  EXPECT_EQ(foreign.deleted, 1);
  const Tensor same = from_dlpack(foreign.pointer());
  EXPECT_EQ(foreign.deleted, 2);  // copied, so it went back at once
  EXPECT_TRUE(equal(same, tensor({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}})));
}

TEST(Dlpack, ForeignMemoryIsNeverWritten) {
  Foreign foreign;
  foreign.managed.dl_tensor.ndim = 1;
  foreign.shape[0] = 6;
  foreign.strides[0] = 1;
  Tensor x = from_dlpack(foreign.pointer());
  x = std::move(x) + 1.0f;  // would reuse memory of our own
  EXPECT_EQ(foreign.values[0], 1);
  EXPECT_EQ(x.span<float>()[0], 2);
  EXPECT_EQ(foreign.deleted, 1);
}

TEST(Dlpack, StridesOfAllKinds) {
  const auto taken = [](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::uint64_t offset) {
    Foreign foreign;
    foreign.managed.dl_tensor.ndim = static_cast<std::int32_t>(shape.size());
    foreign.managed.dl_tensor.shape = shape.data();
    foreign.managed.dl_tensor.strides = strides.empty() ? nullptr : strides.data();
    foreign.managed.dl_tensor.byte_offset = offset;
    const Tensor x = from_dlpack(foreign.pointer());
    return x.to_vector<float>();
  };
  EXPECT_EQ(taken({3}, {2}, 4), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(taken({3}, {-1}, 8), (std::vector<float>{3, 2, 1}));
  EXPECT_EQ(taken({2, 3}, {}, 0), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(taken({2, 2}, {0, 1}, 0), (std::vector<float>{1, 1, 2, 2}));
  EXPECT_EQ(taken({2, 1, 3}, {-3, 99, -1}, 20), (std::vector<float>{6, 3, 5, 2, 4, 1}));
  EXPECT_EQ(taken({1, 6}, {77, 1}, 0), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(taken({}, {}, 12), (std::vector<float>{4}));
}

TEST(Dlpack, RefusesWhatItCannotTakeAndTheCallerKeepsIt) {
  Foreign foreign;
  const auto change = [&](auto f) {
    Foreign each;
    f(each.managed);
    EXPECT_THROW(from_dlpack(each.pointer()), Error);
    EXPECT_EQ(each.deleted, 0);
  };
  std::int64_t negative[] = {-1, 2}, huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  change([](DLManagedTensorVersioned& m) { m.version.major = 2; });
  change([](DLManagedTensorVersioned& m) { m.dl_tensor.device = {2, 99}; });
  change([](DLManagedTensorVersioned& m) { m.dl_tensor.dtype = {5, 64, 1}; });
  change([](DLManagedTensorVersioned& m) { m.dl_tensor.dtype = {2, 32, 4}; });
  change([](DLManagedTensorVersioned& m) { m.dl_tensor.dtype = {99, 7, 1}; });
  change([](DLManagedTensorVersioned& m) { m.dl_tensor.ndim = 9; });
  change([](DLManagedTensorVersioned& m) { m.dl_tensor.ndim = -1; });
  change([](DLManagedTensorVersioned& m) { m.dl_tensor.shape = nullptr; });
  change([](DLManagedTensorVersioned& m) { m.dl_tensor.data = nullptr; });
  change([](DLManagedTensorVersioned& m) { m.dl_tensor.byte_offset = 1; });
  change([&](DLManagedTensorVersioned& m) { m.dl_tensor.shape = negative; });
  change([&](DLManagedTensorVersioned& m) { m.dl_tensor.shape = huge; });
  for (const int power : {60, 61, 62}) {
    std::int64_t far[] = {std::int64_t{1} << power, 1}, back[] = {1, -(std::int64_t{1} << power)}, sizes[] = {3, 3};
    for (std::int64_t* const strides : {far, back}) {
      change([&](DLManagedTensorVersioned& m) { m.dl_tensor.shape = sizes, m.dl_tensor.strides = strides; });
    }
  }
  change([](DLManagedTensorVersioned& m) { m.dl_tensor.dtype = {6, 8, 1}; });  // bytes of floats are no bools
  EXPECT_THROW(from_dlpack(static_cast<dlpack::ManagedTensor*>(nullptr)), ArgumentError);
  EXPECT_THROW(to_dlpack(Tensor()), ArgumentError);
  foreign.managed.dl_tensor.device = {2, 99};
  tests::expect_contains(tests::message_of<Error>([&] { from_dlpack(foreign.pointer()); }),
                         {"from_dlpack: ", "CUDA:99"});
  tests::FakeDevice device;
  EXPECT_THROW(to_dlpack(detail::empty({2}, f32, &device)), Unsupported);
}

#ifdef SLUICE_TEST_SIMULATED
TEST(Dlpack, TakesOverMemoryOfADevice) {
  setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/../..", 1);
  tests::use_simulated_cuda();
  if (!functional("CUDA")) GTEST_SKIP() << why("CUDA");
  const Device device = get_device("CUDA");
  const Tensor owner = device(from(std::vector<float>{1, 2, 3, 4, 5, 6}));  // stands for memory of another library
  Foreign foreign;
  foreign.managed.dl_tensor.device = {2, 0};
  foreign.managed.dl_tensor.data = owner.rep()->storage->data;
  EXPECT_THROW(from_dlpack(foreign.pointer()), Unsupported);  // in C order
  EXPECT_EQ(foreign.deleted, 0);
  {
    Tensor x = from_dlpack(foreign.pointer(), {.reverse = true});
    EXPECT_EQ(x.device(), device);
    EXPECT_TRUE(equal(cpu(x), tensor({{1.0f, 4.0f}, {2.0f, 5.0f}, {3.0f, 6.0f}})));
    const Tensor y = std::move(x) + 1.0f;
    EXPECT_TRUE(equal(cpu(y), tensor({{2.0f, 5.0f}, {3.0f, 6.0f}, {4.0f, 7.0f}})));
  }
  EXPECT_EQ(foreign.deleted, 1);
  EXPECT_EQ(cpu(owner).to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  foreign.managed.dl_tensor.data = foreign.values.data();  // host memory is none of the device
  EXPECT_THROW(from_dlpack(foreign.pointer(), {.reverse = true}), DeviceError);
  EXPECT_EQ(foreign.deleted, 1);
}
#endif

}  // namespace
}  // namespace sluice
