// Gradients of the device and what they are held against: finite differences of a reference in long double, which are
// good to about fourteen digits.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tools/sluice/conformance_values.hpp"

namespace sluice::conformance {

using Outputs = std::function<std::vector<Tensor>(std::vector<Tensor>& inputs)>;

/// Gradients of sum(outputs * weights) in each input, by the tape; empty where nothing flows. Inputs and weights lie on
/// one device. The sum itself is not computed: the weights are what flows in.
std::vector<Tensor> tape_gradients(const Outputs& f, std::vector<Tensor> inputs, std::vector<Tensor> weights);

/// The derivative at 0 of a function of one step, from five points at two step sizes; nothing at a kink.
std::optional<Real> difference(const std::function<Real(Real step)>& f);

}  // namespace sluice::conformance
