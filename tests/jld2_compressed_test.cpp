// Compressed arrays of JLD2: what `compress = true` writes is read, and what harms is refused before it does. libhdf5
// is asked on both sides where its tools are installed: it reads what the tests write, and what it writes is read here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "gzip.hpp"
#include "jld2_reading.hpp"
#include "jld2_samples.hpp"
#include "jld2_writer.hpp"
#include "sluice/ops.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using detail::Checksums;
using tests::TemporaryFolder;
using Writer = tests::Jld2Writer;
using tests::zlib_deflated;
using tests::jld2::dumped;
using tests::jld2::expect_refused;
using tests::jld2::read;
using tests::jld2::verdict_on;
using Sizes = std::vector<std::uint64_t>;

const std::string kDeflate = Writer::filters({Writer::deflate()});

/// A file with one dataset "a" of f32.
std::string file_of(Writer& writer, const Sizes& sizes, const std::string& filters_and_layout) {
  return writer.file(
      {{"a", writer.dataset(Writer::inline_type(Writer::kF32), Writer::space(sizes), filters_and_layout)}});
}
/// One of four numbers that says of itself to be deflated to `stored`.
std::string four(const std::string& stored, const std::string& filters = kDeflate, std::uint32_t skipped = 0) {
  Writer writer;
  return file_of(writer, {4}, filters + writer.one_chunk({4}, 4, stored, skipped));
}
std::string four_in_tree(const std::string& stored, const std::string& filters = kDeflate, std::uint32_t skipped = 0) {
  Writer writer;
  return file_of(writer, {4}, filters + writer.chunk_in_tree({4}, 4, stored, skipped));
}
const std::string kFour = Writer::bytes_of<float>({1, 2, 3, 4});

std::vector<float> floats_of(const std::string& file) { return read(file).at("a").tensor().to_vector<float>(); }

TEST(Jld2Compressed, BothLayouts) {
  const State file = read(tests::jld2_compressed());
  std::vector<float> numbers;
  for (int i = 0; i < 15; ++i) numbers.push_back(static_cast<float>(i) / 4);
  ASSERT_EQ(file.describe(), "a record of 3: deflated, shuffled, tree");
  for (const auto& [name, state] : file.record()) {
    EXPECT_EQ(state.tensor().shape(), (Shape{5, 3})) << name;
    EXPECT_EQ(state.tensor().to_vector<float>(), numbers) << name;
  }
}

TEST(Jld2Compressed, EveryType) {
  Writer writer;
  const auto two = [&]<class T>(const std::string& type, T first, T second) {
    const std::string stored = zlib_deflated(Writer::shuffled(Writer::bytes_of<T>({first, second}), sizeof(T)));
    const std::string filters = Writer::filters({Writer::shuffle(sizeof(T)), Writer::deflate()});
    return writer.dataset(Writer::inline_type(type), Writer::space({2}),
                          filters + writer.one_chunk({2}, sizeof(T), stored));
  };
  const State file = read(writer.file({{"f64", two(Writer::kF64, 1., -2.)},
                                       {"f16", two(Writer::kF16, std::uint16_t{0x3c00}, std::uint16_t{0xc000})},
                                       {"bf16", two(Writer::kBF16, std::uint16_t{0x3f80}, std::uint16_t{0xc000})},
                                       {"i64", two(Writer::kI64, std::int64_t{1}, std::int64_t{-2})},
                                       {"i8", two(Writer::kI8, std::int8_t{1}, std::int8_t{-2})}}));
  ASSERT_EQ(file.size(), 5u);
  for (const auto& [name, state] : file.record()) {
    EXPECT_EQ(state.tensor().dtype().name(), name);
    EXPECT_EQ(cast(state.tensor(), f64).to_vector<double>(), (std::vector<double>{1, -2})) << name;
  }
  Writer others;
  const auto other = [&](const std::string& type, std::uint64_t element, const std::string& data) {
    return others.dataset(Writer::inline_type(type), Writer::space({2}),
                          kDeflate + others.one_chunk({2}, element, zlib_deflated(data)));
  };
  const State odd = read(others.file(
      {{"bool", other(Writer::kBool, 1, std::string("\1\0", 2))}, {"u32", other(Writer::kU32, 4, "12345678")}}));
  EXPECT_EQ(odd.at("bool").tensor().to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(odd.at("u32").describe(), "Core.Array{Core.UInt32}, nothing");
  Writer wrong;
  expect_refused(wrong.file({{"a", wrong.dataset(Writer::inline_type(Writer::kBool), Writer::space({2}),
                                                 kDeflate + wrong.one_chunk({2}, 1, zlib_deflated("\1\2")))}}),
                 "element 2 of an array is a Bool that is neither 0 nor 1");
}

TEST(Jld2Compressed, LargeArrays) {
  // More than one buffer of the reader, both of bytes of one kind and of compressed ones.
  std::vector<double> numbers;
  for (std::uint32_t i = 0; i < 100'000; ++i) numbers.push_back(static_cast<double>(i * 2654435761u) / 7);
  const std::string data = Writer::bytes_of(numbers);
  const Sizes sizes{100, 1000};
  for (const bool is_shuffled : {false, true}) {
    Writer writer;
    const std::string stored = zlib_deflated(is_shuffled ? Writer::shuffled(data, 8) : data);
    ASSERT_GT(stored.size(), std::size_t{128} << 10);
    const std::string filters = is_shuffled ? Writer::filters({Writer::shuffle(8), Writer::deflate()}) : kDeflate;
    const State file = read(writer.file({{"a", writer.dataset(Writer::inline_type(Writer::kF64), Writer::space(sizes),
                                                              filters + writer.one_chunk(sizes, 8, stored))}}));
    EXPECT_EQ(file.at("a").tensor().shape(), (Shape{100, 1000}));
    EXPECT_EQ(file.at("a").tensor().to_vector<double>(), numbers);
  }
}

TEST(Jld2Compressed, WithoutSomeFilters) {
  const std::vector<float> expected{1, 2, 3, 4};
  const std::string both = Writer::filters({Writer::shuffle(4), Writer::deflate()});
  const std::string shuffled = Writer::shuffled(kFour, 4);
  // A bit for each that was left out.
  EXPECT_EQ(floats_of(four(zlib_deflated(kFour), both, 1)), expected);
  EXPECT_EQ(floats_of(four(shuffled, both, 2)), expected);
  EXPECT_EQ(floats_of(four(kFour, both, 3)), expected);
  EXPECT_EQ(floats_of(four_in_tree(shuffled, both, 2)), expected);
  EXPECT_EQ(floats_of(four(shuffled, Writer::filters({Writer::filter(2, {})}))), expected);
  EXPECT_EQ(floats_of(four_in_tree(kFour, "")), expected);
  Writer plain;
  EXPECT_EQ(floats_of(file_of(plain, {4}, plain.plain_chunk({4}, 4, kFour))), expected);
  // The first version of the message pads what the second does not have.
  const std::string old = std::string("\1\1\0\0\0\0\0\0\1\0\x08\0\0\0\1\0", 16) + std::string("deflate\0", 8) +
                          Writer::bytes<std::uint64_t>(5);
  EXPECT_EQ(floats_of(four(zlib_deflated(kFour), Writer::message(0x0b, old))), expected);
  Writer empty;
  EXPECT_EQ(read(file_of(empty, {0}, kDeflate + empty.one_chunk({0}, 4, zlib_deflated("")))).at("a").tensor().numel(),
            0);
}

TEST(Jld2Compressed, TiesStayTies) {
  Writer writer;
  const std::uint64_t array = writer.dataset(Writer::inline_type(Writer::kF32), Writer::space({4}),
                                             kDeflate + writer.one_chunk({4}, 4, zlib_deflated(kFour)));
  const State file = read(writer.file({{"a", array}, {"b", array}}));
  EXPECT_TRUE(file.at("a").tensor().same_handle(file.at("b").tensor()));
}

TEST(Jld2Compressed, OtherFiltersAreNamed) {
  const struct {
    std::uint16_t id;
    const char* name;
  } filters[] = {{3, "fletcher32 (3)"},  {307, "bzip2 (307)"},    {32001, "blosc (32001)"},
                 {32004, "lz4 (32004)"}, {32015, "zstd (32015)"}, {999, "of number 999"}};
  for (const auto& [id, name] : filters) {
    const std::string label = id < 256 ? "" : std::string("NAME\0\0\0\0", 8);
    const std::string file = four("1234", Writer::filters({Writer::filter(id, {5}, label)}));
    expect_refused(file, std::string("the data went through the filter ") + name);
    expect_refused(file, "save again with `compress = true` or without `compress`");
  }
  expect_refused(four("1234", Writer::filters({Writer::deflate(), Writer::filter(3, {})})), "fletcher32 (3)");
  expect_refused(four("1234", Writer::filters({Writer::deflate(), Writer::shuffle(4)})), "the filter shuffle (2)");
  expect_refused(four("1234", Writer::filters({Writer::deflate(), Writer::deflate()})), "the filter deflate (1)");
  expect_refused(four("1234", Writer::filters({Writer::shuffle(8)})),
                 "elements of 4 bytes are shuffled as if they had 8");
  expect_refused(four("1234", Writer::message(0x0b, "\2")), "cut off");
  expect_refused(four("1234", Writer::message(0x0b, std::string("\2\1\1\0\0\0\xff\xff", 8))), "cut off");
  expect_refused(four("1234", Writer::message(0x0b, "\3\1")), "1 filters of version 3");
  expect_refused(four("1234", Writer::message(0x0b, "\2\x21")), "33 filters of version 2");
}

TEST(Jld2Compressed, OneChunkOnly) {
  constexpr const char* kWhy = "not stored as one chunk of its size";
  for (const Sizes& sizes : {Sizes{2, 3}, Sizes{5, 3}, Sizes{3, 4}, Sizes{12}, Sizes{4, 3, 1}}) {
    Writer single, tree;
    expect_refused(file_of(single, {4, 3}, kDeflate + single.one_chunk(sizes, 4, "1234")), kWhy);
    expect_refused(file_of(tree, {4, 3}, kDeflate + tree.chunk_in_tree(sizes, 4, "1234")), kWhy);
  }
  Writer element, two, none;
  expect_refused(file_of(element, {4}, kDeflate + element.one_chunk({4}, 8, "1234")), kWhy);
  expect_refused(file_of(two, {4}, kDeflate + two.chunk_in_tree({4}, 4, "1234", 0, 2)), kWhy);
  expect_refused(file_of(none, {4}, kDeflate + none.chunk_in_tree({4}, 4, "1234", 0, 0)), kWhy);
  Writer index;
  std::string fixed = index.one_chunk({4}, 4, "1234");
  fixed[4 + 5 + 16] = '\3';  // a table of chunks
  expect_refused(file_of(index, {4}, kDeflate + fixed), kWhy);
  Writer compact, longer, width;
  expect_refused(file_of(compact, {1}, kDeflate + Writer::compact("1234")), "filters are for data in chunks");
  expect_refused(file_of(longer, {4}, kDeflate + Writer::message(0x08, longer.one_chunk({4}, 4, "1").substr(4) + "x")),
                 "longer than its parts");
  expect_refused(file_of(width, {4}, kDeflate + Writer::message(0x08, std::string("\4\2\2\2\x09", 5))),
                 "sizes of chunks in 9 bytes each");
}

TEST(Jld2Compressed, ArraysOfNumbersOnly) {
  const auto dataset = [](const std::string& type, const std::string& space) {
    Writer writer;
    return writer.file({{"a", writer.dataset(Writer::inline_type(type), space,
                                             kDeflate + writer.one_chunk({2}, 8, zlib_deflated(kFour)))}});
  };
  const std::string complex = Writer::compound({{"re", Writer::kF32}, {"im", Writer::kF32}}, {0, 4}, 8);
  expect_refused(dataset(complex, Writer::space({2})), "no array of numbers");
  expect_refused(dataset(Writer::kReference, Writer::space({2})), "no array of numbers");
  expect_refused(dataset(Writer::kF64, Writer::scalar_space()), "no array of numbers");
}

TEST(Jld2Compressed, SizesMustFit) {
  const std::string good = zlib_deflated(kFour);
  const std::string three = zlib_deflated(kFour.substr(4)), five = zlib_deflated(kFour + "5");
  const auto many = zlib_deflated(kFour + std::string(100'000, 'x'));
  for (const auto& make : {four, four_in_tree}) {
    expect_refused(make(three, kDeflate, 0), "end early");
    expect_refused(make(five, kDeflate, 0), "hold more than they should");
    expect_refused(make(many, kDeflate, 0), "hold more than they should");
    expect_refused(make(good + "x", kDeflate, 0), "1 bytes follow");
    for (std::size_t size = 0; size < good.size(); ++size) {
      EXPECT_NE(verdict_on(make(good.substr(0, size), kDeflate, 0)), "") << size;
    }
    expect_refused(make(good.substr(0, good.size() - 1), kDeflate, 0), "cut off");
    expect_refused(make("12345678", kDeflate, 0), "damaged");
    expect_refused(make(tests::gzip(kFour), kDeflate, 0), "damaged");
    expect_refused(make(kFour.substr(1), "", 0), "15 stored bytes cannot hold");
  }
}

TEST(Jld2Compressed, EveryByteIsGuarded) {
  // Each change of the compressed bytes is found, by their structure or their checksum, but for the bits between the
  // end of deflate and the next byte, which mean nothing.
  const std::string stored = zlib_deflated(kFour), good = four(stored);
  const std::size_t begin = good.find(stored, 512);
  ASSERT_EQ(verdict_on(good), "");
  for (std::size_t i = begin; i < begin + stored.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1 << bit);
      if (verdict_on(bad).empty()) {
        EXPECT_EQ(floats_of(bad), (std::vector<float>{1, 2, 3, 4})) << i << " " << bit;
      }
    }
  }
}

/// Most of the heap is free; there it is enough to look here and there.
std::size_t step_at(std::size_t place) { return place < 600 || place > 512 + 8192 ? 1 : 512; }

TEST(Jld2Compressed, CutOrChangedAnywhere) {
  const std::string good = tests::jld2_compressed();
  for (std::size_t size = 0; size < good.size(); size += step_at(size)) {
    ASSERT_NE(verdict_on(good.substr(0, size), Checksums::ignored), "") << size;
  }
  for (std::size_t i = 512; i < good.size(); i += step_at(i)) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      verdict_on(bad, Checksums::ignored);
    }
  }
  for (std::size_t i = 512; i + 8 <= good.size(); i += step_at(i)) {
    for (const std::uint64_t lie : {~0ull, 0ull, 1ull << 63, 0x7fffffffull, static_cast<unsigned long long>(i - 512)}) {
      std::string bad = good;
      bad.replace(i, 8, Writer::bytes(lie));
      verdict_on(bad, Checksums::ignored);
    }
  }
}

TEST(Jld2Compressed, Bombs) {
  const auto sized = [](std::uint64_t count, const std::string& stored) {
    Writer writer;
    return file_of(writer, {count}, kDeflate + writer.one_chunk({count}, 4, stored));
  };
  const std::string wide = sized(1ull << 40, "1234"), wider = sized(1ull << 62, "1234");
  const std::string total = sized((1ull << 30) + 1, std::string(4'200'000, '\0'));
  // Sixteen chunks that each inflate to 8 MiB, stored once.
  const std::string zeros = zlib_deflated(std::string(8 << 20, '\0'));
  Writer again;
  const std::string layout = again.one_chunk({2 << 20}, 4, zeros);
  std::vector<std::pair<std::string, std::uint64_t>> members;
  for (int i = 0; i < 16; ++i) {
    members.emplace_back(std::to_string(i),
                         again.dataset(Writer::inline_type(Writer::kF32), Writer::space({2 << 20}), kDeflate + layout));
  }
  const std::string overlapping = again.file(members);
  tests::expect_frugal([&] {
    expect_refused(wide, "takes 4398046511104 bytes, which 4 deflated bytes cannot hold");
    expect_refused(wider, "is too large for any file");
    expect_refused(total, "more than 4 GiB together");
    expect_refused(sized(10'000, "123456789"), "which 9 deflated bytes cannot hold");
  });
  expect_refused(overlapping, "parts of the file overlap");
  EXPECT_EQ(read(sized(2 << 20, zeros)).at("a").tensor().numel(), 2 << 20);  // as far as deflate goes
}

TEST(Jld2Compressed, HdfToolsReadTheWriter) {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.jld2", tests::jld2_compressed());
  std::vector<double> expected;
  for (int i = 0; i < 15; ++i) expected.push_back(i / 4.);
  for (const char* const name : {"deflated", "shuffled", "tree"}) {
    const auto numbers = dumped(std::string("-d ") + name, path);
    if (!numbers) GTEST_SKIP() << "h5dump is not installed (hdf5-tools)";
    EXPECT_EQ(*numbers, expected) << name;
  }
}

/// libhdf5 writes an array by `options` of h5repack into a file that begins as those of JLD2; nothing if it is not
/// installed.
std::optional<std::string> repacked(const TemporaryFolder& folder, const std::string& options) {
  const std::string numbers = folder.write("numbers", "1 2 3\n4 5 6\n7 8 9\n10 11 12\n");
  const std::string title = folder.write("title", tests::jld2_values().substr(0, 512));
  const std::string plain = folder / "plain.h5", path = folder / "packed.jld2";
  const std::string shape = folder.write("shape",
                                         "PATH a\nINPUT-CLASS TEXTFP\nRANK 2\nDIMENSION-SIZES 4 3\nOUTPUT-CLASS FP\n"
                                         "OUTPUT-SIZE 32\nOUTPUT-ARCHITECTURE IEEE\nOUTPUT-BYTE-ORDER LE\n");
  const tests::ProgramOutput output =
      tests::run_program(fmt::format("h5import {0} -c {1} -o {2} && h5repack -L -c 9 -d 8 -u {3} -b 512 {4} {2} {5}",
                                     numbers, shape, plain, title, options, path));
  if (output.code == 127) return std::nullopt;
  EXPECT_EQ(output.code, 0) << output.text;
  return path;
}

TEST(Jld2Compressed, WhatHdfToolsWrite) {
  for (const char* const options :
       {"-f GZIP=5 -l CHUNK=4x3", "-f SHUF -f GZIP=9 -l CHUNK=4x3", "-f SHUF -l CHUNK=4x3", "-f NONE -l CHUNK=4x3"}) {
    const TemporaryFolder folder;
    const auto path = repacked(folder, options);
    if (!path) GTEST_SKIP() << "h5import or h5repack is not installed (hdf5-tools)";
    const Tensor tensor = detail::read_jld2_state(*path, "read").at("a").tensor();
    EXPECT_EQ(tensor.shape(), (Shape{3, 4})) << options;
    EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})) << options;
  }
  const struct {
    const char *options, *why;
  } refused[] = {{"-f GZIP=5 -l CHUNK=2x3", "not stored as one chunk"}, {"-f FLET -l CHUNK=4x3", "fletcher32"}};
  for (const auto& [options, why] : refused) {
    const TemporaryFolder folder;
    const auto path = repacked(folder, options);
    const std::string verdict = tests::verdict_on([&] { detail::read_jld2_state(*path, "read"); });
    EXPECT_NE(verdict.find(why), std::string::npos) << verdict;
  }
}

}  // namespace
}  // namespace sluice
