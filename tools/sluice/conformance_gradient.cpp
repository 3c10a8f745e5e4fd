#include "tools/sluice/conformance_gradient.hpp"

#include <algorithm>
#include <cmath>

#include "sluice/sluice.hpp"

namespace sluice::conformance {
namespace {

constexpr Real kStep = 0x1p-12L;

Real five_points(const std::function<Real(Real step)>& f, Real h) {
  return (f(-2 * h) - f(2 * h) + 8 * (f(h) - f(-h))) / (12 * h);
}

}  // namespace

std::vector<Tensor> tape_gradients(const Outputs& f, std::vector<Tensor> inputs, std::vector<Tensor> weights) {
  detail::Tape tape;
  for (Tensor& x : inputs) tape.track(x);
  std::vector<Tensor> operands = inputs;
  std::vector<Tensor> outputs = f(operands);
  const Tensor loss = record(zeros({}, f32, inputs[0].device()), std::move(outputs),
                             [weights = std::move(weights)](const Tensor&) { return weights; });
  tape.backward(loss);
  std::vector<Tensor> gradients;
  for (const Tensor& x : inputs) gradients.push_back(tape.gradient(x));
  return gradients;
}

std::optional<Real> difference(const std::function<Real(Real step)>& f) {
  const Real coarse = five_points(f, kStep), fine = five_points(f, kStep / 2);
  const Real size = std::max(Real(1), std::fabs(fine));
  if (!(std::fabs(coarse - fine) <= 1e-6L * size)) return std::nullopt;
  // At a kink in the middle both agree on the mean of two slopes.
  const Real bend = (f(kStep) - 2 * f(0) + f(-kStep)) / kStep;
  if (!(std::fabs(bend) <= 0.05L * size)) return std::nullopt;
  // The error of the fine one is a sixteenth of the coarse one's.
  return (16 * fine - coarse) / 15;
}

}  // namespace sluice::conformance
