// A function of one's own over tensors: written once as a generic lambda, it is one pass over memory on every device,
// and so is its gradient.
#include <cstdio>
#include <iostream>

#include <sluice/sluice.hpp>

using namespace sluice;

int main() {
  // A damped wave through noisy points: amplitude, damping and frequency are found by descent.
  const Tensor t = arange(0, 6, 0.01);
  const auto wave = [](auto time, auto amplitude, auto damping, auto frequency) {
    return amplitude * exp(-damping * time) * sin(frequency * time);
  };
  const Tensor points =
      map(wave, t, full({1}, 2.0), full({1}, 0.4), full({1}, 3.0)) + 0.05 * randn(t.shape(), f32, RandomKey{.seed = 1});

  struct Wave {
    Tensor amplitude, damping, frequency;
    SLUICE_FIELDS(amplitude, damping, frequency)
  };
  Wave model{full({1}, 1.0), full({1}, 0.1), full({1}, 2.5)};
  auto state = setup(Adam{.eta = 0.02}, model);
  for (int step = 0; step < 600; ++step) {
    auto [loss, grads] = withgradient(
        [&](const Wave& m) {
          return mean(map(
              [&](auto time, auto y, auto a, auto d, auto f) {
                const auto error = wave(time, a, d, f) - y;
                return error * error;
              },
              t, points, m.amplitude, m.damping, m.frequency));
        },
        model);
    update(state, model, grads);
    if (step % 150 == 0) std::printf("step %3d  loss %.5f\n", step, static_cast<double>(loss.item<float>()));
  }
  std::printf("amplitude %.3f (2), damping %.3f (0.4), frequency %.3f (3)\n",
              static_cast<double>(model.amplitude.item<float>()), static_cast<double>(model.damping.item<float>()),
              static_cast<double>(model.frequency.item<float>()));

  // A derivative of one's own: rounding has none, the straight-through estimator passes the gradient on.
  const auto quantise = with_derivative([](auto x) { return round(x * 4) / 4; }, [](auto) { return 1; });
  const Tensor x = tensor({0.1, 0.4, 0.9});
  std::cout << quantise(x) << "\nits gradient:\n"
            << gradient([&](const Tensor& v) { return sum(quantise(v) * v); }, x) << '\n';
}
