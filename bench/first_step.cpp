// One training step of a small network, from nothing: the time of this whole process is what an application waits
// before its first step. Prints the step's loss and exits.
//
//   first_step [DEVICE]      on the CPU, or on "CUDA:0"
#include <cstdio>

#include "sluice/sluice.hpp"

int main(int argc, char** argv) {
  using namespace sluice;
  const Device device = argc > 1 ? get_device(argv[1]) : cpu_device();
  auto model = Chain(Dense(2, 16, relu), Dense(16, 1)) | device;
  auto state = setup(Adam{}, model);
  const Tensor x = randn({2, 32}) | device, y = randn({1, 32}) | device;
  auto [loss, grads] = withgradient([&](const auto& m) { return mse(m(x), y); }, model);
  update(state, model, grads);
  std::printf("loss %.4f\n", static_cast<double>(loss.item<float>()));
}
