// expect: the gradient given to update has the type of the model
#include "sluice/gradient.hpp"
#include "sluice/optimisers.hpp"

void step(sluice::OptimiserState& state, sluice::Tensor& model) {
  auto result = sluice::withgradient([](auto& m) { return sum(m); }, model);
  sluice::update(state, model, result);
}
