// What is written for BSON.jl, read back by a program of its own, tests/readers/read_bson.py, and by the library.
#include <gtest/gtest.h>

#include <cstring>

#include "hostile_file.hpp"
#include "program_output.hpp"
#include "sluice/ops.hpp"
#include "src/data/bson.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using detail::read_bson_state;
using detail::write_bson_state;
using tests::TemporaryFolder;

/// Writes `state`; the lines that the other reader makes of the file.
/// As a model is saved.
State under_model_state(const State& state) {
  if (state.is_record() && state.find("model_state") != nullptr) return state;
  return State::Record{{"model_state", state}};
}

std::string listing_of(const State& state) {
  const TemporaryFolder folder;
  write_bson_state(folder / "x.bson", "save", under_model_state(state));
  const tests::ProgramOutput output =
      tests::run_program("python3 " + tests::source_file("tests/readers/read_bson.py") + " " + (folder / "x.bson"));
  EXPECT_EQ(output.code, 0) << output.text;
  return output.text;
}

State written_and_read(const State& state) {
  const TemporaryFolder folder;
  write_bson_state(folder / "x.bson", "save", under_model_state(state));
  return read_bson_state(folder / "x.bson", "read");
}

State typed_nothing(const char* type) { return State().set_type(type); }

TEST(BsonWrite, ModelStateAsFluxWantsIt) {
  const State dense = State::Record{
      {"weight", cast(tensor({{1, 2}, {3, 4}}), f32)}, {"bias", false}, {"σ", typed_nothing("NNlib.relu")}};
  const State dropout = State::Record{{"p", 0.5}, {"dims", State()}};
  EXPECT_EQ(listing_of(State::Record{{"layers", State::List{dense, dropout}}}),
            "model_state NamedTuple{(:layers, ), Tuple{Tuple{NamedTuple{(:weight, :bias, :σ, ), "
            "Tuple{Array{Float32, 2}, Bool, Tuple{}}}, NamedTuple{(:p, :dims, ), Tuple{Float64, Nothing}}}}}\n"
            "model_state.layers Tuple{NamedTuple{(:weight, :bias, :σ, ), Tuple{Array{Float32, 2}, Bool, Tuple{}}}, "
            "NamedTuple{(:p, :dims, ), Tuple{Float64, Nothing}}}\n"
            "model_state.layers[0] NamedTuple{(:weight, :bias, :σ, ), Tuple{Array{Float32, 2}, Bool, Tuple{}}}\n"
            "model_state.layers[0].weight Float32 [2, 2] 0000803f000040400000004000008040\n"
            "model_state.layers[0].bias Bool False\n"
            "model_state.layers[0].σ Tuple{}\n"
            "model_state.layers[1] NamedTuple{(:p, :dims, ), Tuple{Float64, Nothing}}\n"
            "model_state.layers[1].p Float64 0.5\n"
            "model_state.layers[1].dims Nothing None\n");
}

TEST(BsonWrite, EveryElementType) {
  State::Record record;
  for (int code = 0; code < DType::kCount; ++code) {
    const DType dtype{static_cast<DType::Code>(code)};
    record.emplace_back(std::string(dtype.name()), cast(tensor({0, 1}), dtype));
  }
  const std::string listing = listing_of(State::Record{{"model_state", record}});
  for (const char* const line :
       {"f64 Float64 [2] 0000000000000000000000000000f03f", "f32 Float32 [2] 000000000000803f",
        "f16 Float16 [2] 0000003c", "bf16 BFloat16 [2] 0000803f", "i64 Int64 [2] 00000000000000000100000000000000",
        "i32 Int32 [2] 0000000001000000", "i16 Int16 [2] 00000100", "i8 Int8 [2] 0001", "u8 UInt8 [2] 0001",
        "bool Bool [2] 0001"}) {
    EXPECT_NE(listing.find(std::string("model_state.") + line + "\n"), std::string::npos) << line << "\n" << listing;
  }
  const State back = written_and_read(record).at("model_state");
  ASSERT_EQ(back.size(), record.size());
  for (const auto& [name, state] : record) EXPECT_TRUE(equal(back.at(name).tensor(), state.tensor())) << name;
}

TEST(BsonWrite, OtherValues) {
  const State state = State::Record{{"i", -7},
                                    {"t", "π"},
                                    {"s", State("same").set_type("Core.Symbol")},
                                    {"empty", zeros({3, 0})},
                                    {"scalar", scalar(2.5)},
                                    {"none", State::List{}},
                                    {"nan", std::numeric_limits<double>::quiet_NaN()},
                                    {"record", State::Record{}}};
  const std::string listing = listing_of(State::Record{{"epoch", 3}, {"model_state", state}});
  for (const char* const line :
       {"epoch Int64 3", "model_state.i Int64 -7", "model_state.t String 'π'", "model_state.s Symbol 'same'",
        "model_state.empty Float32 [3, 0] ", "model_state.scalar Float64 [] 0000000000000440",
        "model_state.none Tuple{}", "model_state.nan Float64 nan", "model_state.record NamedTuple{(), Tuple{}}"}) {
    EXPECT_NE(listing.find(std::string(line) + "\n"), std::string::npos) << line << "\n" << listing;
  }
  const State back = written_and_read(State::Record{{"model_state", state}}).at("model_state");
  EXPECT_EQ(back.at("i").integer(), -7);
  EXPECT_EQ(back.at("t").text(), "π");
  EXPECT_EQ(back.at("s").type(), "Core.Symbol");
  EXPECT_EQ(back.at("scalar").tensor().item<double>(), 2.5);
  EXPECT_EQ(back.at("record").size(), 0u);
}

TEST(BsonWrite, TiesStay) {
  const Tensor shared = cast(tensor({1, 2}), f32), own = cast(tensor({1, 2}), f32);
  const State state = State::Record{{"a", shared}, {"b", State::List{shared, own}}, {"c", own}};
  const std::string listing = listing_of(state);
  EXPECT_EQ(listing.find("shared value 1: Float32 [2] 0000803f00000040\nshared value 2: Float32 [2]"), 0u) << listing;
  EXPECT_NE(listing.find("model_state.b[0] is the shared value 1\nmodel_state.b[1] is the shared value 2\n"),
            std::string::npos)
      << listing;
  const State back = written_and_read(state).at("model_state");
  EXPECT_TRUE(back.at("a").tensor().same_handle(back.at("b.0").tensor()));
  EXPECT_TRUE(back.at("c").tensor().same_handle(back.at("b.1").tensor()));
  EXPECT_FALSE(back.at("a").tensor().same_handle(back.at("c").tensor()));
}

TEST(BsonWrite, BitsStay) {
  const std::vector<std::uint32_t> bits{0x7fc00001, 0xffc12345, 0x7f800000, 0x80000000, 0x00000001};
  const State back = written_and_read(State::Record{{"x", from_bytes(bits.data(), 20, {5}, f32)}});
  EXPECT_EQ(0, std::memcmp(back.at("model_state.x").tensor().bytes().data(), bits.data(), 20));
}

TEST(BsonWrite, SlicesAreWrittenAlone) {
  const State back = written_and_read(State::Record{{"x", slice(arange(0, 10), 0, 4, 6)}});
  EXPECT_EQ(back.at("model_state.x").tensor().to_vector<float>(), (std::vector<float>{4, 5}));
}

TEST(BsonWrite, DeepestThatIsWrittenCanBeRead) {
  State state(1);
  for (int i = 0; i < 98; ++i) state = State::Record{{"a", state}};
  tests::expect_frugal([&] { EXPECT_EQ(written_and_read(state).size(), 1u); });
  EXPECT_THROW(written_and_read(State::List{State::List{State::List{state}}}), ArgumentError);
}

TEST(BsonWrite, NamesAreAsLongAsTheyAreRead) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.bson";
  for (const std::size_t length : {4096, 4097, 6000}) {
    const std::string name(length, 'x');
    write_bson_state(path, "save", State::Record{{"model_state", State::Record{{name, 1}}}});
    EXPECT_EQ(read_bson_state(path, "read").at("model_state").record().front().first, name);
    const State top = State::Record{{name, 1}};
    if (length > 4096) {
      EXPECT_THROW(write_bson_state(path, "save", top), ArgumentError) << length;
    } else {
      write_bson_state(path, "save", top);
      EXPECT_EQ(read_bson_state(path, "read").record().front().first, name);
    }
  }
}

TEST(BsonWrite, WhatCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.bson", "old");
  for (const State& state :
       {State(State::Record{{"a", 1}, {"a", 2}}), State(State::Record{{"\xff", 1}}),
        State(State::Record{{std::string("a\0b", 3), 1}}), State(State::Record{{"a", "\xff"}}),
        State(State::Record{{"tag", 1}, {"model_state", 2}}), State(State::Record{{"a", Tensor()}})}) {
    EXPECT_THROW(write_bson_state(path, "save", state), ArgumentError);
  }
  EXPECT_EQ(tests::content_of(path), "old");
  EXPECT_EQ(folder.files(), 1u);
}

TEST(BsonWrite, RealFilesAgain) {
  if (!tests::test_data("")) GTEST_SKIP() << "SLUICE_TEST_DATA is not set";
  for (const char* const name : {"flux_docs_mymodel", "flux_docs_checkpoint", "flux_modelcnn"}) {
    const State state = read_bson_state(*tests::test_data("checkpoints/" + std::string(name) + ".bson"), "read");
    const State back = written_and_read(state.record().front().second);
    const NamedTensors before = named_tensors(state.record().front().second);
    const NamedTensors after = named_tensors(back.at("model_state"));
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(before[i].first, after[i].first);
      EXPECT_TRUE(equal(before[i].second, after[i].second)) << before[i].first;
    }
  }
}

}  // namespace
}  // namespace sluice
