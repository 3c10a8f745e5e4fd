// NumPy's files. What NumPy itself writes is checked by scripts/check_python_files.py; bytes here are made by hand.
#include "sluice/npy.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>

#include "messages.hpp"
#include "npz_files.hpp"
#include "program_output.hpp"
#include "sluice/checkpoint.hpp"
#include "sluice/ops.hpp"
#include "src/data/zip.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::expect_contains;
using tests::message_of;
using tests::mixed_archive;
using tests::TemporaryFolder;

using tests::bytes_of;
using tests::dictionary;
using tests::Entry;
using tests::little;
using tests::npy;
using tests::zip;

template <class F>
std::string verdict(F&& read) {
  try {
    read();
  } catch (const FileError& error) {
    EXPECT_LT(std::strlen(error.what()), 1000u);
    return error.what();
  }
  return "";
}

void expect_refused(const std::string& content, const std::string& why, bool archive = false) {
  const TemporaryFolder folder;
  const std::string path = folder.write(archive ? "x.npz" : "x.npy", content);
  const std::string found =
      verdict([&] { archive ? static_cast<void>(read_npz(path)) : static_cast<void>(read_npy(path)); });
  EXPECT_NE(found.find(why), std::string::npos) << "expected: " << why << "\nfound: " << found;
  EXPECT_NE(found.find(path), std::string::npos) << found;
}

TEST(Npy, IndicesAreTheSameInBothOrders) {
  const TemporaryFolder folder;
  // [[1, 2, 3], [4, 5, 6]]
  const Tensor expected = tensor({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}});
  const std::string c =
      folder.write("c.npy", npy(dictionary("<f4", "False", "(2, 3)"), bytes_of<float>({1, 2, 3, 4, 5, 6})));
  const std::string f =
      folder.write("f.npy", npy(dictionary("<f4", "True", "(2, 3)"), bytes_of<float>({1, 4, 2, 5, 3, 6})));
  EXPECT_TRUE(equal(read_npy(c), expected));
  EXPECT_TRUE(equal(read_npy(f), expected));
  EXPECT_TRUE(equal(read_npy(c, {.reverse = true}), transpose(expected)));
  EXPECT_TRUE(equal(read_npy(f, {.reverse = true}), transpose(expected)));
}

TEST(Npy, EveryTypeAndShapeComesBack) {
  const TemporaryFolder folder;
  for (int code = 0; code < DType::kCount; ++code) {
    const DType dtype{static_cast<DType::Code>(code)};
    if (dtype == bf16) continue;
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{0, 2}, Shape{2, 3, 4}}) {
      const Tensor x = cast(reshape(arange(shape.numel()), shape), dtype);
      write_npy(folder / "x.npy", x);
      EXPECT_TRUE(equal(read_npy(folder / "x.npy"), x)) << dtype.name() << to_string(shape);
    }
  }
  EXPECT_THROW(write_npy(folder / "x.npy", zeros({2}, bf16)), TypeError);
  const std::string content = tests::content_of(folder / "x.npy");
  EXPECT_EQ(content.find('\n') % 64, 63u);  // the elements begin at a multiple of 64
}

TEST(Npy, OtherByteOrdersAndVersions) {
  const TemporaryFolder folder;
  const std::string big =
      folder.write("b.npy", npy(dictionary(">i4", "False", "(2,)"), std::string("\0\0\0\1\xff\xff\xff\xfe", 8)));
  EXPECT_EQ(read_npy(big).to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, -2}));
  for (const int version : {2, 3}) {
    const std::string path = folder.write(
        "v.npy", npy("{\"shape\":(),\"fortran_order\":True,\"descr\":\"<f8\"}", bytes_of<double>({2.5}), version));
    EXPECT_EQ(read_npy(path).item<double>(), 2.5);
  }
}

TEST(Npy, HostileHeaders) {
  const auto one = [](const std::string& text) { return npy(text, std::string(8, '\0')); };
  expect_refused("", "cut off");
  expect_refused("\x93NUMPY", "cut off");
  expect_refused("PK\3\4 and so on", "does not begin");
  expect_refused(npy(dictionary("<f8", "True", "(1,)"), std::string(8, '\0'), 9), "version 9");
  expect_refused(std::string("\x93NUMPY\2\0", 8) + little(0xFFFFFFFF, 4), "a header of 4294967295 bytes");
  expect_refused(std::string("\x93NUMPY\1\0", 8) + little(1000, 2) + "{}", "cut off");
  expect_refused(one(dictionary("|O", "False", "(1,)")), "Python objects");
  expect_refused(one(dictionary("<U2", "False", "(1,)")), "\"<U2\"");
  expect_refused(one(dictionary("<c8", "False", "(1,)")), "\"<c8\"");
  expect_refused(one(dictionary("<u4", "False", "(2,)")), "\"<u4\"");
  expect_refused(one(dictionary("", "False", "(2,)")), "\"\"");
  expect_refused(one("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"), "array of structs");
  expect_refused(one(dictionary("<f8", "False", "(2,)")), "does not take the 8 bytes");
  expect_refused(one(dictionary("<f8", "False", "(0,)")), "does not take the 8 bytes");
  expect_refused(one(dictionary("<f8", "False", "(-1,)")), "no integer");
  expect_refused(one(dictionary("<f8", "False", "(99999999999999999999,)")), "no integer");
  expect_refused(one(dictionary("<f8", "False", "(4294967296, 4294967296, 2)")), "does not take");
  expect_refused(one(dictionary("<f8", "False", "(1,1,1,1,1,1,1,1,1)")), "9 dimensions; at most 8");
  expect_refused(one(dictionary("<f8", "None", "(1,)")), "neither True nor False");
  expect_refused(one("{'descr': '<f8', 'shape': (1,)}"), "lacks one of");
  expect_refused(one("{'descr': '<f8', 'descr': '<f8'}"), "twice");
  expect_refused(one("{'descr': '<f8', 'x': 1}"), "has 'x'");
  expect_refused(one("{'descr': '<f8"), "does not end");
  expect_refused(one("__import__('os')"), "no '{'");
  expect_refused(one(dictionary("<f8", "False", "(1,)") + "x"), "goes on");
  expect_refused(npy(dictionary("|b1", "False", "(2,)"), "\1\2"), "neither 0 nor 1");
}

TEST(Npz, ArraysComeBack) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npz";
  const NamedTensors tensors{{"weight", rand({3, 4})}, {"é/b", arange(5)}, {"empty", zeros({0})}};
  write_npz(path, tensors);
  const NamedTensors back = read_npz(path);
  ASSERT_EQ(back.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back[i].first, tensors[i].first);
    EXPECT_TRUE(equal(back[i].second, tensors[i].second));
  }
  EXPECT_THROW(write_npz(path, {{"a", zeros({1})}, {"a", zeros({1})}}), ArgumentError);
  EXPECT_THROW(write_npz(path, {{"\xff", zeros({1})}}), ArgumentError);
  EXPECT_EQ(read_npz(path).size(), 3u);  // the old file
}

TEST(Npz, AsNumPyWritesThem) {
  const TemporaryFolder folder;
  const std::string a = npy(dictionary("<f4", "False", "(2,)"), bytes_of<float>({1, 2}));
  const std::string b = npy(dictionary("<f8", "False", "(30000,)"), std::string(240000, '\0'));
  const NamedTensors back =
      read_npz(folder.write("x.npz", zip({{"a.npy", a}, {"b.npy", b, true}, {"c.npy", a, true}})));
  ASSERT_EQ(back.size(), 3u);
  EXPECT_EQ(back[0].second.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_TRUE(equal(back[1].second, zeros({30000}, f64)));
  EXPECT_EQ(back[2].second.to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Npz, HostileArchives) {
  const auto refused = [](const std::string& content, const std::string& why) { expect_refused(content, why, true); };
  const std::string a = npy(dictionary("<f4", "False", "(2,)"), bytes_of<float>({1, 2}));
  refused("", "no zip archive");
  refused(std::string(30, 'x'), "no end record");
  refused(zip({{"a.npy", a}}).substr(0, 100), "no end record");
  refused(zip({{"a.txt", a}}), "no array");
  refused(zip({{"archive/data.pkl", a}}), "PyTorch");
  refused(zip({{"a.npy", a}, {"a.npy", a}}), "two arrays");
  refused(zip({{"\xff.npy", a}}), "UTF-8");
  refused(zip({{"a.npy", a, false, 1}}), "cannot hold");
  refused(zip({{"a.npy", a, true, 0xFFFFFFF0}}), "cannot hold");
  refused(zip({{"a.npy", a, true, a.size() + 4}}), "does not take");
  refused(zip({{"a.npy", a, false, {}, 7}}), "checksum");
  refused(zip({{"a.npy", a}, {"b.npy", a, false, {}, {}, 0}}), "overlap");
  refused(zip({{"a.npy", a, false, {}, {}, 0xFFFFFFF0}}), "lies outside");
  refused(zip({{"a.npy", a, false, 0xFFFFFFFF}}), "cannot hold");
  refused(zip({{"a.npy", a, false, 0xFFFFFFFF, {}, {}, little(1, 2) + little(4, 2) + little(0, 4)}}), "too short");
  std::string damaged =
      zip({{"a.npy", npy(dictionary("<f8", "False", "(300,)"), bytes_of(std::vector<double>(300, 1.5))), true}});
  damaged[80] = static_cast<char>(damaged[80] ^ 0x55);
  damaged[81] = '\xff';
  const TemporaryFolder folder;
  EXPECT_NE(verdict([&] { read_npz(folder.write("d.npz", damaged)); }), "");
  // A directory that claims many entries in few bytes, and one that lies beyond the file.
  std::string many = zip({{"a.npy", a}});
  many.replace(many.size() - 12, 2, "\xf0\xff");
  refused(many, "a directory of 65520 entries");
  std::string beyond = zip({{"a.npy", a}});
  beyond.replace(beyond.size() - 6, 4, little(0x7FFFFFFF, 4));
  refused(beyond, "outside the file");
  std::string large = zip({{"a.npy", a}});
  large.replace(large.size() - 6, 4, little(0xFFFFFFFF, 4));
  refused(large, "zip64");
}

TEST(Npz, WhatIsNotReadStandsInNobodysWay) {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.npz", mixed_archive());
  std::map<std::string, Tensor> model{{"w", zeros({2})}};
  const LoadReport report = load(path, model, {.strict = false});
  EXPECT_EQ(model.at("w").to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(report.unexpected, (std::vector<std::string>{"labels", "names", "objects", "rows"}));
  expect_contains(message_of<FileError>([&] { load(path, model); }), {"unexpected \"labels\", <u2 (3)"});
  std::map<std::string, Tensor> labels{{"labels", zeros({3})}};
  expect_contains(message_of<FileError>([&] { load(path, labels, {.strict = false, .cast = true}); }),
                  {"\"labels\" is f32 (3) in the model, <u2 (3) in the file"});
  expect_contains(message_of<FileError>([&] { read_npz(path); }), {path, "\"labels\"", "element type \"<u2\""});
}

TEST(Npz, InspectListsEverything) {
  const TemporaryFolder folder;
  const FileSummary summary = inspect(folder.write("x.npz", mixed_archive()));
  const auto shown = [&](std::size_t i) {
    const TensorSummary& each = summary.tensors.at(i);
    return each.name + " " + each.type + " " + std::to_string(each.shape.at(0)) + " " + std::to_string(each.bytes);
  };
  ASSERT_EQ(summary.tensors.size(), 5U);
  EXPECT_EQ(shown(0), "w f32 2 8");
  EXPECT_EQ(shown(1), "labels <u2 3 6");
  EXPECT_EQ(shown(2), "names <U4 1 16");
  EXPECT_EQ(shown(3), "objects |O 2 8");
  EXPECT_EQ(shown(4), "rows struct 1 12");
  ASSERT_EQ(summary.values.size(), 1U);
  EXPECT_EQ(summary.values[0].first + " = " + summary.values[0].second, "notes.txt = a file of 5 bytes");
}

TEST(Npy, InspectListsATypeThatIsNotRead) {
  const TemporaryFolder folder;
  const auto summary_of = [&](const std::string& content) {
    return inspect(folder.write("x.npy", content)).tensors.at(0);
  };
  EXPECT_EQ(summary_of(npy(dictionary("<u2", "False", "(3,)"), std::string(6, '\1'))).type, "<u2");
  EXPECT_EQ(summary_of(npy(dictionary("<u2", "False", "(3,)"), std::string(6, '\1'))).bytes, 6U);
  const TensorSummary halves = summary_of(npy(dictionary("<f2", "False", "(1, 2)"), std::string("\0\x7c\0\0", 4)));
  EXPECT_EQ(halves.type, "f16");
  EXPECT_EQ(halves.shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(halves.has_infinity && !halves.has_nan);
}

TEST(Npz, MoreDimensionsThanAreReadStandInNobodysWay) {
  const TemporaryFolder folder;
  const std::string nine = npy(dictionary("<f4", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 2)"), std::string(8, '\0'));
  const std::string path = folder.write(
      "x.npz", zip({{"nine.npy", nine}, {"w.npy", npy(dictionary("<f4", "True", "(1,)"), std::string(4, '\0'))}}));
  EXPECT_EQ(inspect(path).tensors.at(0).shape.size(), 9U);
  std::map<std::string, Tensor> model{{"w", ones({1})}};
  EXPECT_EQ(load(path, model, {.strict = false}).unexpected, std::vector<std::string>{"nine"});
  expect_contains(message_of<FileError>([&] { read_npz(path); }), {"\"nine\"", "9 dimensions; at most 8"});
}

TEST(Npz, AnotherArchiveIsCalledSo) {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.npz", zip({{"word/document.xml", "<a/>"}}));
  for (const std::string& message :
       {message_of<FileError>([&] { read_npz(path); }), message_of<FileError>([&] { inspect(path); })}) {
    expect_contains(message, {path, "word/document.xml"});
  }
}

/// What follows from a size beyond 32 bits, with one of a few bytes.
TEST(Npz, LargeArchivesHaveWideFields) {
  const TemporaryFolder folder;
  const std::string array = npy(dictionary("<f4", "True", "(2,)"), bytes_of<float>({1, 2}));
  for (const std::uint64_t large : {std::uint64_t{0}, std::uint64_t{90}, std::uint64_t{200}, std::uint64_t{1} << 32}) {
    const std::string path = folder / "x.npz";
    detail::ZipWriter writer(path, "save", large);
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(array))};
    for (const char* const name : {"a.npy", "b.npy", "c.npy"}) writer.add(name, parts);
    writer.commit();
    const auto tensors = read_npz(path);
    ASSERT_EQ(tensors.size(), 3U) << large;
    for (const auto& [name, tensor] : tensors)
      EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{1, 2})) << large;
    const auto checked = tests::run_program("python3 -m zipfile -t " + path);
    EXPECT_EQ(checked.code, 0) << checked.text;
    EXPECT_EQ(checked.text.find("bad"), std::string::npos) << checked.text;
  }
}

TEST(Npz, BombsAreBounded) {
  const TemporaryFolder folder;
  const std::string zeros_array = npy(dictionary("|u1", "False", "(5000000,)"), std::string(5'000'000, '\0'));
  const std::string path = folder.write("x.npz", zip({{"a.npy", zeros_array, true}}));
  EXPECT_NE(verdict([&] { read_npz(path, {.max_bytes = 1'000'000}); }).find("max_bytes"), std::string::npos);
  EXPECT_EQ(read_npz(path)[0].second.numel(), 5'000'000);
}

}  // namespace
}  // namespace sluice
