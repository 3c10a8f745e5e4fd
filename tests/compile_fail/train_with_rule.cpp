// expect: this takes an optimiser state, not a rule
#include "sluice/train.hpp"

void run(sluice::Tensor& model, const std::vector<sluice::Tensor>& data) {
  const sluice::OptimiserChain rule(sluice::ClipGrad{}, sluice::Adam{});
  sluice::train([](auto& m, const sluice::Tensor& x) { return sum(m * x); }, model, data, rule);
}
