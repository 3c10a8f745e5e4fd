// The common way to make an operation of one tensor differentiable.
#pragma once

#include <utility>
#include <vector>

#include "sluice/tape.hpp"

namespace sluice::detail {

/// `output`, tracked when `input` is; `pullback` takes the gradient of the output to that of the input.
template <class F>
Tensor recorded(Tensor output, const Tensor& input, F pullback) {
  const std::span<const Tensor> inputs(&input, 1);
  if (tracked(inputs)) {
    record(std::span<Tensor>(&output, 1), inputs,
           [pullback = std::move(pullback)](std::span<const Tensor> gradients, Needed) {
             return std::vector<Tensor>{pullback(gradients[0])};
           });
  }
  return output;
}

}  // namespace sluice::detail
