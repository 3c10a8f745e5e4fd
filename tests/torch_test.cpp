// State_dicts of PyTorch. The files in tests/reference hold the weights, inputs and outputs of PyTorch itself.
#include <gtest/gtest.h>

#include <functional>

#include "messages.hpp"
#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::expect_contains;
using tests::message_of;
using tests::TemporaryFolder;

std::string reference(const std::string& name) { return tests::source_file("tests/reference/" + name); }

Tensor tensor_in(const std::string& path, const std::string& name) { return read_state(path).at(name).tensor(); }

/// Whether the model answers as PyTorch did.
template <class M>
void expect_same_answers(const M& model, const std::string& path) {
  const Tensor y = model(tensor_in(path, "input")), expected = tensor_in(path, "output");
  ASSERT_EQ(y.shape(), expected.shape());
  EXPECT_LT(maximum(abs(y - expected)).item<float>(), 1e-5);
}

TEST(FromTorch, ASequentialIsMatchedInOrder) {
  const std::string path = reference("torch_mlp.safetensors");
  Chain fused(Dense(4, 8, tanh), Dense(8, 8, relu), Dense(8, 3));
  const LoadReport report = from_torch(path, fused, {.prefix = "model"});
  EXPECT_EQ(report.loaded[2].first, "layers.1.weight");
  EXPECT_EQ(report.loaded[2].second, "model.2.weight");
  expect_same_answers(fused, path);
  // Activations as layers of their own have PyTorch's numbers.
  Chain apart(Dense(4, 8), Activation(tanh), Dense(8, 8), relu, Dense(8, 3));
  from_torch(path, apart, {.prefix = "model"});
  expect_same_answers(apart, path);
  Sequential list({Dense(4, 8, tanh), Dropout(0.5), Dense(8, 8, relu), Dense(8, 3)});
  from_torch(path, list, {.prefix = "model"});
  expect_same_answers(list, path);
}

struct Named {
  Dense hidden{5, 7, relu};
  std::vector<Dense> blocks = {Dense(7, 7, tanh), Dense(7, 7, tanh)};
  Chain<Chain<Dense>, Dropout, Dense> head{Chain(Dense(7, 6, relu)), Dropout(0.5), Dense(6, 2, {.bias = false})};
  Tensor operator()(Tensor x) const {
    x = hidden(x);
    for (const Dense& block : blocks) x = block(x);
    return head(x);
  }
  SLUICE_FIELDS(hidden, blocks, head)
};

TEST(FromTorch, FieldsAreAttributes) {
  const std::string path = reference("torch_names.safetensors");
  Named model;
  const LoadReport report = from_torch(path, model, {.prefix = "model", .rename = {{"hidden", "fc1"}}});
  EXPECT_EQ(report.loaded.size(), 9u);
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  expect_same_answers(model, path);
}

TEST(FromTorch, WhatDoesNotFitIsToldAndNothingChanges) {
  const std::string path = reference("torch_names.safetensors");
  Named model;
  const Tensor before = model.hidden.weight;
  expect_contains(
      message_of([&] { from_torch(path, model, {.prefix = "model"}); }),
      {"missing \"model.hidden.weight\" for \"hidden.weight\"", "unexpected \"model.fc1.weight\"", "unchanged"});
  EXPECT_TRUE(model.hidden.weight.same_handle(before));
  Chain wrong(Dense(4, 8), Dense(8, 9), Dense(9, 3));
  expect_contains(message_of([&] { from_torch(reference("torch_mlp.safetensors"), wrong, {.prefix = "model"}); }),
                  {"\"layers.1.weight\" is f32 (9, 8) in the model, f32 (8, 8) from \"model.2.weight\""});
  Chain shorter(Dense(4, 8), Dense(8, 3));
  expect_contains(message_of([&] { from_torch(reference("torch_mlp.safetensors"), shorter, {.prefix = "model"}); }),
                  {"unexpected \"model.4.weight\""});
  const LoadReport report = from_torch(path, model, {.strict = false, .prefix = "model"});
  EXPECT_EQ(report.missing, (std::vector<std::string>{"hidden.weight", "hidden.bias"}));
  EXPECT_THROW(from_torch("model.pt", model), ArgumentError);
}

/// A layer whose names and layout are not PyTorch's: two tensors make one, one is called otherwise, one is ignored.
struct Odd {
  Tensor gates, mean;
  Buffer steps = Buffer(zeros({2}));
  static std::span<const TorchRule> torch_rules() {
    static const TorchRule rules[] = {
        {"gates",
         {"weight_a", "weight_b"},
         [](std::span<const Tensor> stored, const Shape& wanted) { return reshape(stored[0] + stored[1], wanted); }},
        {"mean", {"running_mean"}},
        {"", {"num_batches_tracked"}}};
    return rules;
  }
  SLUICE_FIELDS(gates, mean, steps)
};

TEST(FromTorch, ALayerDeclaresItsRules) {
  const TemporaryFolder folder;
  write_state(folder / "x.safetensors", State(State::Record{{"norm.weight_a", full({3, 2}, 1.5)},
                                                            {"norm.weight_b", full({3, 2}, 2.0)},
                                                            {"norm.running_mean", full({2}, 4.0)},
                                                            {"norm.steps", full({2}, 5.0)},
                                                            {"norm.num_batches_tracked", scalar(std::int64_t{7})}}));
  std::map<std::string, Odd> model{{"norm", {zeros({6}), zeros({2})}}};
  const LoadReport report = from_torch(folder / "x.safetensors", model);
  EXPECT_TRUE(equal(model["norm"].gates, full({6}, 3.5)));
  EXPECT_TRUE(equal(model["norm"].mean, full({2}, 4.0)));
  EXPECT_TRUE(equal(model["norm"].steps.get(), full({2}, 5.0)));
  EXPECT_EQ(report.loaded[0].second, "norm.weight_a + norm.weight_b");
}

TEST(FromTorch, TiedWeightsThatAreStoredOnce) {
  const TemporaryFolder folder;
  Dense a(3, 3, {.bias = false});
  std::pair<Dense, Dense> model{a, a};
  write_state(folder / "x.safetensors", State(State::Record{{"1.weight", arange(0, 9, 1, f32)}}));
  EXPECT_THROW(from_torch(folder / "x.safetensors", model), FileError);  // (9) is no (3, 3)
  const Tensor weight = reshape(arange(0, 9, 1, f32), Shape{3, 3});
  write_state(folder / "x.safetensors", State(State::Record{{"first.weight", weight}}));
  from_torch(folder / "x.safetensors", model, {.rename = {{"0", "first"}, {"1", "second"}}});
  EXPECT_TRUE(model.first.weight.same_handle(model.second.weight));
  EXPECT_TRUE(equal(model.first.weight, transpose(weight)));
}

}  // namespace
}  // namespace sluice
