// Initialisers: functions from a shape to a tensor of starting values, f32, made on the CPU, so that a seed gives the
// same weights for every device.
//
// A layer takes one as `Dense(2, 3, {.init = kaiming_normal})`; zeros, ones, rand and randn serve as well. Fan in and
// fan out: of a vector n, 1 and n; of a weight (out, in), in and out; of a convolution (k..., in, out), prod(k) times
// in and out.
#pragma once

#include <functional>

#include "sluice/ops.hpp"

namespace sluice::inline v0 {

// Without a generator, the numbers come from the generator of the process.

/// Uniform within gain * sqrt(6 / (fan_in + fan_out)).
SLUICE_API Tensor glorot_uniform(const Shape& shape);
SLUICE_API Tensor glorot_uniform(const Shape& shape, Generator& generator, double gain = 1);
/// Normal of deviation gain * sqrt(2 / (fan_in + fan_out)).
SLUICE_API Tensor glorot_normal(const Shape& shape);
SLUICE_API Tensor glorot_normal(const Shape& shape, Generator& generator, double gain = 1);
/// Uniform within gain * sqrt(3 / fan_in); the gain is sqrt(2) unless given.
SLUICE_API Tensor kaiming_uniform(const Shape& shape);
SLUICE_API Tensor kaiming_uniform(const Shape& shape, Generator& generator, double gain = 1.4142135623730951);
/// Normal of deviation gain / sqrt(fan_in); the gain is sqrt(2) unless given.
SLUICE_API Tensor kaiming_normal(const Shape& shape);
SLUICE_API Tensor kaiming_normal(const Shape& shape, Generator& generator, double gain = 1.4142135623730951);
/// Normal of deviation 1 / sqrt(fan_in), cut at two deviations.
SLUICE_API Tensor lecun_normal(const Shape& shape);
SLUICE_API Tensor lecun_normal(const Shape& shape, Generator& generator);

struct TruncatedNormalOptions {
  double mean = 0;
  double std = 1;
  double low = -2;  ///< no element is below
  double high = 2;  ///< or above
};
/// Normal, only within bounds, by the inverse of its distribution function.
SLUICE_API Tensor truncated_normal(const Shape& shape);
SLUICE_API Tensor truncated_normal(const Shape& shape, Generator& generator, TruncatedNormalOptions options = {});

/// A random matrix whose columns, or rows if those are fewer, are orthonormal; of more dimensions, all but the last are
/// taken together. Throws ShapeError for fewer than two dimensions.
SLUICE_API Tensor orthogonal(const Shape& shape);
SLUICE_API Tensor orthogonal(const Shape& shape, Generator& generator, double gain = 1);
/// Makes a layer the identity, as far as its shape allows: ones on the diagonal, or in the middle of the kernels of a
/// convolution; zeros for a vector.
SLUICE_API Tensor identity_init(const Shape& shape);
SLUICE_API Tensor identity_init(const Shape& shape, double gain);
/// Normal of deviation `std`, with the share `sparsity` of each column (rounded up) set to 0. Matrices only.
SLUICE_API Tensor sparse_init(const Shape& shape, Generator& generator, double sparsity, double std = 0.01);

/// What a layer takes: any of these functions, or a lambda from a shape to a tensor.
class SLUICE_API Initializer {
 public:
  Initializer(Tensor (*function)(const Shape&)) : function_(function) {}  // NOLINT: meant to convert
  Initializer(Tensor (*function)(const Shape&, DType, const Device&));    // NOLINT: zeros, ones
  Initializer(Tensor (*function)(const Shape&, DType, RandomKey));        // NOLINT: rand, randn
  template <class F>
    requires(std::is_class_v<F> && !std::is_same_v<F, Initializer> && std::is_invocable_r_v<Tensor, F&, const Shape&>)
  Initializer(F function) : function_(std::move(function)) {}  // NOLINT: meant to convert

  Tensor operator()(const Shape& shape) const { return function_(shape); }

 private:
  std::function<Tensor(const Shape&)> function_;
};

}  // namespace sluice::inline v0
