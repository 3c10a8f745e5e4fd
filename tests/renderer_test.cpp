// The text of kernels in every dialect, as a backend that records gets it. What compilers say of the texts is tested in
// kernel_gates_test, what the kernels compute in plugin_kernels_test.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "recording_device.hpp"

namespace sluice {
namespace {

using tests::launched_bytes;
using tests::recorded_texts;
using tests::recording_device;
using tests::texts_of_everything;

/// The text as the preprocessor leaves it where SLUICE_F64 is not defined, as far as that name goes.
std::string without_f64(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  int depth = 0;  // of conditions inside the one that is left out; 0 is outside
  for (std::string line; std::getline(lines, line);) {
    if (depth > 0) {
      if (line.starts_with("#if")) ++depth;
      if (line.starts_with("#endif") || (depth == 1 && line.starts_with("#else"))) --depth;
    } else if (line.starts_with("#ifdef SLUICE_F64")) {
      depth = 1;
    } else {
      result += line + '\n';
    }
  }
  return result;
}

TEST(Text, HasNoDoubleWhereThereIsNone) {
  for (const std::uint32_t dialect : {SLUICE_DIALECT_OPENCL, SLUICE_DIALECT_METAL}) {
    for (const std::string& text : texts_of_everything(dialect, false)) {
      EXPECT_EQ(without_f64(text).find("double "), std::string::npos) << text;
      EXPECT_EQ(text.find("#define SLUICE_F64"), std::string::npos);
    }
  }
}

TEST(Text, OfAnF64ProgramIsRefusedWithoutDoubles) {
  const Device device = recording_device(SLUICE_DIALECT_METAL, false);
  const Tensor x(zeros({3}, f32, device));
  EXPECT_THROW(cast(x, f64), Unsupported);
  EXPECT_TRUE(recorded_texts.empty());
}

TEST(Text, OfAnUnknownDialectIsRefused) {
  const Device device = recording_device(99, true);
  EXPECT_THROW(zeros({3}, f32, device) + 1, Unsupported);
}

TEST(Text, DoesNotDependOnNumbersAndSizes) {
  const Device device = recording_device(SLUICE_DIALECT_CUDA, true);
  for (const std::int64_t size : {3, 4, 1000}) {
    const Tensor x = zeros({size, 2}, f32, device), row = zeros({size}, f32, device);
    for (const double rate : {0.1, 0.2}) map([rate](auto a, auto b) { return a * rate + b; }, x, row);
    sum(x, {0}), matmul(x, x, {.transpose_a = true}), softmax(x), permute(x, {1, 0});
  }
  // Names of structures never differ, so neither may any text be there twice.
  EXPECT_EQ(recorded_texts.size(), std::set<std::string>(recorded_texts.begin(), recorded_texts.end()).size());
  EXPECT_LE(recorded_texts.size(), 8U);
}

TEST(Text, UsesWideIndicesOnlyWhereTheyAreNeeded) {
  const Device device = recording_device(SLUICE_DIALECT_CUDA, true);
  // Never touched: the recorder's memory is asked of the system, which gives it when it is written.
  zeros({3}, u8, device) + 1;
  const std::size_t narrow = recorded_texts.size();
  for (const std::string& text : recorded_texts) EXPECT_NE(text.find("typedef k_u32 k_index"), std::string::npos);
  std::array inputs{detail::empty({(std::int64_t{1} << 31) + 5}, u8, device.impl())};
  detail::run_map1(detail::identity_program(), {}, inputs);
  ASSERT_GT(recorded_texts.size(), narrow);
  EXPECT_NE(recorded_texts.back().find("typedef k_u64 k_index"), std::string::npos);
}

TEST(Text, ValuesFillWholeWords) {
  launched_bytes.clear();
  texts_of_everything(SLUICE_DIALECT_CUDA, true);
  ASSERT_FALSE(launched_bytes.empty());
  for (const std::uint32_t bytes : launched_bytes) EXPECT_EQ(bytes % 8, 0U);
}

}  // namespace
}  // namespace sluice
