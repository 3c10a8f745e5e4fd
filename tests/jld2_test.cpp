// JLD2 files: what is made of them, and which are refused. Small ones come from a writer of the tests, which libhdf5 is
// asked about where its tools are installed.
#include <gtest/gtest.h>

#include <bit>

#include "hostile_file.hpp"
#include "jld2_reading.hpp"
#include "jld2_samples.hpp"
#include "jld2_writer.hpp"
#include "sluice/ops.hpp"
#include "src/data/jld2.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using detail::Checksums;
using detail::read_jld2_state;
using tests::TemporaryFolder;
using Writer = tests::Jld2Writer;
using tests::jld2::dumped;
using tests::jld2::expect_refused;
using tests::jld2::read;
using tests::jld2::verdict_on;

TEST(Jld2, ModelState) {
  for (const int generation : {1, 2}) {
    const State file = read(tests::jld2_model(generation));
    EXPECT_EQ(file.describe(), "a record of 2: model_state, tied");
    const State& layers = file.at("model_state.layers");
    ASSERT_EQ(layers.size(), 2u);
    EXPECT_EQ(layers.at("0").describe(), "a record of 3: weight, bias, σ");
    EXPECT_EQ(layers.at("0.weight").tensor().shape(), (Shape{2, 3}));
    EXPECT_EQ(layers.at("0.weight").tensor().to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(layers.at("0.bias").tensor().to_vector<float>(), (std::vector<float>{7, 8}));
    EXPECT_EQ(layers.at("0.σ").describe(), "Core.Tuple, nothing");
    EXPECT_EQ(layers.at("1").describe(), "Core.Tuple, nothing");
    EXPECT_TRUE(file.at("tied").tensor().same_handle(layers.at("0.weight").tensor()));
  }
}

TEST(Jld2, ArraysOfEveryType) {
  Writer writer;
  const auto two = [&]<class T>(const std::string& type, T first, T second) {
    return writer.array<T>(type, {2}, {first, second});
  };
  const State file = read(writer.file({{"f64", two(Writer::kF64, 1., -2.)},
                                       {"f32", two(Writer::kF32, 1.f, -2.f)},
                                       {"f16", two(Writer::kF16, std::uint16_t{0x3c00}, std::uint16_t{0xc000})},
                                       {"bf16", two(Writer::kBF16, std::uint16_t{0x3f80}, std::uint16_t{0xc000})},
                                       {"i64", two(Writer::kI64, std::int64_t{1}, std::int64_t{-2})},
                                       {"i32", two(Writer::kI32, 1, -2)},
                                       {"i16", two(Writer::kI16, std::int16_t{1}, std::int16_t{-2})},
                                       {"i8", two(Writer::kI8, std::int8_t{1}, std::int8_t{-2})}}));
  ASSERT_EQ(file.size(), 8u);
  for (const auto& [name, state] : file.record()) {
    EXPECT_EQ(state.tensor().dtype().name(), name);
    EXPECT_EQ(cast(state.tensor(), f64).to_vector<double>(), (std::vector<double>{1, -2})) << name;
  }
  Writer others;
  const std::uint64_t unsigned_32 = others.array<std::uint32_t>(Writer::kU32, {1}, {1});
  const std::uint64_t bfloat = others.commit(Writer::opaque(2), "BFloat16s.BFloat16", {}, {}, {});
  const State odd = read(others.file(
      {{"bool", others.array<std::uint8_t>(Writer::kBool, {3}, {1, 0, 1})},
       {"u8", others.array<std::uint8_t>(Writer::kU8, {1}, {200})},
       {"u32", unsigned_32},
       {"empty", others.array<float>(Writer::kF32, {0, 3}, {})},
       {"opaque", others.dataset(Writer::committed(bfloat), Writer::space({1}), Writer::compact("\x80\x3f"))}}));
  EXPECT_EQ(odd.at("bool").tensor().to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(odd.at("u8").tensor().item<std::uint8_t>(), 200);
  EXPECT_EQ(odd.at("u32").describe(), "Core.Array{Core.UInt32}, nothing");
  EXPECT_EQ(odd.at("empty").tensor().shape(), (Shape{0, 3}));
  EXPECT_EQ(odd.at("opaque").tensor().dtype(), bf16);
}

TEST(Jld2, ScalarsAndTexts) {
  const State file = read(tests::jld2_values());
  EXPECT_EQ(file.at("f32").real(), static_cast<double>(0.1f));
  EXPECT_EQ(file.at("i64").integer(), -7);
  EXPECT_EQ(file.at("u32").integer(), 0xffffffff);
  EXPECT_TRUE(file.at("bool").boolean());
  EXPECT_EQ(file.at("text").text(), "π!");
  EXPECT_EQ(file.at("variable").text(), "longer");
  EXPECT_EQ(file.at("symbol").type(), "Core.Symbol");
  EXPECT_EQ(file.at("nothing").describe(), "nothing");
  EXPECT_EQ(file.at("texts.0").text(), "a");
  EXPECT_EQ(file.at("texts.1").text(), "");
  EXPECT_TRUE(file.at("any.0").is_nothing());
  EXPECT_TRUE(file.at("any.1").is_nothing());
}

TEST(Jld2, GroupsAndContinuations) {
  Writer writer;
  const std::uint64_t value = writer.array<float>(Writer::kF32, {1}, {5});
  const std::uint64_t inner = writer.group({{"b.c", value}});
  const std::uint64_t root = writer.object(Writer::link("a", inner), Writer::link("late", value));
  const State file = read(writer.file(root));
  EXPECT_EQ(file.at("a.b.c").tensor().item<float>(), 5);
  EXPECT_TRUE(file.at("late").tensor().same_handle(file.at("a.b.c").tensor()));
}

TEST(Jld2, Dictionaries) {
  Writer writer(2);
  const std::uint64_t value = writer.array<float>(Writer::kF32, {1}, {5});
  const std::string pair =
      Writer::compound({{"first", Writer::kVariableText}, {"second", Writer::kReference}}, {0, 16}, 24);
  const std::uint64_t pair_type = writer.commit(pair, "Base.Pair", {}, {"first", "second"}, {0, 0});
  const std::uint64_t pairs = writer.dataset(
      Writer::committed(pair_type), Writer::space({2}),
      Writer::compact(writer.text("a") + Writer::bytes(value) + writer.text("b") + Writer::bytes(value)));
  const std::uint64_t dictionary =
      writer.commit(Writer::compound({{"kvvec", Writer::kReference}}, {0}, 8), "Base.Dict", {}, {"kvvec"}, {0});
  const State file = read(writer.file({{"d", writer.scalar(Writer::committed(dictionary), Writer::bytes(pairs))}}));
  EXPECT_EQ(file.at("d").describe(), "Base.Dict, a record of 2: a, b");
  EXPECT_TRUE(file.at("d.a").tensor().same_handle(file.at("d.b").tensor()));
}

TEST(Jld2, Structs) {
  Writer writer(2);
  const std::uint64_t relu = writer.type("NNlib.#relu"), any = writer.type("Core.Any");
  const std::uint64_t dense = writer.commit(Writer::compound({{"bias", Writer::kBool}}, {0}, 1), "Flux.Dense", {},
                                            {"weight", "bias", "σ"}, {any, any, relu});
  const State file = read(writer.file({{"d", writer.scalar(Writer::committed(dense), std::string(1, '\0'))}}));
  EXPECT_EQ(file.at("d").type(), "Flux.Dense");
  EXPECT_FALSE(file.at("d.bias").boolean());
  EXPECT_EQ(file.at("d.σ").describe(), "NNlib.relu, nothing");
}

/// Most of the heap is free; there it is enough to look here and there.
std::size_t step_at(std::size_t place) { return place < 1536 || place > 512 + 8192 ? 1 : 64; }

TEST(Jld2, CutAnywhere) {
  const std::string good = tests::jld2_model(1);
  for (std::size_t size = 0; size < good.size(); size += step_at(size)) {
    ASSERT_NE(verdict_on(good.substr(0, size), Checksums::ignored), "") << size;
  }
}

TEST(Jld2, EveryByteIsGuarded) {
  Writer writer;
  const std::uint64_t dataset = writer.array<float>(Writer::kF32, {2}, {1, 2});
  const std::string good = writer.file({{"a", dataset}});
  EXPECT_EQ(verdict_on(good), "");
  const auto expect_guarded = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x10);
      EXPECT_NE(verdict_on(bad), "") << i;
    }
  };
  expect_guarded(512, 560);
  expect_guarded(512 + dataset, good.size());
}

TEST(Jld2, EveryByteChangedIsReadOrRefused) {
  for (const int generation : {1, 2}) {
    const std::string good = tests::jld2_model(generation);
    for (std::size_t i = 512; i < good.size(); i += step_at(i)) {
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ change);
        verdict_on(bad, Checksums::ignored);
      }
    }
  }
}

TEST(Jld2, NumbersThatLie) {
  const std::string good = tests::jld2_model(1);
  for (std::size_t i = 512; i + 8 <= good.size(); i += step_at(i)) {
    for (const std::uint64_t lie : {~0ull, 0ull, 1ull << 63, 0x7fffffffull, static_cast<unsigned long long>(i - 512)}) {
      std::string bad = good;
      bad.replace(i, 8, Writer::bytes(lie));
      verdict_on(bad, Checksums::ignored);
    }
  }
}

TEST(Jld2, WhatIsRefused) {
  expect_refused("", "has 0 bytes");
  expect_refused(std::string(600, '\0'), "does not begin as JLD2 files do");
  Writer layout;
  expect_refused(layout.file({{"a", layout.dataset(Writer::inline_type(Writer::kF32), Writer::space({1}),
                                                   Writer::message(0x08, std::string("\x04\x03", 2) + "0123"))}}),
                 "a data layout of class 3");
  Writer twice;
  const std::uint64_t value = twice.array<float>(Writer::kF32, {1}, {5});
  expect_refused(twice.file({{"a", value}, {"a", value}}), "a group has two members \"a\"");
  Writer names;
  expect_refused(names.file({{"\xff", names.array<float>(Writer::kF32, {1}, {5})}}), "not UTF-8");
  Writer sizes;
  expect_refused(sizes.file({{"a", sizes.array<float>(Writer::kF32, {1ull << 62, 4}, {5})}}), "too large");
  Writer wrong;
  expect_refused(wrong.file({{"a", wrong.array<float>(Writer::kF32, {2}, {5})}}), "takes 8 bytes, the data have 4");
  Writer beyond;
  expect_refused(beyond.file({{"a", 1 << 20}}), "go beyond the content");
  Writer heap;
  expect_refused(
      heap.file({{"a", heap.scalar(Writer::inline_type(Writer::kVariableText),
                                   Writer::bytes(5) + Writer::bytes<std::uint64_t>(48) + Writer::bytes(77))}}),
      "has no object 77");
  Writer soft;
  expect_refused(soft.file(soft.object(Writer::message(0x06, std::string("\x01\x18\x01\x01\x01", 5) + "a\x01\x00b"))),
                 "a link to another name or file");
}

TEST(Jld2, ReferencesToThemselves) {
  Writer writer;
  const std::uint64_t place = writer.array<std::uint64_t>(Writer::kReference, {1}, {0});
  std::string content = writer.file({{"a", place}});
  // The reference follows the head of its compact layout.
  const std::size_t layout = content.find(std::string("\x04\0\x08\0", 4), 512 + place);
  content.replace(layout + 4, 8, Writer::bytes(place));
  EXPECT_NE(verdict_on(content, Checksums::ignored).find("contains itself"), std::string::npos);
}

TEST(Jld2, NothingUnfoldsWithoutEnd) {
  Writer writer;
  std::uint64_t last = writer.array<float>(Writer::kF32, {1}, {5});
  for (int i = 0; i < 60; ++i) last = writer.array<std::uint64_t>(Writer::kReference, {2}, {last, last});
  expect_refused(writer.file({{"a", last}}), "more than 262144 values");
  Writer groups;
  last = groups.array<float>(Writer::kF32, {1}, {5});
  for (int i = 0; i < 60; ++i) last = groups.group({{"a", last}, {"b", last}});
  expect_refused(groups.file({{"a", last}}), "more than 262144 values");
  Writer deep;
  last = deep.array<float>(Writer::kF32, {1}, {5});
  for (int i = 0; i < 1000; ++i) last = deep.array<std::uint64_t>(Writer::kReference, {1}, {last});
  expect_refused(deep.file({{"a", last}}), "more than 128 levels deep");
}

TEST(Jld2, DataAreNotReadAgainAndAgain) {
  Writer writer;
  const std::string data(8000, 'x');
  const std::string layout = writer.contiguous(data);
  std::vector<std::pair<std::string, std::uint64_t>> members;
  for (int i = 0; i < 100; ++i) {
    members.emplace_back(std::to_string(i),
                         writer.dataset(Writer::inline_type(Writer::kU8), Writer::space({8000}), layout));
  }
  expect_refused(writer.file(members), "parts of the file overlap");
}

TEST(Jld2, VerdictsTakeLittleStackAndTime) {
  Writer deep;
  std::uint64_t last = deep.array<float>(Writer::kF32, {1}, {5});
  for (int i = 0; i < 1000; ++i) last = deep.group({{"a", last}});
  const std::string groups = deep.file({{"a", last}});
  Writer wide;
  last = wide.array<float>(Writer::kF32, {1}, {5});
  for (int i = 0; i < 17; ++i) last = wide.array<std::uint64_t>(Writer::kReference, {2}, {last, last});
  const std::string pairs = wide.file({{"a", last}});
  Writer lists;
  last = lists.array<float>(Writer::kF32, {1}, {5});
  for (int i = 0; i < 1000; ++i) last = lists.array<std::uint64_t>(Writer::kReference, {1}, {last});
  const std::string references = lists.file({{"a", last}});
  // An object with a long header, wanted often.
  Writer often;
  std::string messages = Writer::message(0x01, Writer::scalar_space()) + Writer::inline_type(Writer::kI64);
  for (int i = 0; i < 50'000; ++i) messages += Writer::message(0, "");
  last = often.object(messages + Writer::compact(Writer::bytes<std::int64_t>(1)));
  const std::string headers =
      often.file({{"a", often.dataset(Writer::inline_type(Writer::kReference), Writer::space({50'000}),
                                      often.contiguous(Writer::bytes_of(std::vector<std::uint64_t>(50'000, last))))}});
  std::string nested = Writer::kReference;
  for (int i = 0; i < 30; ++i) nested = Writer::compound({{"a", nested}}, {0}, 8);
  Writer compounds;
  const std::string deep_type =
      compounds.file({{"a", compounds.scalar(Writer::inline_type(nested), std::string(8, '\0'))}});
  tests::expect_frugal([&] {
    EXPECT_NE(verdict_on(groups), "");
    EXPECT_NE(verdict_on(references), "");
    EXPECT_NE(verdict_on(headers), "");
    EXPECT_NE(verdict_on(pairs), "");
    EXPECT_EQ(verdict_on(deep_type), "");
  });
}

TEST(Jld2, Lookup3) {
  // The values that lookup3.c gives for itself.
  EXPECT_EQ(Writer::sum_of(""), 0xdeadbeefu);
  EXPECT_EQ(Writer::sum_of("Four score and seven years ago"), 0x17770551u);
}

TEST(Jld2, HdfToolsReadTheWriter) {
  const TemporaryFolder folder;
  for (const int generation : {1, 2}) {
    const std::string path = folder.write("x.jld2", tests::jld2_model(generation));
    const auto numbers = dumped("-d tied", path);
    if (!numbers) GTEST_SKIP() << "h5dump is not installed (hdf5-tools)";
    EXPECT_EQ(*numbers, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(Jld2, RealFiles) {
  if (!tests::test_data("")) GTEST_SKIP() << "SLUICE_TEST_DATA is not set";
  // Numbers as a viewer of bytes shows them.
  const State first = read_jld2_state(*tests::test_data("checkpoints/cersyve_h.jld2"), "read");
  EXPECT_EQ(first.at("state.layers.1.bias").tensor().item<float>(), std::bit_cast<float>(0xbd848427u));
  EXPECT_EQ(first.at("state.layers.0.weight").tensor().to_vector<float>()[0], std::bit_cast<float>(0x3d3e2787u));
  const struct {
    const char* name;
    std::vector<Shape> weights;
  } files[] = {{"cersyve_h", {{16, 4}, {1, 16}}}, {"cersyve_pendulum_V", {{32, 2}, {32, 32}, {1, 32}}}};
  for (const auto& [name, weights] : files) {
    const State file = read_jld2_state(*tests::test_data("checkpoints/" + std::string(name) + ".jld2"), "read");
    const State& layers = file.at("state.layers");
    ASSERT_EQ(layers.size(), weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const State& layer = layers.list()[i];
      EXPECT_EQ(layer.at("weight").tensor().shape(), weights[i]);
      EXPECT_EQ(layer.at("bias").tensor().shape(), Shape{weights[i][0]});
      EXPECT_EQ(layer.at("σ").describe(), "Core.Tuple, nothing");
    }
  }
}

}  // namespace
}  // namespace sluice
