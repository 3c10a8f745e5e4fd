#include <gtest/gtest.h>

#include <numeric>

#include "gzip.hpp"
#include "sluice/ops.hpp"
#include "sluice/readers.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::gzip;

/// The bytes of a number, most significant first.
std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string heading(std::uint8_t type, const std::vector<std::uint32_t>& sizes) {
  std::string text{0, 0, static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes) text += big_endian(size, 4);
  return text;
}

Tensor parse(const std::string& content, const IdxOptions& options = {}) {
  return parse_idx(std::as_bytes(std::span(content)), "x.idx", options);
}

void expect_message(const std::string& content, const std::string& expected, const IdxOptions& options = {}) {
  try {
    parse(content, options);
    ADD_FAILURE() << "no error; expected " << expected;
  } catch (const FileError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(expected), std::string::npos) << message;
    EXPECT_EQ(message.rfind("x.idx: ", 0), 0u) << message;
  }
}

TEST(Idx, SizesAreReversed) {
  // Two images of 3 rows and 4 columns.
  std::string content = heading(0x08, {2, 3, 4});
  for (int i = 0; i < 24; ++i) content += static_cast<char>(200 + i);
  for (const std::string& each : {content, gzip(content)}) {
    const Tensor x = parse(each);
    EXPECT_EQ(x.shape(), (Shape{4, 3, 2}));
    EXPECT_EQ(x.dtype(), u8);
    std::vector<std::uint8_t> expected(24);
    std::iota(expected.begin(), expected.end(), std::uint8_t{200});
    EXPECT_EQ(x.to_vector<std::uint8_t>(), expected);
  }
}

TEST(Idx, EveryType) {
  EXPECT_EQ(parse(heading(0x09, {2}) + "\xff\x01").to_vector<std::int8_t>(), (std::vector<std::int8_t>{-1, 1}));
  EXPECT_EQ(parse(heading(0x0B, {2}) + big_endian(0xfffe, 2) + big_endian(258, 2)).to_vector<std::int16_t>(),
            (std::vector<std::int16_t>{-2, 258}));
  EXPECT_EQ(parse(heading(0x0C, {1}) + big_endian(0x01020304, 4)).item<std::int32_t>(), 0x01020304);
  EXPECT_EQ(parse(heading(0x0D, {1}) + big_endian(0x40490fdb, 4)).item<float>(), 3.14159274f);
  EXPECT_EQ(parse(heading(0x0E, {1}) + big_endian(0x400921fb54442d18, 8)).item<double>(), 3.141592653589793);
  EXPECT_EQ(parse(heading(0x08, {}) + "\x07").item<std::uint8_t>(), 7);
  EXPECT_EQ(parse(heading(0x08, {0, 28, 28})).shape(), (Shape{28, 28, 0}));
}

TEST(Idx, FaultsNameTheByte) {
  const std::string good = heading(0x08, {2, 3}) + "abcdef";
  EXPECT_EQ(parse(good).numel(), 6);
  expect_message("", "has 0 bytes");
  expect_message(good.substr(0, 3), "has 3 bytes");
  expect_message(good.substr(0, 9), "ends at byte 9, within its 2 sizes");
  expect_message(good.substr(0, 15), "ends at byte 15; its sizes ask for 6 bytes of elements from byte 12 on");
  expect_message(good + "x", "goes on after byte 18");
  expect_message("PK" + good.substr(2), "begins with the bytes 80 75");
  expect_message(heading(0x0A, {1}) + "a", "byte 2, the element type, is 0x0a");
  expect_message(heading(0x08, {1, 1, 1, 1, 1, 1, 1, 1, 1}) + "a", "byte 3 says 9 dimensions");
  expect_message(gzip(good).substr(0, 20), "cut off");
}

TEST(Idx, SizesThatLie) {
  const std::uint32_t huge = 0xffffffff;
  expect_message(heading(0x08, {huge, huge, huge, huge}), "more than 1073741824 bytes");
  expect_message(heading(0x0E, {0, huge, huge, huge}), "more than 1073741824 bytes");
  expect_message(heading(0x08, {1u << 29}) + "a", "ends at byte 9");
  expect_message(gzip(heading(0x08, {1u << 29}) + "a"), "ends at byte 9");
  expect_message(heading(0x08, {5}) + "abcde", "more than 4 bytes, the limit", {.max_bytes = 4});
  EXPECT_EQ(parse(heading(0x08, {5}) + "abcde", {.max_bytes = 5}).numel(), 5);
  EXPECT_EQ(parse(heading(0x08, {5}) + "abcde", {.max_bytes = INT64_MAX}).numel(), 5);
}

TEST(Idx, Mnist) {
  const auto images = tests::test_data("t10k-images-idx3-ubyte.gz");
  if (!images) GTEST_SKIP() << "SLUICE_TEST_DATA is not set";
  const Tensor x = read_idx(*images);
  EXPECT_EQ(x.shape(), (Shape{28, 28, 10000}));
  EXPECT_EQ(sum(x).item<std::int64_t>(), 264923200);  // by awk
  const Tensor y = read_idx(*tests::test_data("t10k-labels-idx1-ubyte.gz"));
  EXPECT_EQ(y.shape(), (Shape{10000}));
  EXPECT_EQ(sum(y).item<std::int64_t>(), 44434);
}

}  // namespace
}  // namespace sluice
