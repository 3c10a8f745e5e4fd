#include "sluice/state.hpp"

#include <gtest/gtest.h>

#include "sluice/error.hpp"
#include "sluice/ops.hpp"

namespace sluice {
namespace {

State example() {
  return State::Record{{"layers", State::List{State::Record{{"weight", from(std::vector{1.0F, 2.0F})}, {"σ", {}}},
                                              State::Record{{"weight", from(std::vector{3.0F})}, {"bias", false}}}},
                       {"a.b", 5},
                       {"a", State::Record{{"b", 6}, {"c", "text"}}}};
}

TEST(State, PathsLeadToNodes) {
  const State state = example();
  EXPECT_EQ(state.at("layers.1.weight").tensor().item<float>(), 3.0F);
  EXPECT_TRUE(state.at("layers.0.σ").is_nothing());
  EXPECT_FALSE(state.at("layers.1.bias").boolean());
  EXPECT_EQ(&state.at(""), &state);
}

TEST(State, TheLongestNameThatFitsIsTaken) {
  const State state = example();
  EXPECT_EQ(state.at("a.b").integer(), 5);
  EXPECT_EQ(state.at("a.c").text(), "text");
}

TEST(State, AnErrorSaysHowFarThePathGoes) {
  const State state = example();
  for (const auto& [path, words] : std::vector<std::pair<std::string, std::string>>{
           {"layers.2.weight", "State: there is no \"layers.2.weight\": \"layers\" is a list of 2"},
           {"layers.0.weight.x", "State: there is no \"layers.0.weight.x\": \"layers.0.weight\" is f32 (2)"},
           {"b", "State: there is no \"b\": the whole is a record of 3: layers, a.b, a"},
           {"layers..0", "State: there is no \"layers..0\": \"layers\" is a list of 2"}}) {
    try {
      (void)state.at(path);
      FAIL() << path;
    } catch (const ArgumentError& error) {
      EXPECT_EQ(std::string(error.what()), words);
    }
  }
}

TEST(State, AWrongKindIsRefused) {
  EXPECT_THROW((void)State(5).real(), ArgumentError);
  EXPECT_THROW((void)State().tensor(), ArgumentError);
  EXPECT_THROW((void)State("x").list(), ArgumentError);
}

TEST(State, TensorsAreListedDepthFirstWithTies) {
  const Tensor x = from(std::vector{1});
  const NamedTensors found = named_tensors(State::Record{{"b", State::List{x, 5, x}}, {"a", x}});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].first, "b.0");
  EXPECT_EQ(found[1].first, "b.2");
  EXPECT_EQ(found[2].first, "a");
  for (const auto& [name, tensor] : found) EXPECT_TRUE(tensor.same_handle(x)) << name;
}

TEST(State, NamedTensorsMakeATree) {
  const Tensor x = from(std::vector{1}), y = from(std::vector{2});
  const NamedTensors tensors = {{"layers.1.weight", x}, {"layers.0.weight", y}, {"layers.0.bias", x}, {"scale.2", y}};
  const State tree = tree_of(tensors);
  EXPECT_TRUE(tree.at("layers").is_list());
  EXPECT_TRUE(tree.at("scale").is_record()) << "a list begins with 0";
  EXPECT_EQ(tree.at("layers.0").record().size(), 2U);
  EXPECT_EQ(named_tensors(tree).size(), tensors.size());
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(tree.at(name).tensor().same_handle(tensor)) << name;
}

TEST(State, NamesThatMakeNoTreeAreRefused) {
  const Tensor x = from(std::vector{1});
  for (const auto& [first, second] : std::vector<std::pair<std::string, std::string>>{
           {"a", "a.b"}, {"a.b", "a"}, {"a.b", "a.b"}, {"x", std::string(400, '.')}}) {
    EXPECT_THROW((void)tree_of({{first, x}, {second, x}}), ArgumentError) << first << ", " << second;
  }
}

}  // namespace
}  // namespace sluice
