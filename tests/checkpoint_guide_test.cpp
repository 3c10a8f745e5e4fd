// The examples of docs/checkpoints.md and of the headers, as they stand there.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

/// Works in a folder of its own.
class Guide : public ::testing::Test {
 protected:
  Guide() : before_(std::filesystem::current_path()) { std::filesystem::current_path(folder_.path()); }
  ~Guide() override { std::filesystem::current_path(before_); }

 private:
  tests::TemporaryFolder folder_;
  std::filesystem::path before_;
};

struct Norm {
  Tensor scale;
  Buffer mean;
  static std::span<const TorchRule> torch_rules() {
    static const TorchRule rules[] = {{"scale", {"weight"}}, {"mean", {"running_mean"}}, {"", {"num_batches_tracked"}}};
    return rules;
  }
  SLUICE_FIELDS(scale, mean)
};

TEST_F(Guide, SavingAndLoading) {
  Chain model(Dense(2, 3, relu), Dropout(0.5), Dense(3, 1));
  OptimiserState state = setup(Adam{}, model);
  Generator generator(7);
  save("net.safetensors", model);
  load("net.safetensors", model);
  auto run = std::tie(model, state, generator);
  save("run.safetensors", run);
  generator.next();
  load("run.safetensors", run);
  EXPECT_EQ(generator, Generator(7));
}

TEST_F(Guide, Trees) {
  save("model.npz", Chain(Dense(2, 3)));
  State tree = read_state("model.npz");
  Tensor weight = tree.at("layers.0.weight").tensor();
  write_state("model.safetensors.index.json", tree, {.shard_bytes = 2'000'000'000});
  EXPECT_EQ(weight.shape(), (Shape{3, 2}));
}

TEST_F(Guide, PyTorch) {
  std::filesystem::copy_file(tests::source_file("tests/reference/torch_mlp.safetensors"), "mlp.safetensors");
  Chain model(Dense(4, 8, tanh), Dense(8, 8, relu), Dense(8, 3));
  std::ostringstream text;
  text << from_torch("mlp.safetensors", model, {.prefix = "model"});
  EXPECT_EQ(text.str().substr(0, 8), "6 loaded");
  write_state("norm.safetensors", State(State::Record{{"weight", full({2}, 3.0)},
                                                      {"running_mean", full({2}, 4.0)},
                                                      {"num_batches_tracked", scalar(std::int64_t{9})}}));
  Norm norm{zeros({2}), Buffer(zeros({2}))};
  from_torch("norm.safetensors", norm);
  EXPECT_TRUE(equal(norm.scale, full({2}, 3.0)) && equal(norm.mean.get(), full({2}, 4.0)));
}

TEST_F(Guide, NumPy) {
  write_npy("x.npy", ones({2, 3}));
  write_npy("images.npy", ones({5, 28, 28}));
  Tensor x = read_npy("x.npy");
  Tensor images = read_npy("images.npy", {.reverse = true});
  write_npz("both.npz", {{"x", x}, {"images", images}});
  EXPECT_EQ(images.shape(), (Shape{28, 28, 5}));
  EXPECT_EQ(read_npz("both.npz").size(), 2u);
}

TEST_F(Guide, Dlpack) {
  Tensor x = arange(4);
  dlpack::ManagedTensorVersioned* lent = to_dlpack_versioned(x);
  Tensor y = from_dlpack(lent);
  EXPECT_TRUE(equal(x, y));
}

}  // namespace
}  // namespace sluice
