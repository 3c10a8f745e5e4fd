// expect: this takes an optimiser state, not a rule: make it once with `auto state = setup\(rule, model\);`
#include "sluice/optimisers.hpp"

void step(sluice::Tensor& model, const sluice::Tensor& gradient) {
  sluice::Adam rule;
  sluice::update(rule, model, gradient);
}
