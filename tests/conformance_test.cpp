// The conformance check finds a device that computes wrongly, whichever of its functions it is, and passes one that
// computes well. What it judges with is held against known numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kept.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/device/allocator.hpp"
#include "tools/sluice/conformance_gradient.hpp"
#include "tools/sluice/conformance_kernels.hpp"
#include "tools/sluice/conformance_rows.hpp"

namespace sluice::conformance {
namespace {

using detail::AxisCall;
using detail::CopyCall;
using detail::IndexCall;
using detail::MapCall;
using detail::Operand;
using detail::ProductCall;
using detail::ReduceCall;
using detail::SoftmaxKind;
using detail::Storage;

/// Computes with the CPU, in memory that counts as its own; the function called `wrong` spoils the first element of
/// what it makes by sixteen units of the last place, or a byte.
class SpoilingDevice final : public detail::DeviceImpl {
 public:
  explicit SpoilingDevice(std::string wrong) : wrong_(std::move(wrong)) {}

  std::string_view backend() const override { return "Spoiling"; }
  int id() const override { return 0; }
  std::string name() const override { return "Spoiling"; }
  bool is_host() const override { return false; }

  Storage* allocate(std::size_t bytes) override { return detail::allocate_host(this, bytes); }
  void free(Storage* storage) noexcept override { detail::free_host(storage); }
  void write(Storage& to, std::size_t offset, const void* from, std::size_t bytes) override {
    cpu().write(to, offset, from, bytes);
    if (wrong_ == "moves" && bytes > 0) static_cast<std::byte*>(to.data)[offset + bytes - 1] ^= std::byte{0x10};
  }
  void read(const Storage& from, std::size_t offset, void* to, std::size_t bytes) override {
    cpu().read(from, offset, to, bytes);
  }

  void map(const MapCall& call) override {
    cpu().map(call);
    spoil("map", call.outputs.back(), call.space.numel());
  }
  void reduce(const ReduceCall& call) override {
    cpu().reduce(call);
    spoil("reduce", call.output, call.space.numel());
  }
  void softmax(const AxisCall& call, SoftmaxKind kind) override {
    cpu().softmax(call, kind);
    spoil("softmax", call.output, call.length);
  }
  void moments(const AxisCall& call, const Operand& variance, std::int64_t correction) override {
    cpu().moments(call, variance, correction);
    spoil("moments", variance, call.inner * call.outer);
  }
  void argreduce(const AxisCall& call, bool greatest) override {
    cpu().argreduce(call, greatest);
    spoil("argreduce", call.output, call.inner * call.outer);
  }
  void copy(const CopyCall& call) override {
    cpu().copy(call);
    spoil("copy", call.to, call.space.numel());
  }
  void gather(const IndexCall& call) override {
    cpu().gather(call);
    spoil("gather", call.output, call.column * call.count);
  }
  void scatter_add(const IndexCall& call) override {
    cpu().scatter_add(call);
    spoil("scatter_add", call.output, call.column * call.bound);
  }
  void product(const ProductCall& call) override {
    cpu().product(call);
    spoil("product", call.c, call.m * call.n * call.batch);
  }
  void uniform(const Operand& output, std::int64_t count, RandomKey key) override {
    cpu().uniform(output, count, key);
    spoil("uniform", output, count);
  }

 private:
  static detail::DeviceImpl& cpu() { return *detail::cpu_device_impl(); }
  void spoil(const char* name, const Operand& output, std::int64_t elements) const {
    if (wrong_ == name && elements > 0) *output.host() ^= std::byte{0x10};
  }

  const std::string wrong_;
};

int failures(const KernelCheck& kernel, const std::string& wrong) {
  // Tensors may outlive the test.
  auto* const device = tests::kept(new SpoilingDevice(wrong));
  Check check(Device(device), false);
  kernel.run(check);
  for (const Finding& finding : check.report().findings()) {
    for (const std::string& failure : finding.failures) {
      if (wrong.empty()) ADD_FAILURE() << finding.operation << " " << finding.dtype << " " << failure;
    }
  }
  EXPECT_GT(check.report().passed() + check.report().failed(), 0);
  return check.report().failed();
}

class EveryKernel : public testing::TestWithParam<KernelCheck> {};
INSTANTIATE_TEST_SUITE_P(Conformance, EveryKernel, testing::ValuesIn(kernel_checks().begin(), kernel_checks().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(EveryKernel, PassesWhenRightAndFailsWhenSpoiled) {
  EXPECT_EQ(failures(GetParam(), ""), 0);
  EXPECT_GT(failures(GetParam(), std::string(GetParam().name)), 0);
}

TEST(ConformanceJudge, CountsUnitsOfTheLastPlace) {
  const Judge f32_judge{f32}, f16_judge{f16}, i8_judge{i8};
  EXPECT_EQ(f32_judge.error(1 + 0x1p-22L, 1), 2);
  EXPECT_EQ(f32_judge.error(1 + 0x1p-22L, 1, 4), 0.5) << "units are taken at the magnitude";
  EXPECT_EQ(f16_judge.error(1 + 0x1p-10L, 1), 1);
  EXPECT_EQ(f16_judge.error(0x1p-24L, 0), 1) << "denormals are a unit apart";
  EXPECT_EQ(i8_judge.error(3, 5), 2);
  EXPECT_EQ(f32_judge.error(-0.0L, 0), 0);
}

TEST(ConformanceJudge, TellsSpecialNumbersFromOthers) {
  const Judge judge{f32};
  EXPECT_EQ(judge.error(NAN, NAN), 0);
  EXPECT_EQ(judge.error(HUGE_VALL, HUGE_VALL), 0);
  EXPECT_EQ(judge.error(1, NAN), HUGE_VAL);
  EXPECT_EQ(judge.error(NAN, 1), HUGE_VAL);
  EXPECT_EQ(judge.error(HUGE_VALL, -HUGE_VALL), HUGE_VAL);
  EXPECT_EQ(judge.error(3.4e38L, HUGE_VALL), HUGE_VAL);
  EXPECT_EQ(judge.error(HUGE_VALL, 1e38L), HUGE_VAL);
  EXPECT_EQ(judge.error(HUGE_VALL, 1e39L), 0) << "beyond the largest float";
  EXPECT_LE(judge.error(HUGE_VALL, 3.4028235e38L), 1);
  EXPECT_GT(judge.error(0, 1e-39L), 4);
  EXPECT_EQ((Judge{f32, true}.error(0, 1e-39L)), 0) << "flushed";
  EXPECT_GT((Judge{f32, true}.error(0, 1e-30L)), 4);
}

TEST(ConformanceValues, RoundAsTheTypesAreDefined) {
  EXPECT_EQ(rounded(65519, f16), 65504);
  EXPECT_EQ(rounded(65520, f16), HUGE_VALL);
  EXPECT_EQ(rounded(2049, f16), 2048) << "ties go to even";
  EXPECT_EQ(rounded(2051, f16), 2052);
  EXPECT_EQ(rounded(1 + 0x1p-8L, bf16), 1);
  EXPECT_EQ(rounded(-3.9L, i8), -3);
  EXPECT_EQ(rounded(300, u8), 255);
  EXPECT_EQ(rounded(NAN, i32), 0);
  EXPECT_EQ(rounded(-0.5L, boolean), 1);
}

TEST(ConformanceValues, BitsAreThoseOfTheTypes) {
  const Tensor x = tensor_of({{4}, {1, -2, 0x1p-24L, HUGE_VALL}}, f16);
  const std::uint16_t halves[] = {0x3C00, 0xC000, 0x0001, 0x7C00};
  EXPECT_TRUE(equal(x, from_bytes(halves, sizeof halves, {4}, f16)));
  EXPECT_EQ(array_of(x).at, (std::vector<Real>{1, -2, 0x1p-24L, HUGE_VALL}));
  const std::uint16_t words[] = {0x3F80, 0x4049, 0x8000};
  EXPECT_EQ(array_of(from_bytes(words, sizeof words, {3}, bf16)).at, (std::vector<Real>{1, 3.140625, -0.0L}));
  EXPECT_EQ(integers_of(tensor_of_integers({-1, 256, 127}, u8)), (std::vector<std::int64_t>{255, 0, 127}));
}

TEST(ConformanceGradient, DifferencesAreExactToManyDigitsAndRefuseKinks) {
  const auto slope = difference([](Real step) { return std::sin(1 + step); });
  ASSERT_TRUE(slope.has_value());
  EXPECT_NEAR(static_cast<double>(*slope - std::cos(Real(1))), 0, 1e-14);
  EXPECT_FALSE(difference([](Real step) { return std::fabs(step); }).has_value());
  EXPECT_FALSE(difference([](Real step) { return std::floor(step); }).has_value());
}

TEST(ConformanceRows, EveryRowHasAReferenceForIntegersOrNeedsNone) {
  for (const OpReference& row : op_references()) {
    if (row.kind == RowKind::floating) continue;
    EXPECT_NO_THROW(integer_value(row.op, 5, 3, 2, i32)) << row.name;
  }
}

}  // namespace
}  // namespace sluice::conformance
