// Moves between the devices of different backends in one process: the CPU, OpenCL, and CUDA and AMDGPU on the simulated
// drivers, two devices each. Bit for bit, and with every call of a vendor's driver failing once.
#include <gtest/gtest.h>

#include <cstdlib>

#include "sluice/sluice.hpp"
#include "tests/arbitrary.hpp"
#include "tests/processes.hpp"
#include "tests/stream_functions.hpp"
#include "tests/stream_vendor.hpp"

#if defined(SLUICE_CUDA_PLUGIN) && defined(SLUICE_HIP_PLUGIN)
namespace sluice {
namespace {

using tests::arbitrary;
using tests::bytes_of;
using tests::StreamVendor;

void set_environment() {
  setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/../..", 1);
  setenv("POCL_DEVICES", "pthread pthread", 1);
  for (const char* variable : {"VIRTUAL_CUDA_COUNT", "VIRTUAL_HIP_COUNT"}) setenv(variable, "2", 1);
}

/// The CPU and two devices of each backend that is there.
std::vector<Device> all_devices() {
  std::vector<Device> all = {cpu_device()};
  for (const char* backend : {"OpenCL", "CUDA", "AMDGPU"}) {
    if (!functional(backend)) continue;
    for (int n = 0; n < 2; ++n) all.push_back(get_device(backend, n));
  }
  return all;
}

TEST(MovesAcross, EveryTypeComesBackBitForBitFromEveryPairOfDevices) {
  set_environment();
  tests::use_simulated_cuda();
  tests::use_simulated_hip();
  const std::vector<Device> devices = all_devices();
  EXPECT_GE(devices.size(), 5U);
  for (const DType dtype : tests::kAllTypes) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{4, 3, 2}, Shape{1001}}) {
      const Tensor original = arbitrary(shape, dtype, 1);
      for (const Device& from : devices) {
        const Tensor there = from(original);
        for (const Device& to : devices) {
          const Tensor moved = there | to;
          EXPECT_EQ(moved.device(), to);
          EXPECT_EQ(moved.dtype(), dtype);
          EXPECT_EQ(moved.shape(), shape);
          EXPECT_EQ(bytes_of(moved), bytes_of(original)) << from << " -> " << to;
        }
      }
    }
  }
}

// More than the pieces in which such a move goes.
TEST(MovesAcross, LargeTensorsKeepTheirBits) {
  set_environment();
  tests::use_simulated_cuda();
  tests::use_simulated_hip();
  const Tensor original = arbitrary({3'000'001}, f32, 2);
  Tensor x = original;
  for (const Device& device : all_devices()) x = x | device;
  EXPECT_EQ(bytes_of(x), bytes_of(original));
}

struct Case {
  const char* name;
  Tensor source;
  Device to;
};

class MovesUnderFaults : public ::testing::TestWithParam<const StreamVendor*> {
 protected:
  const StreamVendor& vendor() const { return *GetParam(); }
  bool is_cuda() const { return vendor().backend == std::string("CUDA"); }
  std::vector<std::string> functions() const { return is_cuda() ? tests::cuda_functions() : tests::hip_functions(); }
  /// How many faults the last plan gave.
  int set_faults(const std::string& plan) const {
    return tests::call_driver(driver_, is_cuda() ? "cuSimulatedFaults" : "hipSimulatedFaults", plan.c_str());
  }
  void open() {
    set_environment();
    driver_ = tests::use_simulated_driver(vendor().backend);
    for (int n = 0; n < 2; ++n) devices_.push_back(get_device(vendor().backend, n));
  }
  const Device& device(std::size_t n) const { return devices_[n]; }

  /// The moves that touch a device of the vendor's.
  std::vector<Case> cases(bool with_opencl) const {
    const Tensor small = arbitrary({1001}, f32, 3), large = arbitrary({1'200'000}, f32, 4);
    std::vector<Case> all = {{"from the CPU", small, device(0)},
                             {"to the CPU", small | device(0), cpu_device()},
                             {"to another one", small | device(0), device(1)}};
    if (!with_opencl || !functional("OpenCL")) return all;
    const Device opencl = get_device("OpenCL");
    all.push_back({"to OpenCL", small | device(0), opencl});
    all.push_back({"from OpenCL", small | opencl, device(0)});
    all.push_back({"to OpenCL in pieces", large | device(0), opencl});
    all.push_back({"from OpenCL in pieces", large | opencl, device(0)});
    return all;
  }
  std::size_t in_use() const { return memory_stats(device(0)).in_use + memory_stats(device(1)).in_use; }

  /// Moves with a plan of faults, from a thread whose current device is 1: what came, nothing if it failed with a
  /// reason.
  Tensor move_under(const std::string& plan, const Case& move, int& given) const {
    vendor().choose(driver_, 1);
    const std::uint64_t current = vendor().current(driver_);
    const std::string what = std::string(move.name) + ", " + plan;
    Tensor moved;
    set_faults(plan);
    try {
      moved = move.source | move.to;
    } catch (const DeviceError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(vendor().backend + std::string(" device ")), std::string::npos) << what << ": " << text;
      const bool has_cause = text.find("(1)") != std::string::npos || text.find("(700)") != std::string::npos;
      EXPECT_TRUE(has_cause || text.find("the device was lost") != std::string::npos) << what << ": " << text;
    }
    given = set_faults("");
    EXPECT_EQ(vendor().current(driver_), current) << what << ": another device is current";
    return moved;
  }
  /// Whether a fault hit the move.
  bool survives(const std::string& plan, const Case& move, const std::vector<std::byte>& bits) const {
    const std::string what = std::string(move.name) + ", " + plan;
    empty_cache(device(0));  // so that memory is asked for
    const std::size_t before = in_use();
    int given = 0;
    const Tensor moved = move_under(plan, move, given);
    if (moved) {
      EXPECT_EQ(bytes_of(moved), bits) << what << ": it did not fail, so it must be right";
    }
    EXPECT_EQ(bytes_of(move.source), bits) << what << ": the source is not what it was";
    const std::size_t of_result = moved && moved.device().backend() == vendor().backend ? bits.size() : 0;
    EXPECT_LE(in_use(), before + of_result + of_result / 8 + 4096) << what << ": memory is lost";
    return given > 0;
  }

  /// In a process of its own, where a device may be lost: 0 if all is well, 2 if the plan hit nothing.
  int lose_a_device(const std::string& plan) {
    open();
    for (const Case& move : cases(false)) {
      int given = 0;
      const std::vector<std::byte> bits = bytes_of(move.source);
      const Tensor moved = move_under(plan, move, given);
      if (given == 0) continue;
      expect_others_work(plan);
      if (moved && moved.device() == cpu_device()) {
        EXPECT_EQ(bytes_of(moved), bits) << plan;
      }
      return HasFailure() ? 1 : 0;
    }
    return HasFailure() ? 1 : 2;
  }
  void expect_others_work(const std::string& plan) const {
    const Tensor x = arbitrary({100}, i32, 5);
    int working = 0;
    for (std::size_t n = 0; n < 2; ++n) {
      try {
        working += bytes_of((x | device(n)) + 1) == bytes_of(x + 1) ? 1 : 0;
      } catch (const DeviceLost&) {  // this is the one
      }
    }
    EXPECT_GE(working, 1) << plan << ": the other device works";
  }

  void* driver_ = nullptr;
  std::vector<Device> devices_;
};

// Code 1, an invalid value, says nothing of the device: it goes on.
TEST_P(MovesUnderFaults, ACallThatFailsLeavesEverythingAsItWas) {
  open();
  int faults = 0;
  for (const Case& move : cases(true)) {
    const std::vector<std::byte> bits = bytes_of(move.source);
    for (const std::string& function : functions()) {
      int call = 1;
      while (survives(function + "=1@" + std::to_string(call), move, bits)) ASSERT_LT(++call, 200) << function;
      faults += call - 1;
    }
  }
  EXPECT_GT(faults, 40) << "the plan hits the calls of the moves";
}

// Code 700, an illegal address, loses the device.
TEST_P(MovesUnderFaults, ALostDeviceLeavesTheOthers) {
  int faults = 0;
  for (const std::string& function : functions()) {
    for (int call = 1, code = 0; code != 2; ++call, ++faults) {
      const std::string plan = function + "=700@" + std::to_string(call);
      code = testing::child_code([&] { return lose_a_device(plan); });
      ASSERT_TRUE(code == 0 || code == 2) << plan << ": the child says why";
      ASSERT_LT(call, 200) << plan;
    }
  }
  EXPECT_GT(faults, 40);
}

INSTANTIATE_TEST_SUITE_P(Of, MovesUnderFaults, ::testing::Values(&tests::kCuda, &tests::kHip),
                         [](auto& info) { return std::string(info.param->backend); });

}  // namespace
}  // namespace sluice
#else
TEST(MovesAcross, Backends) { GTEST_SKIP() << "built without the backends"; }
#endif
