// Files of BSON.jl: what is made of them, and which are refused. Written by hand here, after the format's description.
#include <gtest/gtest.h>

#include <cstring>

#include "bson_values.hpp"
#include "hostile_file.hpp"
#include "sluice/ops.hpp"
#include "src/data/bson.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using namespace tests::bson;  // NOLINT(google-build-using-namespace)
using detail::read_bson_state;
using tests::TemporaryFolder;

State read(const std::string& content) { return read_bson_state(std::as_bytes(std::span(content)), "x.bson"); }
State read(const Members& members) { return read(document(members).bytes); }

/// The message if it is refused, else "".
std::string verdict_on(const std::string& content) {
  return tests::verdict_on([&] { read(content); });
}
void expect_refused(const Members& members, const std::string& why) {
  const std::string verdict = verdict_on(document(members).bytes);
  EXPECT_NE(verdict.find(why), std::string::npos) << "expected: " << why << "\nfound: " << verdict;
  EXPECT_LT(verdict.size(), 1000u);
}

TEST(Bson, EveryElement) {
  const State file = read({{"d", real(2.5)},
                           {"s", text("π and \xF0\x9F\x98\x80")},
                           {"n", nothing()},
                           {"b", truth(true)},
                           {"i", small_integer(-3)},
                           {"j", integer(1LL << 40)},
                           {"u", binary(std::string("\x00\xff\x07", 3))},
                           {"l", list({integer(1), text("two"), list({})})},
                           {"e", document({{"π", integer(3)}})}});
  EXPECT_EQ(file.at("d").real(), 2.5);
  EXPECT_EQ(file.at("s").text(), "π and \xF0\x9F\x98\x80");
  EXPECT_TRUE(file.at("n").is_nothing());
  EXPECT_TRUE(file.at("b").boolean());
  EXPECT_EQ(file.at("i").integer(), -3);
  EXPECT_EQ(file.at("j").integer(), 1LL << 40);
  EXPECT_EQ(file.at("u").tensor().to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 255, 7}));
  EXPECT_EQ(file.at("l.1").text(), "two");
  EXPECT_EQ(file.at("l.2").size(), 0u);
  EXPECT_EQ(file.at("e.π").integer(), 3);
}

TEST(Bson, ArraysOfEveryType) {
  const auto element = [](const std::string& name) { return std::vector<std::string>{"Core", name}; };
  const State file = read({{"f64", array_of<double>(element("Float64"), {2}, {1, -2})},
                           {"f32", array_of<float>(element("Float32"), {1, 2}, {1, -2})},
                           {"f16", array_of<std::uint16_t>(element("Float16"), {2}, {0x3c00, 0xc000})},
                           {"bf16", array_of<std::uint16_t>({"BFloat16s", "BFloat16"}, {2}, {0x3f80, 0xc000})},
                           {"core", array_of<std::uint16_t>(element("BFloat16"), {2}, {0x3f80, 0xc000})},
                           {"i64", array_of<std::int64_t>(element("Int64"), {2}, {1, -2})},
                           {"i32", array_of<std::int32_t>(element("Int32"), {2}, {1, -2})},
                           {"i16", array_of<std::int16_t>(element("Int16"), {2}, {1, -2})},
                           {"i8", array_of<std::int8_t>(element("Int8"), {2}, {1, -2})},
                           {"old", array_of<float>({"Main", "Core", "Float32"}, {2}, {1, -2})}});
  for (const auto& [name, state] : file.record()) {
    EXPECT_EQ(cast(reshape(state.tensor(), {2}), f64).to_vector<double>(), (std::vector<double>{1, -2})) << name;
    EXPECT_EQ(state.tensor().dtype().name(), name == "old" ? "f32" : name == "core" ? "bf16" : name);
  }
  EXPECT_EQ(file.at("f32").tensor().shape(), (Shape{1, 2}));
  EXPECT_EQ(file.at("core").tensor().dtype(), bf16);
}

TEST(Bson, OddArrays) {
  const State file = read({{"scalar", floats({}, {7})},
                           {"empty", floats({3, 0}, {})},
                           {"bools", array_of<std::uint8_t>({"Core", "Bool"}, {3}, {1, 0, 1})},
                           {"eight", floats({1, 1, 1, 1, 1, 1, 1, 2}, {1, 2})},
                           {"texts", array({"Core", "String"}, {2, 1}, list({text("a"), text("b")}))},
                           {"complex", array_of<float>({"Main", "Base", "Complex"}, {1}, {1, 2})}});
  EXPECT_EQ(file.at("scalar").tensor().shape(), Shape{});
  EXPECT_EQ(file.at("empty").tensor().shape(), (Shape{3, 0}));
  EXPECT_EQ(file.at("bools").tensor().to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(file.at("eight").tensor().rank(), 8);
  EXPECT_EQ(file.at("texts.1").text(), "b");
  EXPECT_TRUE(file.at("complex").is_nothing());
  EXPECT_EQ(file.at("complex").type(), "Core.Array{Base.Complex}");
  expect_refused({{"a", floats({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1})}}, "more than 8 dimensions");
  expect_refused({{"a", array_of<std::uint8_t>({"Core", "Bool"}, {2}, {1, 2})}}, "neither 0 nor 1");
  expect_refused({{"a", floats({2, 2}, {1, 2, 3})}},
                 "an array of Float32 of size (2, 2) takes 16 bytes, the data have 12");
  expect_refused({{"a", floats({1LL << 62, 4}, {1})}}, "too large");
  expect_refused({{"a", floats({1LL << 62, 0, 4}, {})}}, "too large");
  expect_refused({{"a", floats({-1}, {})}}, "has the size -1");
  expect_refused({{"a", array({"Core", "String"}, {3}, list({text("a")}))}}, "an array of size (3) has 1 elements");
}

TEST(Bson, Scalars) {
  const State file = read({{"f32", primitive({"Core", "Float32"}, bytes_of(0.1f))},
                           {"f16", primitive({"Core", "Float16"}, bytes_of<std::uint16_t>(0x3e00))},
                           {"u32", primitive({"Core", "UInt32"}, bytes_of<std::uint32_t>(0xffffffff))},
                           {"i8", primitive({"Core", "Int8"}, "\xff")},
                           {"u64", primitive({"Core", "UInt64"}, bytes_of<std::uint64_t>(~0ull))},
                           {"char", primitive({"Core", "Char"}, "abcd")},
                           {"short", primitive({"Core", "Float32"}, "ab")}});
  EXPECT_EQ(file.at("f32").real(), static_cast<double>(0.1f));
  EXPECT_EQ(file.at("f16").real(), 1.5);
  EXPECT_EQ(file.at("u32").integer(), 0xffffffff);
  EXPECT_EQ(file.at("i8").integer(), -1);
  for (const char* const opaque : {"u64", "char", "short"}) EXPECT_TRUE(file.at(opaque).is_nothing()) << opaque;
  EXPECT_EQ(file.at("char").type(), "Core.Char");
}

TEST(Bson, Structs) {
  const Value relu = structure(datatype({"NNlib", "#relu"}), {});
  const Value dense = structure(datatype({"Flux", "Dense"}), {floats({1, 2}, {1, 2}), truth(false), relu});
  const State file = read({{"model", structure(datatype({"Flux", "Chain"}), {tuple({dense, relu})})},
                           {"state", named_tuple({"weight", "bias", "σ"}, {floats({1}, {3}), nothing(), tuple({})})},
                           {"mine", structure(datatype({"Main", "Net"}), {integer(1), dense})},
                           {"closure", structure(datatype({"Main", "#5#6"}), {})},
                           {"short", structure(datatype({"Flux", "Dense"}), {integer(1)})},
                           {"symbol", symbol("same")}});
  EXPECT_EQ(file.at("model").type(), "Flux.Chain");
  EXPECT_EQ(file.at("model.layers.0").type(), "Flux.Dense");
  EXPECT_EQ(file.at("model.layers.0.weight").tensor().to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_FALSE(file.at("model.layers.0.bias").boolean());
  EXPECT_EQ(file.at("model.layers.0.σ").describe(), "NNlib.relu, nothing");
  EXPECT_EQ(file.at("state.weight").tensor().numel(), 1);
  EXPECT_EQ(file.at("state.bias").type(), "");
  EXPECT_EQ(file.at("state.σ").describe(), "Core.Tuple, nothing");
  EXPECT_EQ(file.at("mine").type(), "Main.Net");
  EXPECT_EQ(file.at("mine.0").integer(), 1);
  EXPECT_EQ(file.at("mine.1.bias").boolean(), false);
  EXPECT_EQ(file.at("closure").type(), "Main.#5#6");
  EXPECT_TRUE(file.at("short").is_list());
  EXPECT_EQ(file.at("symbol").text(), "same");
  expect_refused({{"a", named_tuple({"w", "w"}, {integer(1), integer(2)})}}, "two members \"w\"");
  expect_refused({{"a", named_tuple({"w"}, {integer(1), integer(2)})}}, "a NamedTuple of 2 values has 1 names");
}

TEST(Bson, Dictionaries) {
  const auto dictionary = [](const std::vector<Value>& keys, const std::vector<Value>& values) {
    return structure(datatype({"Main", "Base", "Dict"}), {list(keys), list(values)});
  };
  const State file = read({{"text", dictionary({text("a"), text("b.c")}, {integer(1), integer(2)})},
                           {"number", dictionary({integer(7)}, {text("seven")})},
                           {"twice", dictionary({text("a"), symbol("a")}, {integer(1), integer(2)})},
                           {"other", dictionary({list({})}, {integer(1)})}});
  EXPECT_EQ(file.at("text.b.c").integer(), 2);
  EXPECT_EQ(file.at("number.7").text(), "seven");
  EXPECT_TRUE(file.at("twice").is_nothing());
  EXPECT_EQ(file.at("other").type(), "Base.Dict");
}

TEST(Bson, SharedArraysStayShared) {
  const Value shared = floats({2}, {1, 2});
  const State file = read({{"_backrefs", list({shared, shared, list({reference(1)})})},
                           {"a", reference(1)},
                           {"b", tuple({reference(1), reference(2)})},
                           {"c", reference(3)}});
  EXPECT_EQ(file.size(), 3u);
  EXPECT_TRUE(file.at("a").tensor().same_handle(file.at("b.0").tensor()));
  EXPECT_TRUE(file.at("a").tensor().same_handle(file.at("c.0").tensor()));
  EXPECT_FALSE(file.at("a").tensor().same_handle(file.at("b.1").tensor()));
}

TEST(Bson, ArraysWithinSharedValuesStayShared) {
  const State file = read({{"_backrefs", list({structure(datatype({"Main", "Cell"}), {floats({1}, {5}), integer(1)})})},
                           {"a", reference(1)},
                           {"b", reference(1)}});
  EXPECT_TRUE(file.at("a.0").tensor().same_handle(file.at("b.0").tensor()));
}

TEST(Bson, TypesMayBeReferences) {
  const State file =
      read({{"a", document({{"tag", text("array")},
                            {"type", reference(2)},
                            {"size", list({integer(1)})},
                            {"data", binary(bytes_of(4.f))}})},
            {"b", structure(document({{"tag", text("unionall")}, {"var", nothing()}, {"body", reference(1)}}), {})},
            {"_backrefs", list({reference(2), datatype({"Core", "Float32"})})}});
  EXPECT_EQ(file.at("a").tensor().item<float>(), 4.f);
  EXPECT_EQ(file.at("b").type(), "Core.Float32");
}

TEST(Bson, CodeIsPassedOver) {
  const State file = read({{"f", document({{"tag", text("jl_anonymous")},
                                           {"typename", text("evil")},
                                           {"params", list({document({{"code", binary("rm")}})})}})},
                           {"m", document({{"tag", text("ref")}, {"path", list({text("Main")})}})},
                           {"t", datatype({"Core", "Float32"})}});
  EXPECT_EQ(file.at("f").describe(), "Core.Function, nothing");
  EXPECT_EQ(file.at("m").describe(), "Core.Module, nothing");
  EXPECT_EQ(file.at("t").describe(), "Core.DataType, nothing");
}

TEST(Bson, ReferencesThatDoNotHold) {
  expect_refused({{"a", reference(1)}}, "the reference 1 is not among the 0 of _backrefs");
  expect_refused({{"a", reference(0)}, {"_backrefs", list({nothing()})}}, "the reference 0");
  expect_refused({{"a", reference(-1)}, {"_backrefs", list({nothing()})}}, "the reference -1");
  expect_refused({{"a", reference(1)}, {"_backrefs", list({reference(1)})}}, "contains itself");
  expect_refused({{"a", reference(1)}, {"_backrefs", list({list({reference(2)}), tuple({reference(1)})})}},
                 "contains itself");
  expect_refused({{"a", structure(reference(1), {})}, {"_backrefs", list({reference(1)})}}, "expected a type");
  expect_refused({{"_backrefs", integer(1)}}, "_backrefs is not a list");
}

/// Each entry refers to the one before it twice.
Members doubled(int times) {
  std::vector<Value> entries{floats({1}, {1})};
  for (int i = 1; i <= times; ++i) entries.push_back(list({reference(i), reference(i)}));
  return {{"a", reference(times + 1)}, {"_backrefs", list(entries)}};
}

TEST(Bson, NothingUnfoldsWithoutEnd) {
  EXPECT_EQ(verdict_on(document(doubled(10)).bytes), "");
  expect_refused(doubled(60), "more than 262144 values");
  // Each refers to the one before it, and all are wanted.
  std::vector<Value> entries{list({})}, wanted;
  for (int i = 1; i <= 1000; ++i) {
    entries.push_back(list({reference(i)}));
    wanted.push_back(reference(i + 1));
  }
  expect_refused({{"a", list(wanted)}, {"_backrefs", list(entries)}}, "more than 128 levels deep");
  // Names that are looked up again and again.
  std::vector<std::string> names;
  for (int i = 0; i < 20'000; ++i) names.push_back(std::to_string(i));
  std::vector<Value> users(20'000, structure(reference(1), {}));
  Members many{{"a", list(users)}};
  std::vector<Value> symbols;
  for (const std::string& name : names) symbols.push_back(symbol(name));
  many.push_back({"_backrefs", list({datatype({"Core", "NamedTuple"}, {tuple(symbols)})})});
  EXPECT_NE(verdict_on(document(many).bytes), "");
}

Value nested(int levels) {
  Value value = list({});
  for (int i = 1; i < levels; ++i) value = list({value});
  return value;
}

TEST(Bson, Depth) {
  EXPECT_EQ(verdict_on(document({{"a", nested(120)}}).bytes), "");
  expect_refused({{"a", nested(200)}}, "more than 128 levels deep");
  expect_refused({{"a", nested(3000)}}, "documents lie within one another");
}

TEST(Bson, Lengths) {
  const std::string good = document({{"a", small_integer(1)}, {"t", text("x")}, {"b", binary("abc")}}).bytes;
  EXPECT_EQ(verdict_on(good), "");
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(verdict_on(good.substr(0, size)), "") << size;
  EXPECT_NE(verdict_on(good + '\0'), "");
  expect_refused({{"a", Value{'\x05', bytes_of<std::int32_t>(64 << 20) + std::string("\0abc", 4)}}},
                 "binary data of 67108864 bytes");
  expect_refused({{"a", Value{'\x05', bytes_of<std::int32_t>(-1) + std::string(1, '\0')}}}, "binary data of -1 bytes");
  expect_refused({{"a", Value{'\x05', bytes_of<std::int32_t>(1) + "\x02x"}}}, "subtype 2");
  expect_refused({{"a", Value{'\x02', bytes_of<std::int32_t>(0)}}}, "a text of 0 bytes");
  expect_refused({{"a", Value{'\x02', bytes_of<std::int32_t>(2) + "ab"}}}, "does not end with 0");
  expect_refused({{"a", Value{'\x03', bytes_of<std::int32_t>(4) + '\0'}}}, "a document of 4 bytes");
  expect_refused({{"a", Value{'\x03', bytes_of<std::int32_t>(-1) + '\0'}}}, "a document of -1 bytes");
  expect_refused({{"a", Value{'\x42', "1234"}}}, "element type 0x42");
  expect_refused({{"a", Value{'\x08', "\x02"}}}, "neither 0 nor 1");
}

TEST(Bson, Names) {
  expect_refused({{"a", integer(1)}, {"b", integer(2)}, {"a", integer(3)}}, "two elements are named \"a\"");
  expect_refused({{"a", document({{"b", integer(1)}, {"b", integer(2)}})}}, "two elements are named \"b\"");
  expect_refused({{"\xc3", integer(1)}}, "not UTF-8");
  expect_refused({{"\xed\xa0\x80", integer(1)}}, "not UTF-8");
  expect_refused({{"a", text("\xff")}}, "not UTF-8");
  expect_refused({{"a", text(std::string("a\0b", 3))}}, "not UTF-8");
  expect_refused({{std::string(5000, 'k'), integer(1)}}, "a name of more than 4096 bytes");
}

TEST(Bson, TagsThatAreNone) {
  expect_refused({{"a", document({{"tag", text("evil")}})}}, "the tag \"evil\"");
  expect_refused({{"a", document({{"tag", text("array")}})}}, "the array has no \"type\"");
  expect_refused({{"a", document({{"tag", text("tuple")}, {"data", integer(1)}})}}, "element type 0x12");
  expect_refused({{"a", structure(integer(1), {})}}, "element type 0x12");
  expect_refused({{"a", structure(document({{"x", integer(1)}}), {})}}, "expected a type");
  EXPECT_EQ(read({{"a", document({{"tag", integer(1)}})}}).at("a.tag").integer(), 1);
}

TEST(Bson, EveryByteChangedIsReadOrRefused) {
  const Value shared = floats({2}, {1, 2});
  const std::string good =
      document({{"_backrefs", list({shared})},
                {"m", structure(datatype({"Flux", "Dense"}), {reference(1), reference(1), tuple({})})},
                {"s", named_tuple({"a"}, {primitive({"Core", "Float32"}, "abcd")})}})
          .bytes;
  int refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      refused += verdict_on(bad).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, static_cast<int>(good.size()));
}

TEST(Bson, VerdictsTakeLittleStackAndTime) {
  // Much at the end of a chain of references: no step of it may keep a copy.
  std::vector<Value> chain{list(std::vector<Value>(100'000, nothing()))};
  for (int i = 1; i < 50; ++i) chain.push_back(list({reference(i)}));
  const std::string chained = document({{"a", reference(50)}, {"_backrefs", list(chain)}}).bytes;
  // A type that takes long to look up, for many structs.
  Members chatty{{"tag", text("datatype")}, {"params", list({})}, {"name", list({text("Main")})}};
  for (const char letter : {'a', 'b', 'c', 'd'}) chatty.push_back({std::string(4000, letter), nothing()});
  const Value user = structure(reference(1), {});
  const std::string slow =
      document({{"a", list(std::vector<Value>(50'000, user))}, {"_backrefs", list({document(chatty)})}}).bytes;
  const std::vector<std::string> refused{slow, document({{"a", nested(3000)}}).bytes, document(doubled(60)).bytes,
                                         document({{"a", list(std::vector<Value>(300'000, nothing()))}}).bytes};
  const std::string deep = document({{"a", nested(127)}}).bytes;
  tests::expect_frugal([&] {
    for (const std::string& each : refused) EXPECT_NE(verdict_on(each), "");
    EXPECT_EQ(verdict_on(chained), "");
    EXPECT_EQ(verdict_on(deep), "");
  });
}

TEST(Bson, FilesThatAreNone) {
  const TemporaryFolder folder;
  EXPECT_NE(tests::verdict_on([&] { read_bson_state(folder / "none", "read"); }).find("there is no such file"),
            std::string::npos);
  EXPECT_NE(tests::verdict_on([&] { read_bson_state(folder.path().string(), "read"); }).find("not an ordinary file"),
            std::string::npos);
  EXPECT_NE(tests::verdict_on([&] { read_bson_state(folder.write("e", ""), "read"); }), "");
}

TEST(Bson, SparseFileCostsNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.bson", bytes_of<std::int32_t>(0x7fffffff) +
                                                      "\x05"
                                                      "a");
  std::filesystem::resize_file(path, 0x7fffffff);
  EXPECT_NE(tests::verdict_on([&] { read_bson_state(path, "read"); }), "");
}

class BsonData : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!tests::test_data("")) GTEST_SKIP() << "SLUICE_TEST_DATA is not set";
  }
  static State read(const std::string& name) {
    return read_bson_state(*tests::test_data("checkpoints/" + name), "read");
  }
};

TEST_F(BsonData, WholeModel) {
  const State file = read("flux_docs_mymodel.bson");
  EXPECT_EQ(file.at("model").type(), "Flux.Chain");
  const State& layers = file.at("model.layers");
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers.at("0.weight").tensor().shape(), (Shape{5, 10}));
  EXPECT_EQ(layers.at("0.bias").tensor().shape(), (Shape{5}));
  EXPECT_EQ(layers.at("0.σ").type(), "NNlib.relu");
  EXPECT_EQ(layers.at("1.weight").tensor().shape(), (Shape{2, 5}));
  EXPECT_EQ(layers.at("1.σ").type(), "Base.identity");
  EXPECT_EQ(layers.at("2").type(), "NNlib.softmax");
  EXPECT_EQ(named_tensors(file).size(), 4u);
}

TEST_F(BsonData, ModelState) {
  const State file = read("flux_docs_checkpoint.bson");
  ASSERT_EQ(file.at("model_state.layers").size(), 2u);
  EXPECT_EQ(file.at("model_state.layers.0.weight").tensor().shape(), (Shape{2, 1}));
  EXPECT_EQ(file.at("model_state.layers.0.weight").tensor().dtype(), f64);
  EXPECT_EQ(file.at("model_state.layers.1.σ").type(), "Base.Missing");
  EXPECT_EQ(named_tensors(file).size(), 4u);
}

TEST_F(BsonData, ConvolutionalModel) {
  const State file = read("flux_modelcnn.bson");
  const State& layers = file.at("model2dcnn.layers");
  ASSERT_EQ(layers.size(), 9u);
  EXPECT_EQ(layers.at("0").type(), "Flux.Conv");
  EXPECT_EQ(layers.at("0.weight").tensor().shape(), (Shape{3, 3, 1, 3}));
  EXPECT_EQ(layers.at("0.stride.1").integer(), 1);
  EXPECT_EQ(layers.at("0.groups").integer(), 1);
  EXPECT_EQ(layers.at("5").type(), "Flux.flatten");
  EXPECT_EQ(layers.at("7.weight").tensor().shape(), (Shape{2, 8}));
  EXPECT_EQ(named_tensors(file).size(), 14u);
}

TEST_F(BsonData, Verdicts) {
  std::ifstream manifest(*tests::test_data("malformed/manifest.tsv"));
  int seen = 0;
  for (std::string line; std::getline(manifest, line);) {
    if (!line.starts_with("bs_")) continue;
    const std::string name = line.substr(0, line.find('\t'));
    const bool accept = line.substr(name.size() + 1).starts_with("accept");
    tests::expect_frugal([&] {
      const std::string verdict =
          tests::verdict_on([&] { read_bson_state(*tests::test_data("malformed/" + name), "read"); });
      EXPECT_EQ(verdict.empty(), accept) << name << ": " << verdict;
    });
    ++seen;
  }
  EXPECT_EQ(seen, 10);
}

}  // namespace
}  // namespace sluice
