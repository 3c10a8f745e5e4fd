#include <gtest/gtest.h>

#include <cmath>

#include "gzip.hpp"
#include "sluice/ops.hpp"
#include "sluice/readers.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::gzip;

Tensor parse(const std::string& text, const CsvOptions& options = {}) {
  return parse_csv(std::as_bytes(std::span(text)), "x.csv", options);
}

/// The message of the FileError.
std::string message_of(const std::string& text, const CsvOptions& options = {}) {
  try {
    parse(text, options);
  } catch (const FileError& error) {
    return error.what();
  }
  return "no FileError";
}

void expect_message(const std::string& text, const std::string& expected, const CsvOptions& options = {}) {
  const std::string message = message_of(text, options);
  EXPECT_NE(message.find(expected), std::string::npos) << message;
  EXPECT_EQ(message.rfind("x.csv: ", 0), 0u) << message;
}

TEST(Csv, RowsAreObservations) {
  const Tensor x = parse("1,2,3\n4,5.5,-6e1\n");
  EXPECT_EQ(x.shape(), (Shape{3, 2}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5.5, -60}));
}

TEST(Csv, WaysToWriteIt) {
  const std::vector<float> expected{1, 2, 3, 4};
  for (const std::string text : {"1,2\n3,4", "1,2\r\n3,4\r\n", "\n1,2\n\n3,4\n\n", " 1 ,\t2\n3 , +4 \n",
                                 "\xEF\xBB\xBF"
                                 "1,2\n3,4\n",
                                 "a,b\n1,2\n3,4\n", "\"1\",2\n\"3\" , \"4\"\n", "\"a,\"\"b\"\"\",c\n1,2\n3,4\n"}) {
    const Tensor x = parse(text);
    EXPECT_EQ(x.shape(), (Shape{2, 2})) << text;
    EXPECT_EQ(x.to_vector<float>(), expected) << text;
  }
  for (const char delimiter : {';', '\t', ' ', '|'}) {
    const std::string d(1, delimiter);
    EXPECT_EQ(parse("1" + d + "2\n3" + d + "4\n", {.delimiter = delimiter}).to_vector<float>(), expected) << d;
  }
  EXPECT_EQ(parse("1\n2\n").shape(), (Shape{1, 2}));
}

TEST(Csv, Headers) {
  EXPECT_EQ(parse("a,b\n").shape(), (Shape{2, 0}));
  EXPECT_EQ(parse("1,2\n3,4\n", {.header = CsvHeader::present}).to_vector<float>(), (std::vector<float>{3, 4}));
  expect_message("a,2\n3,4\n", "line 1, column 1: expected a number", {.header = CsvHeader::none});
}

TEST(Csv, ElementTypes) {
  EXPECT_EQ(parse("1,-9223372036854775808,9223372036854775807", {.dtype = i64}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, INT64_MIN, INT64_MAX}));
  EXPECT_EQ(parse("0,255", {.dtype = u8}).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 255}));
  EXPECT_EQ(parse("0,1", {.dtype = boolean}).to_vector<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ(parse("0.1", {.dtype = f64}).item<double>(), 0.1);
  EXPECT_EQ(parse("0.1").item<float>(), 0.1f);
  EXPECT_EQ(parse("0.5", {.dtype = f16}).item<Float16>(), Float16(0.5f));
  EXPECT_EQ(parse("1e-60,-1e-60").to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_TRUE(std::isnan(parse("nan").item<float>()));
  EXPECT_EQ(parse("-inf").item<float>(), -INFINITY);
  expect_message("1\n256\n", "line 2, column 1: expected an integer that u8 holds, found \"256\"", {.dtype = u8});
  expect_message("1\n1.5\n", "expected an integer that i64 holds", {.dtype = i64});
  expect_message("1\n2\n", "expected 0 or 1", {.dtype = boolean});
  expect_message("1\n1e60\n", "expected a number that f32 holds");
  expect_message("1\n1e6\n", "expected a number that f16 holds", {.dtype = f16});
}

TEST(Csv, FaultsNameLineAndColumn) {
  expect_message("1,2\n3,four\n", "line 2, column 2: expected a number that f32 holds, found \"four\"");
  expect_message("1,2\n3,\n", "line 2, column 2: expected a number that f32 holds, found \"\"");
  expect_message("1,2\n\n3,4,5\n", "line 3: 3 columns, but line 1 has 2");
  expect_message("1,2\n3 4,5\n", "line 2, column 1");
  expect_message("1\n0x10\n", "line 2, column 1");
  expect_message("1\n\"2\n", "line 2, column 1: the quote is not closed");
  expect_message("1\n\"2\"3\n", "line 2, column 1: text after the closing quote");
  expect_message("1\n--2\n", "line 2, column 1");
  expect_message("1\n+-2\n", "line 2, column 1");
  expect_message("", "is empty");
  expect_message("\n \n", "only blank lines");
  expect_message(std::string("1\n\0\x01\n", 5), "found \"\\x00\\x01\"");
  EXPECT_LT(message_of("1\n" + std::string(100000, 'y')).size(), 200u);
  EXPECT_THROW(parse("1", {.delimiter = '.'}), ArgumentError);
  EXPECT_THROW(parse("1", {.delimiter = '\n'}), ArgumentError);
}

TEST(Csv, GzipIsToldByContent) {
  const std::string text = "1,2\n3,4\n";
  const tests::TemporaryFolder folder;
  const std::string path = folder.write("numbers.csv", gzip(text));
  EXPECT_EQ(read_csv(path).to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(parse(gzip("1,2\n") + gzip("3,4\n")).shape(), (Shape{2, 2}));  // members one after the other
  EXPECT_EQ(parse(gzip("") + gzip(text)).shape(), (Shape{2, 2}));
}

TEST(Csv, DamagedGzip) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  const std::string packed = gzip(text);
  for (const std::size_t length : {std::size_t{2}, std::size_t{9}, packed.size() / 2, packed.size() - 1}) {
    expect_message(packed.substr(0, length), "cut off");
  }
  for (std::size_t at = 2; at < packed.size(); at += 97) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    try {
      EXPECT_TRUE(equal(parse(damaged), parse(text)));  // a byte of the heading that does not matter
    } catch (const FileError&) {
    }
  }
  expect_message(packed + "rest", "damaged");
}

TEST(Csv, LimitsABomb) {
  const std::string bomb = gzip(std::string(50'000'000, '1'));
  EXPECT_LT(bomb.size(), 100'000u);
  expect_message(bomb, "more than 1000000 bytes", {.max_bytes = 1'000'000});
  EXPECT_EQ(parse("1,2\n", {.max_bytes = 4}).numel(), 2);
  expect_message("1,2\n", "more than 3 bytes", {.max_bytes = 3});
}

TEST(Csv, FilesThatAreNone) {
  const tests::TemporaryFolder folder;
  EXPECT_THROW(read_csv(folder / "none.csv"), FileError);
  EXPECT_THROW(read_csv(folder / ""), FileError);
  EXPECT_THROW(read_csv(""), FileError);
}

TEST(Csv, Digits) {
  const Tensor digits = read_csv(tests::source_file("data/digits.csv.gz"));
  EXPECT_EQ(digits.shape(), (Shape{65, 1797}));
  EXPECT_EQ(sum(slice(digits, 0, 0, 64), {}, {.dtype = f64}).item<double>(), 561718);  // by awk
  std::vector<int> count(10);
  for (const float label : slice(digits, 0, 64, 65).to_vector<float>()) ++count[static_cast<std::size_t>(label)];
  EXPECT_EQ(count, (std::vector<int>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
}

TEST(Table, Iris) {
  const std::string path = tests::source_file("data/iris.csv");
  const Tensor x = read_csv(path);
  EXPECT_EQ(x.shape(), (Shape{5, 150}));
  const std::vector<float> sums = sum(x, 1).to_vector<float>();
  const float expected[] = {876.5f, 458.6f, 563.7f, 179.9f, 150};  // by awk
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(sums[i], expected[i], 1e-3);
  const Table table = read_table(path);
  EXPECT_TRUE(equal(table.values, x));
  EXPECT_EQ(table.names[2], "setosa");
}

TEST(Table, WordsBecomeClasses) {
  const std::string text = "length,species,colour\n1.5,setosa,red\n2,virginica,blue\n3,setosa,red\n";
  for (const std::string& each : {text, text.substr(text.find('\n') + 1)}) {
    const Table table = parse_table(std::as_bytes(std::span(each)), "iris");
    EXPECT_EQ(table.names.size(), each == text ? 3u : 0u);
    EXPECT_EQ(table.values.shape(), (Shape{3, 3}));
    EXPECT_EQ(table.values.to_vector<float>(), (std::vector<float>{1.5, 0, 1, 2, 1, 0, 3, 0, 1}));
    EXPECT_TRUE(table.classes[0].empty());
    EXPECT_EQ(table.classes[1], (std::vector<std::string>{"setosa", "virginica"}));
    EXPECT_EQ(table.classes[2], (std::vector<std::string>{"blue", "red"}));
  }
}

}  // namespace
}  // namespace sluice
