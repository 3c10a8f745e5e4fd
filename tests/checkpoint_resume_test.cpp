// A run that is saved and goes on in another process takes the same steps, bit for bit.
#include <gtest/gtest.h>

#include <limits>

#include <cstring>

#include "messages.hpp"
#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::TemporaryFolder;

struct Net {
  Dense hidden{4, 8, tanh};
  Dropout dropout{0.5};
  Dense out{8, 2};
  Tensor operator()(const Tensor& x) const { return out(dropout(hidden(x))); }
  SLUICE_FIELDS(hidden, dropout, out)
};

/// A whole run: what a step needs is in here, the generator of its data included.
struct Training {
  Net model;
  OptimiserState state;
  Generator data{42};
  double loss = 0;  // only shown
  SLUICE_FIELDS(model, state, data, loss)

  void step() {
    const Tensor x = randn({4, 16}, data), y = randn({2, 16}, data);
    auto [value, grads] = withgradient([&, x = x, y = y](auto& m) { return mse(m(x), y); }, model);
    update(state, model, grads);
    loss = value.template item<float>();
  }
};

Training fresh() {
  Training run;
  run.state = setup(OptimiserChain(ClipNorm{1}, AdamW{.eta = 0.01}), run.model);
  return run;
}

void expect_same_bytes(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_EQ(0, std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()));
}

TEST(Resume, GoesOnBitForBit) {
  const TemporaryFolder folder;
  for (const char* name : {"run.safetensors", "run.npz"}) {
    seed(1);
    Training first = fresh();
    for (int i = 0; i < 3; ++i) first.step();
    adjust(first.state, "hidden", "eta", 0.003);
    adjust(first.state, "out.bias", "lambda", 0.25);
    freeze(first.state, "out.weight");
    save(folder / name, first);
    for (int i = 0; i < 3; ++i) first.step();

    seed(99);
    Training second = fresh();
    load(folder / name, second);
    EXPECT_TRUE(second.state.at("out.weight").frozen);
    EXPECT_FALSE(second.state.at("out.bias").frozen);
    EXPECT_EQ(second.state.at("hidden.bias").step_count(), 3);
    EXPECT_TRUE(second.state.at("hidden.bias").rule.same(second.state.at("hidden.weight").rule));
    for (int i = 0; i < 3; ++i) second.step();
    expect_same_bytes(first.model.hidden.weight, second.model.hidden.weight);
    expect_same_bytes(first.model.out.bias, second.model.out.bias);
    expect_same_bytes(first.model.out.weight, second.model.out.weight);
    EXPECT_EQ(first.loss, second.loss);
    EXPECT_EQ(first.data, second.data);
  }
}

TEST(Resume, TheGeneratorOfTheProcess) {
  const TemporaryFolder folder;
  seed(7);
  next_random_key();
  Generator generator = random_state();
  save(folder / "x.safetensors", generator);
  const Tensor expected = rand({5});
  seed(8);
  Generator loaded;
  load(folder / "x.safetensors", loaded);
  set_random_state(loaded);
  EXPECT_TRUE(equal(rand({5}), expected));
}

TEST(Resume, ATupleOfReferences) {
  const TemporaryFolder folder;
  Training run = fresh();
  run.step();
  auto all = std::tie(run.model, run.state, run.data);
  save(folder / "x.safetensors", all);
  Training other = fresh();
  auto target = std::tie(other.model, other.state, other.data);
  const LoadReport report = load(folder / "x.safetensors", target);
  expect_same_bytes(run.model.out.weight, other.model.out.weight);
  EXPECT_EQ(other.state.at("out.weight").step_count(), 1);
  EXPECT_EQ(report.loaded.front().first, "0.hidden.weight");
}

TEST(Resume, NumbersThatARuleRefusesChangeNothing) {
  const TemporaryFolder folder;
  Tensor x = ones({2});
  OptimiserState state = setup(Adam{.eta = 0.5}, x);
  save(folder / "x.safetensors", state);
  NamedTensors tensors = read_tensors(folder / "x.safetensors");
  State::Record changed;
  for (auto& [name, tensor] : tensors) {
    const bool is_eta = name.ends_with("rule.0.eta"), is_state = name.ends_with("tensors.0");
    changed.emplace_back(name, is_eta ? scalar(-1.0) : is_state ? full({2}, 7.0) : tensor);
  }
  write_state(folder / "y.safetensors", State(changed));
  try {
    load(folder / "y.safetensors", state);
    ADD_FAILURE();
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("the learning rate cannot be negative"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(state.leaves()[0].rule.fields()[0].second, 0.5);
  EXPECT_TRUE(equal(state.leaves()[0].tensors[0], zeros({2})));
}

TEST(Resume, ANegativeNumberOfStepsChangesNothing) {
  const TemporaryFolder folder;
  Tensor x = ones({2});
  OptimiserState state = setup(Adam{}, x);
  save(folder / "x.safetensors", state);
  State::Record changed;
  for (auto& [name, tensor] : read_tensors(folder / "x.safetensors")) {
    const bool is_steps = name.ends_with("steps"), is_state = name.ends_with("tensors.0");
    changed.emplace_back(name, is_steps ? from(std::vector<std::int64_t>{0, -3}) : is_state ? full({2}, 7.0) : tensor);
  }
  write_state(folder / "y.safetensors", State(changed));
  tests::expect_contains(tests::message_of<FileError>([&] { load(folder / "y.safetensors", state); }),
                         {folder / "y.safetensors", "the state of \"\"", "-3"});
  EXPECT_EQ(state.leaves()[0].step_count(), 0);
  EXPECT_TRUE(equal(state.leaves()[0].tensors[0], zeros({2})));
}

TEST(Resume, FrozenIsYesOrNo) {
  const TemporaryFolder folder;
  Tensor x = ones({2});
  OptimiserState state = setup(Adam{}, x);
  freeze(state);
  save(folder / "x.safetensors", state);
  for (const double frozen : {7.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    State::Record changed;
    for (auto& [name, tensor] : read_tensors(folder / "x.safetensors")) {
      changed.emplace_back(name, name.ends_with("frozen") ? scalar(frozen) : tensor);
    }
    write_state(folder / "y.safetensors", State(changed));
    tests::expect_contains(tests::message_of<FileError>([&] { load(folder / "y.safetensors", state); }),
                           {"frozen is "});
    EXPECT_TRUE(state.leaves()[0].frozen);
  }
}

TEST(Resume, AnotherRuleDoesNotFit) {
  const TemporaryFolder folder;
  Tensor x = ones({2});
  OptimiserState adam = setup(Adam{}, x), other = setup(RMSProp{}, x);
  save(folder / "x.safetensors", adam);
  try {
    load(folder / "x.safetensors", other);
    ADD_FAILURE();
  } catch (const FileError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("missing \"0.rule.0.rho\""), std::string::npos) << text;
    EXPECT_NE(text.find("unexpected \"0.rule.0.beta1\""), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace sluice
