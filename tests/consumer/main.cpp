// A model of its own, its gradient, and an error that crosses the library's boundary.
#include <sluice/sluice.hpp>

using namespace sluice;

struct Net {
  Dense hidden{4, 8, relu};
  Dense out{8, 2};
  Tensor operator()(const Tensor& x) const { return out(hidden(x)); }
  SLUICE_FIELDS(hidden, out)
};

int main() {
  const Net model = Net{} | get_device();
  const Tensor x = ones({4, 3}) | get_device();
  const Tensor y = zeros({2, 3}) | get_device();
  const auto [loss, grads] = withgradient([&](auto& m) { return mse(m(x), y); }, model);
  const bool trained = loss.item<float>() > 0.0f && grads.out.bias.shape() == model.out.bias.shape();
  try {
    model(ones({5, 3}));
  } catch (const ShapeError&) {
    return trained ? 0 : 1;
  }
  return 2;
}
