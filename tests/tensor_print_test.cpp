#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "fake_device.hpp"
#include "sluice/tensor.hpp"
#include "src/core/number_text.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice {
namespace {

std::string text_of(const Tensor& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

Tensor on(const Tensor& host, tests::FakeDevice& device) {
  const Tensor x = detail::empty(host.shape(), host.dtype(), &device);
  device.write(*x.rep()->storage, 0, host.bytes().data(), host.bytes().size());
  return x;
}

// What Julia 1.10 shows for these numbers in an array.
TEST(NumberText, IsJuliasCompactForm) {
  const std::pair<double, const char*> kRows[] = {{0, "0.0"},
                                                  {1, "1.0"},
                                                  {-0.5, "-0.5"},
                                                  {0.1, "0.1"},
                                                  {1.0 / 3, "0.333333"},
                                                  {2.0 / 3, "0.666667"},
                                                  {123.456789, "123.457"},
                                                  {100000, "100000.0"},
                                                  {999999, "999999.0"},
                                                  {1e6, "1.0e6"},
                                                  {1234567, "1.23457e6"},
                                                  {0.0001, "0.0001"},
                                                  {0.00012345678, "0.000123457"},
                                                  {0.00001, "1.0e-5"},
                                                  {-2.5e-7, "-2.5e-7"},
                                                  {1e100, "1.0e100"},
                                                  {9.9999999, "10.0"},
                                                  {-0.0, "-0.0"}};
  for (const auto& [value, text] : kRows) EXPECT_EQ(detail::number_text(value), text);
  EXPECT_EQ(detail::number_text(0.1f), "0.1");
  EXPECT_EQ(detail::number_text(std::nan("")), "NaN");
  EXPECT_EQ(detail::number_text(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(detail::number_text(Float16(0.1f)), "0.1");
  EXPECT_EQ(detail::number_text(Float16(1000.5f)), "1000.5");
  EXPECT_EQ(detail::number_text(BFloat16(3.14f)), "3.14");
  EXPECT_EQ(detail::number_text(true), "1");
  EXPECT_EQ(detail::number_text(std::int8_t{-5}), "-5");
}

TEST(TensorPrint, MatricesAlignTheirColumnsOnThePoint) {
  EXPECT_EQ(text_of(tensor({{1.0, 10.25}, {-0.5, 2.0}, {100.125, 3e8}})),
            "3×2 Tensor f32:\n"
            "   1.0    10.25\n"
            "  -0.5     2.0\n"
            " 100.125   3.0e8");
  EXPECT_EQ(text_of(tensor({{1, -20}, {300, 4}})), "2×2 Tensor i32:\n   1  -20\n 300    4");
}

TEST(TensorPrint, VectorsScalarsAndEmptyOnes) {
  EXPECT_EQ(text_of(tensor({1.5, std::nan(""), 0.25})), "3-element Tensor f32:\n   1.5\n NaN\n   0.25");
  EXPECT_EQ(text_of(from(std::vector<bool>{true, false})), "2-element Tensor bool:\n 1\n 0");
  EXPECT_EQ(text_of(scalar(2.5)), "0-dimensional Tensor f64:\n2.5");
  EXPECT_EQ(text_of(zeros({0, 3})), "0×3 Tensor f32");
  EXPECT_EQ(text_of(zeros({0})), "0-element Tensor f32");
  EXPECT_EQ(text_of(Tensor()), "empty Tensor");
}

TEST(TensorPrint, LongVectorsAreCutInTheMiddle) {
  std::string expected = "100-element Tensor i64:";
  for (int i = 0; i < 10; ++i) expected += "\n  " + std::to_string(i);
  expected += "\n  ⋮";
  for (int i = 90; i < 100; ++i) expected += "\n " + std::to_string(i);
  EXPECT_EQ(text_of(arange(100)), expected);
  EXPECT_EQ(text_of(arange(20)).find("⋮"), std::string::npos);
}

TEST(TensorPrint, WideMatricesAreCutInBothDirections) {
  EXPECT_EQ(text_of(zeros({2, 11}, u8)),
            "2×11 Tensor u8:\n 0  0  0  0  0  …  0  0  0  0  0\n 0  0  0  0  0     0  0  0  0  0");
  const std::string both = text_of(zeros({30, 30}, u8));
  EXPECT_NE(both.find("\n ⋮              ⋱  ⋮\n"), std::string::npos) << both;
}

TEST(TensorPrint, HigherRanksAreSlices) {
  const Tensor x = tensor({{{0, 1}, {10, 11}}, {{100, 101}, {110, 111}}});
  EXPECT_EQ(text_of(x),
            "2×2×2 Tensor i32:\n"
            "[:, :, 0] =\n"
            "   0   10\n"
            " 100  110\n"
            "\n"
            "[:, :, 1] =\n"
            "   1   11\n"
            " 101  111");
  const std::string many = text_of(zeros({1, 1, 3, 3}, u8));
  EXPECT_EQ(many,
            "1×1×3×3 Tensor u8:\n[:, :, 0, 0] =\n 0\n\n[:, :, 1, 0] =\n 0\n\n⋮\n\n"
            "[:, :, 1, 2] =\n 0\n\n[:, :, 2, 2] =\n 0");
}

TEST(TensorPrint, ShowsViewsFromTheirOffset) {
  EXPECT_EQ(text_of(detail::view(arange(6), 4, Shape{2})), "2-element Tensor i64:\n 4\n 5");
}

TEST(TensorPrint, NamesTheDeviceAndReadsLittleFromIt) {
  tests::FakeDevice device(3);
  EXPECT_EQ(text_of(on(tensor({1.0, 2.0}), device)), "2-element Tensor f32 on CUDA device 3:\n 1.0\n 2.0");
  EXPECT_EQ(text_of(on(zeros({0}), device)), "0-element Tensor f32 on CUDA device 3");
  for (const Shape& shape : {Shape{100000}, Shape{500, 400}, Shape{30, 30, 4, 5}, Shape{1, 2, 3, 4, 5}}) {
    for (const DType dtype : {f16, f32, f64}) {
      const Tensor host = rand(shape, dtype, {1, 1});
      const Tensor there = on(host, device);
      device.bytes_read = 0;
      const std::string text = text_of(there);
      EXPECT_LE(device.bytes_read, 1024u) << shape;
      EXPECT_EQ(text.substr(text.find('\n')), text_of(host).substr(text_of(host).find('\n')));
    }
  }
}

}  // namespace
}  // namespace sluice
