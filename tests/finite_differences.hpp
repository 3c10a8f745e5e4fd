// Gradients of operations against central differences in double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "sluice/ops.hpp"

namespace sluice::test {

using Operation = std::function<Tensor(const std::vector<Tensor>&)>;

inline Tensor random_f64(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (double& value : values) value = uniform(random);
  return from(values, shape);
}

inline double dot(const Tensor& x, const Tensor& y) {
  double total = 0;
  const auto a = x.span<double>();
  const auto b = y.span<double>();
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

/// Gradients of sum(f(inputs) * weights), by the tape.
inline std::vector<Tensor> tape_gradients(const Operation& f, std::vector<Tensor> inputs, const Tensor& weights) {
  detail::Tape tape;
  for (Tensor& x : inputs) tape.track(x);
  tape.backward(sum(f(inputs) * weights));
  std::vector<Tensor> gradients;
  for (const Tensor& x : inputs) gradients.push_back(tape.gradient(x));
  return gradients;
}

/// Expects the gradients of f in each of its f64 inputs to be right, and to be there at all.
inline void expect_gradients(const Operation& f, const std::vector<Tensor>& inputs, double tolerance = 1e-7) {
  constexpr double kStep = 1e-5;
  const Tensor weights = random_f64(f(inputs).shape(), 99);
  const std::vector<Tensor> gradients = tape_gradients(f, inputs, weights);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    ASSERT_TRUE(gradients[k]) << "no gradient for input " << k;
    ASSERT_EQ(gradients[k].shape(), inputs[k].shape());
    ASSERT_EQ(gradients[k].dtype(), f64);
    for (std::size_t i = 0; i < static_cast<std::size_t>(inputs[k].numel()); ++i) {
      const auto value_at = [&](double step) {
        std::vector<double> values = inputs[k].to_vector<double>();
        values[i] += step;
        std::vector<Tensor> moved = inputs;
        moved[k] = from(values, inputs[k].shape());
        return dot(f(moved), weights);
      };
      const double expected = (value_at(kStep) - value_at(-kStep)) / (2 * kStep);
      ASSERT_NEAR(gradients[k].span<double>()[i], expected, tolerance * (1 + std::abs(expected)))
          << "input " << k << " " << inputs[k].shape() << " element " << i;
    }
  }
}

}  // namespace sluice::test
