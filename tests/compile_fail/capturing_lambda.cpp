// expect: kFieldsCanBeSeen.*the fields of this class cannot be seen|the fields of this class cannot be seen
#include "sluice/layers.hpp"

sluice::Tensor f(const sluice::Tensor& x) {
  const sluice::Tensor weight = x;
  const auto scaled = [weight](const sluice::Tensor& y) { return weight * y; };
  const sluice::Chain model(scaled);
  return sluice::gradient([&](auto& m) { return sluice::sum(m(x)); }, model).get<0>()(x);
}
