// expect: the function returns its loss, a Tensor, or a tuple whose first element is the loss
#include "sluice/gradient.hpp"

sluice::Tensor f(const sluice::Tensor& x) {
  return sluice::gradient([](const sluice::Tensor& t) { return t.numel(); }, x);
}
