// A layer of one's own, with a parameter, state that is not trained, and an operation with its own pullback.
#include <cstdio>
#include <iostream>

#include <sluice/sluice.hpp>

using namespace sluice;

/// x / max(1, |x|) per column: the norm is limited to 1. Its pullback is written by hand: inside the ball the gradient
/// passes, outside only its part along the sphere does, divided by the norm.
static Tensor into_ball(const Tensor& x) {
  const Tensor value = detach(x);
  const Tensor length = norm(value, 0);
  const Tensor scale = max(length, 1);
  const Tensor y = value / scale;
  return record(y, {x}, [=](const Tensor& g) {
    const Tensor radial = sum(g * y, 0);
    return std::vector<Tensor>{map([](auto g_, auto y_, auto r, auto l) { return where(l > 1, (g_ - y_ * r) / l, g_); },
                                   g, y, radial, length)};
  });
}

/// Subtracts a running mean of its input, then scales. A plain struct: nothing to inherit, nothing to register.
struct Centre {
  Tensor scale = ones({2});
  Buffer running{zeros({2})};  // moved and saved with the model, never trained
  double momentum = 0.1;

  Tensor operator()(const Tensor& x) const {
    if (training()) {
      const Tensor now = mean(detach(x), 1);
      running.set(running.get() * (1 - momentum) + reshape(now, {-1}) * momentum);
    }
    return into_ball(scale * (x - running.get()));
  }
  SLUICE_FIELDS(scale, running, momentum)
};

struct Net {
  Centre centre;
  Dense out{2, 1, sigmoid};
  Tensor operator()(const Tensor& x) const { return out(centre(x)); }
  SLUICE_FIELDS(centre, out)
};

int main() {
  seed(3);
  // Points around (5, -3); those above the line through it belong to class 1.
  const Tensor noise = randn({2, 512});
  const Tensor x = noise + reshape(tensor({5.0, -3.0}), {2, 1});
  const Tensor y = cast(slice(noise, 0, 0, 1) + slice(noise, 0, 1, 2) > 0, f32);

  Net model;
  auto state = setup(Adam{.eta = 0.05}, model);
  for (int step = 0; step < 200; ++step) {
    auto [loss, grads] = withgradient([&](const Net& m) { return binarycrossentropy(m(x), y); }, model);
    update(state, model, grads);
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, static_cast<double>(loss.item<float>()));
  }
  const Tensor right = mean(cast((model(x) > 0.5) == (y > 0.5), f32));
  std::cout << "running mean:\n" << model.centre.running.get() << '\n';
  std::printf("accuracy %.1f %%\n", 100 * static_cast<double>(right.item<float>()));
  print(model);
}
