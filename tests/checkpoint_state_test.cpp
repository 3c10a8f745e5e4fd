// Trees of models and back: Flux's rules, renaming, prefixes, reports.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "fake_device.hpp"
#include "messages.hpp"
#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::expect_contains;
using tests::message_of;
using tests::TemporaryFolder;

/// A State as Flux writes one of Chain(Dense(2 => 3), Dense(3 => 1; bias = false)).
State flux_state(const Tensor& w0, const Tensor& b0, const Tensor& w1, const State& b1) {
  const State none = State(State::List());
  const State first = State::Record{{"weight", w0}, {"bias", b0}, {"σ", none}};
  const State second = State::Record{{"weight", w1}, {"bias", b1}, {"σ", none}};
  return State::Record{{"layers", State(State::List{first, second})}};
}

TEST(State, OfAModel) {
  struct Net {
    Chain<Dense, Dropout> body{Dense(2, 3, relu), Dropout(0.25)};
    std::vector<Tensor> list = {ones({1}), Tensor()};
    int epochs = 4;
    double rate = 0.5;
    bool flag = true;
    std::string label = "net";
    Generator random{3, 4};
    Tensor (*function)(const Tensor&) = nullptr;
    Buffer mean = Buffer(ones({2}));
    SLUICE_FIELDS(body, list, epochs, rate, flag, label, random, function, mean)
  };
  const Net net;
  const State tree = state(net);
  EXPECT_TRUE(tree.at("body.layers.0.weight").tensor().same_handle(net.body.get<0>().weight));
  EXPECT_TRUE(tree.at("body.layers.0.activation").is_nothing());
  EXPECT_TRUE(tree.at("list.0").is_tensor());
  EXPECT_TRUE(tree.at("list.1").is_nothing());
  EXPECT_EQ(tree.at("epochs").integer(), 4);
  EXPECT_EQ(tree.at("rate").real(), 0.5);
  EXPECT_EQ(tree.at("flag").boolean(), true);
  EXPECT_EQ(tree.at("label").text(), "net");
  EXPECT_EQ(tree.at("random").tensor().to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 4}));
  EXPECT_TRUE(tree.at("function").is_nothing());
  EXPECT_TRUE(equal(tree.at("mean").tensor(), ones({2})));
  Net other;
  other.body = Chain(Dense(2, 3, relu), Dropout(0.25));
  other.random = Generator(9);
  other.epochs = 1;
  load_state(other, tree);
  EXPECT_TRUE(equal(other.body.get<0>().weight, net.body.get<0>().weight));
  EXPECT_EQ(other.random, net.random);
  EXPECT_EQ(other.epochs, 1);  // numbers stay
}

TEST(LoadState, AFluxStateLoadsIntoOurModel) {
  const Tensor w0 = randn({3, 2}, f64), b0 = randn({3}), w1 = randn({1, 3});
  Chain model(Dense(2, 3, relu), Dense(3, 1));
  const LoadReport report = load_state(model, flux_state(w0, b0, w1, State(false)));
  EXPECT_TRUE(equal(model.get<0>().weight, cast(w0, f32)));
  EXPECT_TRUE(equal(model.get<0>().bias, b0));
  EXPECT_TRUE(equal(model.get<1>().bias, zeros({1})));
  EXPECT_EQ(report.loaded.size(), 3u);
  Chain without(Dense(2, 3), Dense(3, 1, {.bias = false}));
  load_state(without, flux_state(w0, b0, w1, State(false)));
  load_state(without, flux_state(w0, b0, w1, State(zeros({1}))));
  EXPECT_FALSE(without.get<1>().bias);
}

TEST(LoadState, ABiasThatIsNotZeroIsNotLost) {
  const Tensor w0 = randn({3, 2}), b0 = randn({3}), w1 = randn({1, 3});
  Chain model(Dense(2, 3), Dense(3, 1));
  model.get<1>().bias = ones({1});
  const Tensor before = model.get<0>().weight;
  expect_contains(message_of<ArgumentError>([&] { load_state(model, flux_state(w0, b0, w1, State(false))); }),
                  {"layers.1.bias", "other than zero", "false"});
  EXPECT_TRUE(model.get<0>().weight.same_handle(before));
  Chain without(Dense(2, 3), Dense(3, 1, {.bias = false}));
  expect_contains(message_of<ArgumentError>([&] { load_state(without, flux_state(w0, b0, w1, State(ones({1})))); }),
                  {"layers.1.bias", "empty in the model"});
}

TEST(LoadState, ZerosStandForNoBiasInBothDirections) {
  Dense with(2, 3), without(2, 3, {.bias = false});
  const Tensor weight = without.weight;
  loadmodel(with, without);
  EXPECT_TRUE(equal(with.weight, weight));
  EXPECT_TRUE(equal(with.bias, zeros({3})));
  load_state(with, state(without));
  loadmodel(without, with);
  load_state(without, state(with));
  with.bias = ones({3});
  EXPECT_THROW(loadmodel(with, without), ArgumentError);
  EXPECT_EQ(load_state(with, state(without), {.strict = false, .cast = true}).missing,
            std::vector<std::string>{"bias"});
  EXPECT_TRUE(equal(with.bias, ones({3})));
}

TEST(LoadState, WhatIsNoTensorIsCalledWhatItIs) {
  Dense model(2, 3);
  const auto message_for = [&](const State& weight) {
    return message_of<ArgumentError>([&] {
      load_state(model, State::Record{{"weight", weight}, {"bias", zeros({3})}});
    });
  };
  expect_contains(message_for("heavy"), {"\"weight\" is f32 (3, 2) in the model, text"});
  expect_contains(message_for(true), {"\"weight\"", "true"});
  expect_contains(message_for(7), {"\"weight\"", "7"});
  Dense without(2, 3, {.bias = false});
  for (const State& bias : {State("x"), State(true), State(0)}) {
    const State tree = State::Record{{"weight", zeros({3, 2})}, {"bias", bias}};
    EXPECT_THROW(load_state(without, tree), ArgumentError) << bias.describe();
    EXPECT_EQ(load_state(without, tree, {.strict = false}).unexpected, std::vector<std::string>{"bias"});
  }
  // What is not strict passes over what does not mean the same.
  model.bias = ones({3});
  EXPECT_EQ(load_state(model, State::Record{{"weight", zeros({3, 2})}, {"bias", false}}, {.strict = false}).missing,
            std::vector<std::string>{"bias"});
  EXPECT_EQ(load_state(without, state(model), {.strict = false}).unexpected, std::vector<std::string>{"bias"});
}

TEST(LoadOptions, RulesOfFluxAreNotThoseOfFiles) {
  const TemporaryFolder folder;
  Dense with(2, 3), without(2, 3, {.bias = false});
  for (const char* const name : {"x.npz", "x.safetensors"}) {
    save(folder / name, with);
    expect_contains(message_of<FileError>([&] { load(folder / name, without); }), {"unexpected \"bias\""});
    EXPECT_EQ(load(folder / name, without, {.strict = false}).unexpected, std::vector<std::string>{"bias"}) << name;
  }
}

TEST(WriteState, ATensorThatHoldsNothingIsNothing) {
  const TemporaryFolder folder;
  write_state(folder / "x.bson", State::Record{{"none", Tensor()}, {"w", ones({2})}});
  const State back = read_state(folder / "x.bson");
  EXPECT_TRUE(back.at("none").is_nothing());
  EXPECT_TRUE(equal(back.at("w").tensor(), ones({2})));
}

TEST(State, NumbersWithoutASignThatAreTooLargeAreRefused) {
  EXPECT_EQ(State(std::uint64_t{1} << 62).integer(), std::int64_t{1} << 62);
  EXPECT_THROW(State(~std::uint64_t{0}), ArgumentError);
  EXPECT_EQ(State(std::uint8_t{255}).integer(), 255);
}

TEST(LoadState, GeneratorsMayBeMissing) {
  Chain model(Dense(2, 3), Dropout(0.5));
  const Generator before = model.get<1>().counter.get();
  const State dropout = State::Record{{"p", State(0.5)}, {"dims", State()}, {"active", State()}, {"rng", State()}};
  const State dense = State::Record{{"weight", ones({3, 2})}, {"bias", State(zeros({3}))}, {"σ", State()}};
  load_state(model, State(State::Record{{"layers", State(State::List{dense, dropout})}}));
  EXPECT_EQ(model.get<1>().counter.get(), before);
  EXPECT_TRUE(equal(model.get<0>().weight, ones({3, 2})));
}

TEST(LoadModel, CopiesByNameAndKeepsTheRest) {
  Chain from(Dense(2, 3), Dropout(0.1)), to(Dense(2, 3, relu), Dropout(0.9));
  const Generator before = to.get<1>().counter.get();
  loadmodel(to, from);
  EXPECT_TRUE(equal(to.get<0>().weight, from.get<0>().weight));
  EXPECT_EQ(to.get<1>().p, 0.9);
  EXPECT_EQ(to.get<1>().counter.get(), before);
  Sequential untyped({Dense(2, 3), Dropout(0.2)});
  loadmodel(untyped, from);
  EXPECT_TRUE(equal(untyped[0].as<Dense>()->weight, from.get<0>().weight));
  Chain longer(Dense(2, 3), Dropout(0.1), Dense(3, 1));
  expect_contains(message_of<ArgumentError>([&] { loadmodel(longer, from); }),
                  {"missing \"layers.2.weight\"", "missing \"layers.2.bias\""});
  Chain wider(Dense(2, 4), Dropout(0.1));
  expect_contains(message_of<ArgumentError>([&] { loadmodel(wider, from); }), {"f32 (4, 2)", "f32 (3, 2)"});
}

TEST(LoadModel, TiedPlacesNeedEqualTensors) {
  struct Tied {
    Tensor a = randn({3}), b = a;
    SLUICE_FIELDS(a, b)
  };
  Tied to, from;
  from.b = randn({3});
  expect_contains(message_of<ArgumentError>([&] { loadmodel(to, from); }), {"\"a\" and \"b\" are one tensor"});
  EXPECT_TRUE(to.a.same_handle(to.b));
}

TEST(LoadModel, GoesBetweenDevicesAndTypes) {
  tests::FakeDevice fake;
  const Device device(&fake);
  {
    const Dense from = f64(Dense(2, 3));
    Dense to = device(Dense(2, 3));
    loadmodel(to, from);
    EXPECT_EQ(to.weight.device(), device);
    EXPECT_TRUE(equal(cpu(to).bias, zeros({3})));
  }
  EXPECT_EQ(fake.blocks, 0);
}

TEST(LoadOptions, PrefixAndRename) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  struct Net {
    Dense hidden{2, 3}, out{3, 1};
    SLUICE_FIELDS(hidden, out)
  };
  const Net net;
  save(path, net, {.prefix = "model", .rename = {{"hidden", "fc1"}, {"out.bias", "shift"}}});
  std::vector<std::string> names;
  for (const auto& [name, tensor] : read_tensors(path)) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"model.fc1.weight", "model.fc1.bias", "model.out.weight", "model.shift"}));
  Net other;
  const LoadReport report =
      load(path, other, {.prefix = "model", .rename = {{"hidden", "fc1"}, {"out.bias", "shift"}}});
  EXPECT_TRUE(equal(other.hidden.weight, net.hidden.weight));
  std::ostringstream text;
  text << report;
  EXPECT_EQ(text.str(),
            "4 loaded, 0 missing, 0 unexpected\n  hidden.weight <- model.fc1.weight\n  hidden.bias <- model.fc1.bias\n"
            "  out.weight <- model.out.weight\n  out.bias <- model.shift\n");
  save(path, net, {.prefix = "model"});
  expect_contains(message_of<FileError>([&] { load(path, other); }), {"pass .prefix = \"model\""});
  // What lies beside the prefix is nobody's business.
  write_state(path, State(State::Record{
                        {"a.weight", net.hidden.weight}, {"a.bias", net.hidden.bias}, {"b.weight", net.out.weight}}));
  Dense part(2, 3);
  load(path, part, {.prefix = "a"});
  EXPECT_TRUE(equal(part.weight, net.hidden.weight));
}

TEST(LoadOptions, NotStrict) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  write_state(path, State(State::Record{{"weight", ones({3, 2})}, {"more", ones({1})}}));
  Dense layer(2, 3);
  expect_contains(message_of<FileError>([&] { load(path, layer); }), {"missing \"bias\"", "unexpected \"more\""});
  const LoadReport report = load(path, layer, {.strict = false});
  EXPECT_TRUE(equal(layer.weight, ones({3, 2})));
  EXPECT_EQ(report.missing, std::vector<std::string>{"bias"});
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"more"});
  Dense other(2, 4);
  EXPECT_THROW(load(path, other, {.strict = false}), FileError);  // a size that differs is never passed over
}

TEST(LoadOptions, Cast) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  const Tensor x = randn({3});
  save(path, f64(x));
  Tensor y = zeros({3});
  expect_contains(message_of<FileError>([&] { load(path, y); }), {"f32 (3)", "f64 (3)", ".cast = true"});
  load(path, y, {.cast = true});
  EXPECT_TRUE(equal(x, y));
  Tensor integers = zeros({3}, i32);
  EXPECT_THROW(load(path, integers, {.cast = true}), FileError);
}

TEST(SaveOptions, Metadata) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  save(path, ones({1}), {.metadata = {{"epoch", "3"}, {"note", "é \"x\""}}});
  const auto metadata = read_metadata(path);
  EXPECT_EQ(metadata.at("epoch"), "3");
  EXPECT_EQ(metadata.at("note"), "é \"x\"");
  EXPECT_THROW(save(path, ones({1}), {.metadata = {{"sluice.order", "x"}}}), ArgumentError);
  EXPECT_THROW(save(folder / "x.npz", ones({1}), {.metadata = {{"epoch", "3"}}}), ArgumentError);
}

TEST(Formats, EndingsAndNames) {
  const TemporaryFolder folder;
  const Dense layer(2, 3);
  save(folder / "model.bin", layer, {.format = "safetensors"});
  Dense other(2, 3);
  load(folder / "model.bin", other, {.format = "safetensors"});
  EXPECT_TRUE(equal(other.weight, layer.weight));
  expect_contains(message_of<ArgumentError>([&] { load(folder / "model.bin", other); }),
                  {"pickle", "runs code", "save_file"});
  expect_contains(message_of<ArgumentError>([&] { save(folder / "model.x", layer); }), {".safetensors", ".npz"});
  expect_contains(message_of<ArgumentError>([&] { save(folder / "m", layer, {.format = "hdf"}); }), {"hdf", "npz"});
  save(folder / "model.npz", layer);
  std::filesystem::rename(folder / "model.npz", folder / "model.safetensors");
  expect_contains(message_of<FileError>([&] { load(folder / "model.safetensors", other); }), {"begins as npz"});
  save(folder / "model.safetensors", layer);
  std::filesystem::rename(folder / "model.safetensors", folder / "model.bson");
  expect_contains(message_of<FileError>([&] { load(folder / "model.bson", other); }), {"begins as safetensors"});
}

TEST(Formats, StatesInEveryFormatThatIsWritten) {
  const TemporaryFolder folder;
  const Tensor shared = randn({2, 3});
  const State tree = State::Record{{"a", State(State::Record{{"w", shared}})}, {"b", shared}, {"c", arange(4)}};
  for (const char* name : {"x.safetensors", "x.npz"}) {
    write_state(folder / name, tree);
    const State back = read_state(folder / name);
    EXPECT_TRUE(equal(back.at("a.w").tensor(), shared)) << name;
    EXPECT_TRUE(equal(back.at("b").tensor(), shared)) << name;
    EXPECT_TRUE(equal(back.at("c").tensor(), arange(4))) << name;
  }
  const State mixed = State::Record{{"p", State(0.5)}};
  expect_contains(message_of<ArgumentError>([&] { write_state(folder / "x.npz", mixed); }), {"\"p\"", "0.5"});
}

}  // namespace
}  // namespace sluice
