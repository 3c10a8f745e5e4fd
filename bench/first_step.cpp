// One training step of a small network, from nothing: the time of this whole process is what an application waits
// before its first step. Prints the step's loss and exits.
#include <cstdio>

#include "sluice/sluice.hpp"

int main() {
  using namespace sluice;
  Chain model(Dense(2, 16, relu), Dense(16, 1));
  auto state = setup(Adam{}, model);
  const Tensor x = randn({2, 32}), y = randn({1, 32});
  auto [loss, grads] = withgradient([&](const auto& m) { return mse(m(x), y); }, model);
  update(state, model, grads);
  std::printf("loss %.4f\n", static_cast<double>(loss.item<float>()));
}
