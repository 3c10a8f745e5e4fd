// What is used where the standard library has no std::from_chars for floating numbers, held against it.
#include "src/core/parse_number.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>

namespace sluice::detail {
namespace {

#if defined(__cpp_lib_to_chars)

template <class T, class Bits>
void expect_same(const std::string& text) {
  T expected = 77, got = 77;
  const char *const first = text.data(), *const last = first + text.size();
  const auto [end, error] = std::from_chars(first, last, expected);
  const auto [got_end, got_error] = parse_with_strtod(first, last, got);
  EXPECT_EQ(got_error, error) << text;
  EXPECT_EQ(got_end - first, end - first) << text;
  EXPECT_EQ(std::bit_cast<Bits>(got), std::bit_cast<Bits>(expected)) << text;
}

TEST(ParseNumber, ReadsWhatFromCharsReads) {
  for (const std::string text : {"0",
                                 "-0",
                                 "1",
                                 "-1.5",
                                 ".5",
                                 "5.",
                                 "1e3",
                                 "1E-3",
                                 "1e",
                                 "1e+",
                                 "12abc",
                                 "",
                                 " 1",
                                 "\t1",
                                 "+1",
                                 "-+1",
                                 "--1",
                                 "0x10",
                                 "-0x1p3",
                                 "x",
                                 "inf",
                                 "-inf",
                                 "infinity",
                                 "infinit",
                                 "nan",
                                 "-nan",

                                 "1e400",
                                 "-1e400",
                                 "1e40",
                                 "1e-400",
                                 "-1e-60",
                                 "1e-40",
                                 "5e-324",
                                 "4.9e-45",
                                 "3.4028235e38",
                                 "3.4028236e38",
                                 "1,5",
                                 "1_0",
                                 "0.1",
                                 "16777217",
                                 "9007199254740993",
                                 "123456789012345678901234567890",
                                 "1.7976931348623157e308"}) {
    expect_same<float, std::uint32_t>(text);
    expect_same<double, std::uint64_t>(text);
  }
}

TEST(ParseNumber, ReadsNoFurtherThanItIsTold) {
  const std::string text = "12345";
  double value = 0;
  EXPECT_EQ(parse_with_strtod(text.data(), text.data() + 2, value).ptr, text.data() + 2);
  EXPECT_EQ(value, 12);
}

#endif

}  // namespace
}  // namespace sluice::detail
