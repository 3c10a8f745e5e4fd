// What the tests of reductions compare with: plain loops in double, and gradients by finite differences.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "sluice/ops.hpp"
#include "tests/finite_differences.hpp"

namespace sluice::testing {

inline constexpr DType kAllTypes[] = {boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64};

/// Values as doubles, whatever the type.
inline std::vector<double> doubles(const Tensor& x) { return cast(x, f64).to_vector<double>(); }

inline Tensor from_doubles(const std::vector<double>& values, const Shape& shape, DType dtype) {
  return cast(from(values, shape), dtype);
}

/// Small numbers that every type holds exactly: 0 ... 3 for bool and u8, else multiples of `unit` around 0.
inline Tensor small_numbers(const Shape& shape, DType dtype, std::mt19937& random, double unit = 1) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  std::uniform_int_distribution<int> any(dtype == boolean || dtype == u8 ? 0 : -3, 3);
  for (double& v : values) v = any(random) * (dtype.is_floating() ? unit : 1);
  return from_doubles(values, shape, dtype);
}

inline Tensor normal_numbers(const Shape& shape, DType dtype, std::mt19937& random) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  std::normal_distribution<double> any;
  for (double& v : values) v = any(random);
  return from_doubles(values, shape, dtype);
}

inline Shape random_shape(int rank, std::mt19937& random) {
  constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 17, 0};
  std::discrete_distribution<int> pick{3, 4, 4, 4, 2, 1};
  Shape shape;
  for (int dim = 0; dim < rank; ++dim) shape = shape.with(dim, kSizes[pick(random)]);
  return shape;
}

/// The dimensions in the bits of `mask`.
inline std::vector<int> dims_of(int mask, int rank) {
  std::vector<int> dims;
  for (int dim = 0; dim < rank; ++dim) {
    if ((mask >> dim & 1) != 0) dims.push_back(dim);
  }
  return dims;
}

inline Shape kept_shape(Shape shape, int mask) {
  for (const int dim : dims_of(mask, shape.rank())) shape = shape.with(dim, 1);
  return shape;
}

/// For every element of `shape`, the element of kept_shape that it is reduced to.
inline std::vector<std::size_t> targets(const Shape& shape, int mask) {
  std::vector<std::size_t> result(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), stride = 1, target = 0;
    for (int dim = 0; dim < shape.rank(); ++dim) {
      const std::int64_t index = rest % shape[dim];
      rest /= shape[dim];
      if ((mask >> dim & 1) != 0) continue;
      target += index * stride;
      stride *= shape[dim];
    }
    result[i] = static_cast<std::size_t>(target);
  }
  return result;
}

/// Folds `values` over the dimensions of `mask` in order; `target` is targets(shape, mask).
template <class F>
std::vector<double> folded(const std::vector<double>& values, const std::vector<std::size_t>& target, const Shape& kept,
                           double start, F combine) {
  std::vector<double> result(static_cast<std::size_t>(kept.numel()), start);
  for (std::size_t i = 0; i < values.size(); ++i) result[target[i]] = combine(result[target[i]], values[i]);
  return result;
}

template <class F>
std::vector<double> folded(const std::vector<double>& values, const Shape& shape, int mask, double start, F combine) {
  return folded(values, targets(shape, mask), kept_shape(shape, mask), start, combine);
}

/// Equal, or both NaN, or within `tolerance` relative to the larger of 1 and the expected value.
inline void expect_close(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]));
    if (same) continue;
    ASSERT_LE(std::abs(got[i] - expected[i]), tolerance * std::max(1.0, std::abs(expected[i])))
        << what << ", element " << i << ": " << got[i] << " for " << expected[i];
  }
}

/// The gradient of `f`, which gives a tensor of one element, at x.
inline Tensor gradient_at(const std::function<Tensor(const Tensor&)>& f, Tensor x) {
  detail::Tape tape;
  tape.track(x);
  tape.backward(f(x));
  return tape.gradient(x);
}

/// Compares the gradient of f at x, in f64, with finite differences.
inline void expect_gradient(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const std::string& what) {
  SCOPED_TRACE(what);
  test::expect_gradients([&](const std::vector<Tensor>& inputs) { return f(inputs[0]); }, {x}, 1e-6);
}

}  // namespace sluice::testing
