// Models of Flux in files, loaded into the library's own layers: the whole way of somebody who comes from Julia.
#include <gtest/gtest.h>

#include <cmath>

#include "messages.hpp"
#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::expect_contains;
using tests::message_of;

/// What the layers of Dense at the front give for one column, in double; relu between them.
std::vector<double> network_of(const State& layers, std::vector<double> x) {
  std::size_t count = 0;
  while (count < layers.size() && layers.at(std::to_string(count)).find("weight") != nullptr) ++count;
  for (std::size_t k = 0; k < count; ++k) {
    const State& layer = layers.at(std::to_string(k));
    const Tensor w = cast(layer.at("weight").tensor(), f64), b = cast(layer.at("bias").tensor(), f64);
    const auto weight = w.to_vector<double>(), bias = b.to_vector<double>();
    const auto rows = static_cast<std::size_t>(w.size(0));
    std::vector<double> y = bias;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < x.size(); ++j) y[i] += weight[i + rows * j] * x[j];
      if (k + 1 < count) y[i] = std::max(y[i], 0.0);
    }
    x = y;
  }
  return x;
}

template <class Model>
void expect_network(const std::string& file, const std::string& prefix, Model model, const std::vector<double>& x) {
  const std::optional<std::string> path = tests::test_data("checkpoints/" + file);
  if (!path) GTEST_SKIP() << "SLUICE_TEST_DATA is not set";
  load(*path, model, {.prefix = prefix});
  EXPECT_EQ(load(*path, model).loaded.size(), load(*path, model, {.prefix = prefix}).loaded.size());
  const std::vector<double> expected = network_of(read_state(*path).at(prefix + ".layers"), x);
  const Tensor y = cast(model(from(std::vector<float>(x.begin(), x.end()))), f64);
  const std::vector<double> got = y.to_vector<double>();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5 * (1 + std::fabs(expected[i])));
}

TEST(FluxModels, AStateOfJld2) {
  expect_network("cersyve_h.jld2", "state", Chain(Dense(4, 16, relu), Dense(16, 1)), {0.5, -1, 2, 0.25});
  expect_network("cersyve_pendulum_V.jld2", "state", Chain(Dense(2, 32, relu), Dense(32, 32, relu), Dense(32, 1)),
                 {0.3, -0.7});
}

TEST(FluxModels, AWholeModelOfBson) {
  expect_network("flux_docs_mymodel.bson", "model", Chain(Dense(10, 5, relu), Dense(5, 2)),
                 {1, -2, 3, -4, 5, 0.1, 0.2, 0.3, 0.4, 0.5});
}

TEST(FluxModels, AModelOfOtherSizesIsRefusedAndLeftAlone) {
  const std::optional<std::string> path = tests::test_data("checkpoints/cersyve_h.jld2");
  if (!path) GTEST_SKIP() << "SLUICE_TEST_DATA is not set";
  Chain model(Dense(4, 8, relu), Dense(8, 1));
  const Tensor before = std::get<0>(model.layers).weight;
  try {
    load(*path, model, {.prefix = "state"});
    FAIL() << "it was loaded";
  } catch (const FileError& error) {
    const std::string text = error.what();
    for (const char* name : {"layers.0.weight", "layers.0.bias", "layers.1.weight"}) {
      EXPECT_NE(text.find(name), std::string::npos) << text;
    }
  }
  EXPECT_TRUE(std::get<0>(model.layers).weight.same_handle(before));
}

/// Names of the fields of a record, in their order.
std::string fields_of(const State& record) {
  std::string names;
  for (const auto& [name, value] : record.record()) names += name + " ";
  return names;
}

// loadmodel! of Flux wants each layer's fields, all and in its order; these are those of the structs in Flux.
TEST(FluxModels, WhatIsWrittenHasTheFieldsOfFlux) {
  const tests::TemporaryFolder folder;
  const std::string path = folder / "model.bson";
  save(path, Chain(Dense(4, 16, relu), Dropout(0.25), Scale(16), relu, Dense(16, 1, {.bias = false})));
  const State file = read_state(path);
  EXPECT_EQ(fields_of(file), "model_state ");
  EXPECT_EQ(fields_of(file.at("model_state")), "layers ");
  const State& layers = file.at("model_state.layers");
  ASSERT_EQ(layers.size(), 5U);
  for (const char* dense : {"0", "4"}) EXPECT_EQ(fields_of(layers.at(dense)), "weight bias σ ");
  EXPECT_EQ(fields_of(layers.at("1")), "p dims active rng ");
  EXPECT_EQ(fields_of(layers.at("2")), "scale bias σ ");
  for (const char* function : {"0.σ", "1.rng", "3"}) EXPECT_EQ(layers.at(function).type(), "Core.Tuple") << function;
  EXPECT_FALSE(layers.at("4.bias").boolean()) << "Flux writes false where there is no bias";
}

struct Affine {
  Tensor bias = ones({2}), w = ones({2, 3});
  static std::span<const FluxField> flux_fields() {
    static constexpr FluxField kFields[] = {{"weight", "w"}, {"bias", "bias"}, {"σ", ""}};
    return kFields;
  }
  SLUICE_FIELDS(bias, w)
};

TEST(FluxModels, ALayerOfOnesOwnListsItsFields) {
  const tests::TemporaryFolder folder;
  const std::string path = folder / "model.bson";
  save(path, Affine());
  EXPECT_EQ(fields_of(read_state(path).at("model_state")), "weight bias σ ");
  Affine again{.bias = zeros({2}), .w = zeros({2, 3})};
  load(path, again, {.prefix = "model_state", .rename = {{"w", "weight"}}});
  EXPECT_TRUE(equal(again.w, ones({2, 3})));
}

/// Its list of fields is the one given.
template <const auto& kFields>
struct Listed {
  Tensor weight = ones({2}), bias = ones({2});
  static std::span<const FluxField> flux_fields() { return kFields; }
  SLUICE_FIELDS(weight, bias)
};
constexpr FluxField kWithout[] = {{"weight", "weight"}};
constexpr FluxField kMistyped[] = {{"weight", "weight"}, {"bias", "bias"}, {"extra", "typo"}};

TEST(FluxModels, FieldsThatWouldBeLostAreErrors) {
  const tests::TemporaryFolder folder;
  const std::string path = folder / "x.bson";
  expect_contains(message_of<ArgumentError>([&] { save(path, Listed<kWithout>()); }), {"save: " + path, "\"bias\""});
  expect_contains(message_of<ArgumentError>([&] { save(path, Listed<kMistyped>()); }), {"save: " + path, "\"typo\""});
  EXPECT_EQ(folder.files(), 0U);
}

TEST(FluxModels, NamesThatClashAreErrors) {
  const tests::TemporaryFolder folder;
  const std::string path = folder / "x.bson";
  using Inner = std::map<std::string, Tensor>;
  const std::map<std::string, Inner> clash{{"a", {{"b.c", ones({1})}}}, {"a.b", {{"c", ones({1})}}}};
  expect_contains(message_of<ArgumentError>([&] { save(path, clash); }), {"save: " + path, "\"a.b.c\""});
  Inner unnamed{{"", full({1}, 2.0)}, {"x", full({1}, 3.0)}}, loaded{{"", zeros({1})}, {"x", zeros({1})}};
  save(path, unnamed);
  load(path, loaded);
  EXPECT_TRUE(equal(loaded.at(""), unnamed.at("")) && equal(loaded.at("x"), unnamed.at("x")));
}

TEST(FluxModels, ACounterThatFluxHasNoFieldForIsReported) {
  const tests::TemporaryFolder folder;
  Chain model(Dense(2, 3), Dropout(0.5));
  save(folder / "x.bson", model);
  EXPECT_EQ(load(folder / "x.bson", model).missing, std::vector<std::string>{"layers.1.counter"});
  save(folder / "x.npz", model);
  EXPECT_TRUE(load(folder / "x.npz", model).missing.empty());
}

TEST(FluxModels, WhatIsWrittenIsReadHoweverLarge) {
  const tests::TemporaryFolder folder;
  const std::string path = folder / "x.bson";
  const Tensor one = ones({1});
  int written = 0, refused = 0;
  for (const std::size_t count : {1000, 20'000, 32'000, 40'000, 80'000}) {
    std::vector<Tensor> model(count), loaded(count);
    for (std::size_t i = 0; i < count; ++i) model[i] = ones({1}), loaded[i] = one;
    try {
      save(path, model);
    } catch (const ArgumentError& error) {
      expect_contains(error.what(), {path, "too many values"});
      ++refused;
      continue;
    }
    EXPECT_EQ(load(path, loaded).loaded.size(), count);
    ++written;
  }
  EXPECT_GE(written, 3);
  EXPECT_GE(refused, 1);
}

TEST(FluxModels, TheNameOfTheWholeIsNotNeeded) {
  const tests::TemporaryFolder folder;
  Chain model(Dense(4, 3, relu), Dense(3, 2)), other(Dense(4, 3, relu), Dense(3, 2));
  save(folder / "x.bson", model);
  load(folder / "x.bson", other);
  EXPECT_TRUE(equal(std::get<0>(other.layers).weight, std::get<0>(model.layers).weight));
  load(folder / "x.bson", other, {.prefix = "model_state"});
  EXPECT_THROW(load(folder / "x.bson", other, {.prefix = "model"}), FileError);

  const Tensor x = rand({2, 3});
  Tensor y = zeros({2, 3});
  save(folder / "tensor.bson", x);
  load(folder / "tensor.bson", y);
  EXPECT_TRUE(equal(x, y));

  // A field of the very name means that field.
  std::map<std::string, Tensor> named{{"model_state", x}}, loaded{{"model_state", zeros({2, 3})}};
  save(folder / "named.bson", named);
  load(folder / "named.bson", loaded);
  EXPECT_TRUE(equal(loaded.at("model_state"), x));

  // A file that fits as it is stays as it is, although it would fit below its only name as well.
  struct Inner {
    Tensor weight = ones({2});
    Dense h{2, 2, {.bias = false}};
    SLUICE_FIELDS(weight, h)
  };
  struct Outer {
    Inner h;
    SLUICE_FIELDS(h)
  } outer, again;
  outer.h.weight = rand({2});
  write_state(folder / "outer.bson", state(outer));
  load(folder / "outer.bson", again);
  EXPECT_TRUE(equal(again.h.weight, outer.h.weight));
  EXPECT_TRUE(equal(again.h.h.weight, outer.h.h.weight));
}

TEST(FluxModels, WhatIsWrittenForFluxLoadsHereAgain) {
  const tests::TemporaryFolder folder;
  const std::string path = folder / "model.bson";
  const Chain model(Dense(4, 16, relu), Dropout(0.25), Dense(16, 1, {.bias = false}));
  save(path, model);
  Chain again(Dense(4, 16, relu), Dropout(0.25), Dense(16, 1, {.bias = false}));
  load(path, again, {.prefix = "model_state"});
  const Tensor x = rand({4, 3});
  EXPECT_TRUE(equal(model(x), again(x)));
}

}  // namespace
}  // namespace sluice
