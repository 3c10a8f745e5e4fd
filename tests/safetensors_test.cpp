// The format itself: what is written, and which files are refused. Headers are written by hand here.
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <map>

#include "sluice/checkpoint.hpp"
#include "sluice/ops.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::TemporaryFolder;

std::string length_of(std::uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
  return length_of(header.size()) + header + data;
}

std::string tensor_of(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
}

/// Reads a file of this content; the message if it is refused, else "".
std::string verdict_on(const std::string& content) {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.safetensors", content);
  try {
    read_tensors(path);
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

void expect_refused(const std::string& content, const std::string& why) {
  const std::string verdict = verdict_on(content);
  EXPECT_NE(verdict.find(why), std::string::npos) << "expected: " << why << "\nfound: " << verdict;
  EXPECT_LT(verdict.size(), 1000u);
}

/// A file with the tensors "a" and "b".
std::string two(const std::string& a, const std::string& b, std::size_t data) {
  return file_of(R"({"a":)" + a + R"(,"b":)" + b + "}", std::string(data, '\0'));
}

TEST(Safetensors, ReadsWhatOthersWrite) {
  const TemporaryFolder folder;
  std::string data;
  for (const float value : {1.f, 2.f, 3.f, 4.f, 5.f, 6.f})
    data.append(std::bit_cast<std::array<char, 4>>(value).data(), 4);
  data += std::string("\x01\x00\xff\xff\xff\xff", 6);
  // Keys and tensors in any order, blanks, metadata of someone else.
  const std::string header =
      R"({"__metadata__": {"format": "pt"}, "flags": {"data_offsets": [24, 26], "dtype": "BOOL", "shape": [2]},
      "weight": )" +
      tensor_of("F32", "2,3", "0,24") + R"(, "n": )" + tensor_of("I32", "", "26,30") + "}   ";
  const NamedTensors tensors = read_tensors(folder.write("x.safetensors", file_of(header, data)));
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].first, "weight");
  EXPECT_EQ(tensors[0].second.shape(), (Shape{3, 2}));
  EXPECT_EQ(tensors[0].second.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tensors[1].second.to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(tensors[2].second.item<std::int32_t>(), -1);
}

TEST(Safetensors, WritesEveryTypeAligned) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  std::map<std::string, Tensor> model;
  for (int code = 0; code < DType::kCount; ++code) {
    const DType dtype{static_cast<DType::Code>(code)};
    model[std::string(dtype.name())] = cast(arange(0, 3), dtype);
  }
  model["empty"] = zeros({0, 4});
  model["scalar"] = scalar(2.5);
  model["odd \"name\" \xC3\xA9\n"] = zeros({1}, u8);
  save(path, model);
  const std::string content = tests::content_of(path);
  std::uint64_t length = 0;
  std::memcpy(&length, content.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_NE(content.find(R"("sluice.order":"column-major")"), std::string::npos);
  EXPECT_NE(content.find(R"("empty":{"dtype":"F32","shape":[4,0],)"), std::string::npos) << content.substr(8, length);
  const NamedTensors tensors = read_tensors(path);
  EXPECT_EQ(tensors.size(), model.size());
  std::size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    EXPECT_TRUE(equal(tensor, model.at(name))) << name;
    EXPECT_EQ(offset % tensor.dtype().size(), 0u) << name;
    offset += static_cast<std::size_t>(tensor.numel()) * tensor.dtype().size();
  }
}

TEST(Safetensors, BitsStay) {
  const TemporaryFolder folder;
  const std::vector<std::uint32_t> bits{0x7fc00001, 0xffc12345, 0x7f800000, 0x80000000, 0x00000001};
  const Tensor x = from_bytes(bits.data(), 20, {5}, f32);
  save(folder / "x.safetensors", x);
  Tensor y = zeros({5});
  load(folder / "x.safetensors", y);
  EXPECT_EQ(0, std::memcmp(y.bytes().data(), bits.data(), 20));
}

TEST(Safetensors, Lengths) {
  expect_refused("", "has 0 bytes");
  expect_refused("1234567", "has 7 bytes");
  expect_refused(length_of(3) + "{}", "header of 3 bytes");
  expect_refused(length_of(UINT64_MAX) + "{}", "header of 18446744073709551615 bytes");
  expect_refused(length_of(UINT64_MAX - 7) + "{}", "header of");
  expect_refused(length_of(100'000'001) + std::string(100'000'001, ' '), "at most 100000000");
  expect_refused(length_of(0), "does not begin with \"{\"");
  EXPECT_EQ(verdict_on(file_of("{}", "")), "");
}

TEST(Safetensors, HeadersThatAreNoJson) {
  expect_refused(file_of("  {}", ""), "does not begin");
  expect_refused(file_of("[]", ""), "does not begin");
  expect_refused(file_of("{", ""), "not JSON");
  expect_refused(file_of("{} {}", ""), "byte 11: the header is not JSON");
  expect_refused(file_of("{\"a\xff\":1}", ""), "not JSON in UTF-8");
  expect_refused(file_of("{\"\xed\xa0\x80\":1}", ""), "not JSON in UTF-8");  // half a surrogate pair
  expect_refused(file_of(R"({"\ud800":1})", ""), "not JSON in UTF-8");
  expect_refused(file_of(R"({"a\u0000b":{}})", ""), "contains NUL");
}

TEST(Safetensors, HeadersOfAnotherForm) {
  const std::string good = tensor_of("F32", "1", "0,4");
  expect_refused(file_of(R"({"a":null})", ""), "\"a\"");
  expect_refused(file_of(R"({"a":3})", ""), "expected an object");
  expect_refused(file_of(R"({"a":[]})", ""), "expected an object");
  expect_refused(file_of(R"({"a":{}})", ""), "lacks \"dtype\"");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[1]}})", ""), "lacks two \"data_offsets\"");
  expect_refused(file_of(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "abcd"), "lacks \"shape\"");
  expect_refused(file_of(R"({"a":{"dtype":1,"shape":[],"data_offsets":[0,4]}})", "abcd"), "expected a string");
  expect_refused(file_of(R"({"a":{"dtype":["F32"],"shape":[],"data_offsets":[0,4]}})", "abcd"), "expected a string");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":4,"data_offsets":[0,4]}})", "abcd"), "expected a list");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", "abcd"), "expected a list");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}})", "abcd"), "expected a list");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "abcd"), "has -1");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[-16,4]}})", "abcd"), "has -16");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4,8]}})", "abcd"), "more than 2");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[4]}})", "abcd"), "lacks two");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1}})", "abcd"), "has \"x\"");
  expect_refused(file_of(R"({"a":)" + good + R"(,"__metadata__":{"x":1}})", "abcd"), "expected a string");
  expect_refused(file_of(R"({"__metadata__":[]})", ""), "expected an object");
  expect_refused(file_of(R"({"a":)" + tensor_of("F32", "1,1,1,1,1,1,1,1,1", "0,4") + "}", "abcd"),
                 "9 dimensions; at most 8");
}

TEST(Safetensors, Duplicates) {
  const std::string good = tensor_of("U8", "1", "0,1");
  expect_refused(file_of(R"({"a":)" + good + R"(,"a":)" + good + "}", "x"), "duplicate name \"a\"");
  expect_refused(file_of(R"({"__metadata__":{"k":"1","k":"2"}})", ""), "duplicate name \"k\"");
  expect_refused(file_of(R"({"__metadata__":{},"__metadata__":{}})", ""), "duplicate name \"__metadata__\"");
  expect_refused(file_of(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"),
                 "duplicate name \"dtype\" in tensor \"a\"");
}

TEST(Safetensors, RangesThatDoNotTile) {
  const auto f32_at = [](const std::string& offsets) { return tensor_of("F32", "1", offsets); };
  EXPECT_EQ(verdict_on(two(f32_at("4,8"), f32_at("0,4"), 8)), "");
  expect_refused(two(f32_at("0,4"), f32_at("0,4"), 4), "overlap");
  expect_refused(two(f32_at("0,4"), f32_at("2,6"), 6), "overlap");
  expect_refused(two(f32_at("0,4"), f32_at("8,12"), 12), "leave a gap");
  expect_refused(two(f32_at("4,8"), f32_at("8,12"), 12), "leave a gap");
  expect_refused(two(f32_at("0,4"), f32_at("4,8"), 9), "1 bytes follow the last tensor");
  expect_refused(two(f32_at("0,4"), f32_at("4,8"), 7), "go beyond the 7 bytes");
  expect_refused(two(f32_at("0,4"), f32_at("8,4"), 8), "end before they begin");
  expect_refused(two(f32_at("0,4"), f32_at("4,18446744073709551615"), 8), "go beyond");
  expect_refused(file_of("{}", "x"), "1 bytes follow");
}

TEST(Safetensors, ShapesThatLie) {
  const auto one = [](const std::string& dtype, const std::string& shape) {
    return file_of(R"({"a":)" + tensor_of(dtype, shape, "0,4") + "}", "abcd");
  };
  EXPECT_EQ(verdict_on(one("U8", "2,2")), "");
  expect_refused(one("F32", "1000000"), "takes 4000000 bytes, data_offsets give 4");
  expect_refused(one("F32", "0"), "takes 0 bytes");
  expect_refused(one("F32", "4294967296,4294967296"), "too many elements");
  expect_refused(one("F32", "4611686018427387905"), "too many elements");
  expect_refused(one("F32", "0,4294967296,4294967296"), "too many elements");
  expect_refused(one("F32", "18446744073709551615"), "too many elements");
  expect_refused(one("F32", "18446744073709551616"), "expected a list of integers");
  expect_refused(file_of(R"({"layer.weight":)" + tensor_of("F8_E4M3", "4", "0,4") + "}", "abcd"),
                 "tensor \"layer.weight\": element type \"F8_E4M3\" of the data at offset 0");
  expect_refused(file_of(R"({"a":)" + tensor_of("F8_E4M3", "4", "0,9") + "}", "abcd"), "go beyond");
  expect_refused(file_of(R"({"a":)" + tensor_of("BOOL", "4", "0,4") + "}", std::string("\0\1\2\0", 4)),
                 "its byte 2 is 2");
}

TEST(Safetensors, MoreDimensionsThanAreReadStandInNobodysWay) {
  const TemporaryFolder folder;
  const std::string header =
      R"({"nine":)" + tensor_of("F32", "1,1,1,1,1,1,1,1,1", "0,4") + R"(,"w":)" + tensor_of("F32", "1", "4,8") + "}";
  const std::string path = folder.write("x.safetensors", file_of(header, std::string(8, '\0')));
  EXPECT_EQ(inspect(path).tensors.at(0).shape.size(), 9U);
  std::map<std::string, Tensor> model{{"w", ones({1})}};
  EXPECT_EQ(load(path, model, {.strict = false}).unexpected, std::vector<std::string>{"nine"});
  EXPECT_EQ(model.at("w").item<float>(), 0.0F);
  std::map<std::string, Tensor> number{{"nine", scalar(1.0F)}};
  EXPECT_THROW(load(path, number, {.strict = false}), FileError) << "nine sizes of 1 are no number";
}

TEST(Safetensors, HostileHeadersAreQuick) {
  const auto start = std::chrono::steady_clock::now();
  std::string deep = R"({"a":)";
  deep.append(200'000, '[');
  expect_refused(file_of(deep, ""), "expected an object");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
  expect_refused(file_of(objects, ""), "tensor \"a\" has \"a\"");
  std::string shape = R"({"a":{"dtype":"F32","shape":[1)";
  for (int i = 0; i < 200'000; ++i) shape += ",1";
  expect_refused(file_of(shape, ""), "more than 64");
  expect_refused(file_of("{\"" + std::string(2'000'000, 'x') + "\":1}", ""), "expected an object");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));  // sanitizers are slow
}

TEST(Safetensors, TheCollectionOfMalformedFiles) {
  const auto manifest = tests::test_data("malformed/manifest.tsv");
  if (!manifest) GTEST_SKIP() << "SLUICE_TEST_DATA is not set";
  std::ifstream lines(*manifest);
  int count = 0;
  for (std::string name, verdict, rest; lines >> name >> verdict && std::getline(lines, rest);) {
    if (name.rfind("st_", 0) != 0) continue;
    ++count;
    std::string found;
    try {
      read_tensors(*tests::test_data("malformed/" + name));
    } catch (const FileError& error) {
      found = error.what();
    }
    EXPECT_EQ(found.empty(), verdict == "accept") << name << ": " << found;
    if (name == "st_dup_key.safetensors") {
      EXPECT_NE(found.find("duplicate"), std::string::npos) << found;
    }
  }
  EXPECT_GE(count, 17);
}

}  // namespace
}  // namespace sluice
