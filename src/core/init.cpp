#include "sluice/init.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace sluice::detail {
namespace {

struct Fan {
  double in, out;
};

Fan fan_of(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {1, static_cast<double>(shape[0])};
  if (shape.rank() == 2) return {static_cast<double>(shape[1]), static_cast<double>(shape[0])};
  double kernel = 1;
  for (int dim = 0; dim < shape.rank() - 2; ++dim) kernel *= static_cast<double>(shape[dim]);
  return {kernel * static_cast<double>(shape[shape.rank() - 2]), kernel * static_cast<double>(shape.back())};
}

/// Uniform within -bound and bound.
Tensor uniform(const Shape& shape, RandomKey key, double bound) { return (rand(shape, f32, key) - 0.5) * (2 * bound); }

Tensor normal(const Shape& shape, RandomKey key, double std) { return randn(shape, f32, key) * std; }

double glorot_bound(const Shape& shape, double gain) {
  const Fan fan = fan_of(shape);
  return gain * std::sqrt(6 / (fan.in + fan.out));
}

double glorot_std(const Shape& shape, double gain) {
  const Fan fan = fan_of(shape);
  return gain * std::sqrt(2 / (fan.in + fan.out));
}

double kaiming_bound(const Shape& shape, double gain) { return gain * std::sqrt(3 / fan_of(shape).in); }
double kaiming_std(const Shape& shape, double gain) { return gain / std::sqrt(fan_of(shape).in); }

double normal_cdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752); }

/// Where the normal distribution function is p, by bisection: initialisers are not in a hurry, and this cannot diverge.
double normal_quantile(double p, double low, double high) {
  for (int i = 0; i < 60 && low < high; ++i) {
    const double middle = 0.5 * (low + high);
    if (normal_cdf(middle) < p) low = middle;
    else high = middle;
  }
  return 0.5 * (low + high);
}

Tensor truncated(const Shape& shape, RandomKey key, const TruncatedNormalOptions& options) {
  if (!(options.low < options.high) || !(options.std > 0)) {
    throw ArgumentError("truncated_normal: needs low < high and std > 0");
  }
  const double low = (options.low - options.mean) / options.std, high = (options.high - options.mean) / options.std;
  const double first = normal_cdf(low), last = normal_cdf(high);
  std::vector<float> values = rand(shape, f32, key).to_vector<float>();
  for (float& value : values) {
    const double p = first + static_cast<double>(value) * (last - first);
    const double x = options.mean + options.std * normal_quantile(p, low, high);
    value = static_cast<float>(std::clamp(x, options.low, options.high));
  }
  return from(values, shape);
}

Tensor lecun(const Shape& shape, RandomKey key) {
  const double std = 1 / std::sqrt(fan_of(shape).in);
  return truncated(shape, key, {.mean = 0, .std = std, .low = -2 * std, .high = 2 * std});
}

using Column = std::vector<double>;

double dot(const Column& a, const Column& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

/// Gram and Schmidt, each projection taken out twice, which is as good as Householder's method. The factor R it leaves
/// out has a positive diagonal, so the result is uniform over orthogonal matrices.
void orthonormalise(std::vector<Column>& columns) {
  for (std::size_t j = 0; j < columns.size(); ++j) {
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t k = 0; k < j; ++k) {
        const double share = dot(columns[j], columns[k]);
        for (std::size_t i = 0; i < columns[j].size(); ++i) columns[j][i] -= share * columns[k][i];
      }
    }
    const double length = std::sqrt(dot(columns[j], columns[j]));
    for (double& value : columns[j]) value /= length;
  }
}

Tensor orthogonal_matrix(const Shape& shape, RandomKey key, double gain) {
  if (shape.rank() < 2) throw ShapeError("orthogonal: needs two dimensions or more, got " + to_string(shape));
  const auto last = static_cast<std::size_t>(shape.back());
  const std::size_t rows = last == 0 ? 0 : static_cast<std::size_t>(shape.numel()) / last;
  const bool wide = rows < last;
  const std::size_t length = wide ? last : rows, count = wide ? rows : last;
  const std::vector<float> normals = randn(Shape{length, count}, f32, key).to_vector<float>();
  std::vector<Column> columns(count, Column(length));
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t i = 0; i < length; ++i) columns[j][i] = static_cast<double>(normals[j * length + i]);
  }
  orthonormalise(columns);
  std::vector<float> values(normals.size());
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t i = 0; i < length; ++i) {
      values[wide ? i * rows + j : j * rows + i] = static_cast<float>(gain * columns[j][i]);
    }
  }
  return from(values, shape);
}

constexpr double kRoot2 = 1.4142135623730951;

}  // namespace
}  // namespace sluice::detail

namespace sluice::inline v0 {

Tensor glorot_uniform(const Shape& shape) {
  return detail::uniform(shape, next_random_key(), detail::glorot_bound(shape, 1));
}
Tensor glorot_uniform(const Shape& shape, Generator& generator, double gain) {
  return detail::uniform(shape, generator.next(), detail::glorot_bound(shape, gain));
}

Tensor glorot_normal(const Shape& shape) {
  return detail::normal(shape, next_random_key(), detail::glorot_std(shape, 1));
}
Tensor glorot_normal(const Shape& shape, Generator& generator, double gain) {
  return detail::normal(shape, generator.next(), detail::glorot_std(shape, gain));
}

Tensor kaiming_uniform(const Shape& shape) {
  return detail::uniform(shape, next_random_key(), detail::kaiming_bound(shape, detail::kRoot2));
}
Tensor kaiming_uniform(const Shape& shape, Generator& generator, double gain) {
  return detail::uniform(shape, generator.next(), detail::kaiming_bound(shape, gain));
}

Tensor kaiming_normal(const Shape& shape) {
  return detail::normal(shape, next_random_key(), detail::kaiming_std(shape, detail::kRoot2));
}
Tensor kaiming_normal(const Shape& shape, Generator& generator, double gain) {
  return detail::normal(shape, generator.next(), detail::kaiming_std(shape, gain));
}

Tensor lecun_normal(const Shape& shape) { return detail::lecun(shape, next_random_key()); }
Tensor lecun_normal(const Shape& shape, Generator& generator) { return detail::lecun(shape, generator.next()); }

Tensor truncated_normal(const Shape& shape) { return detail::truncated(shape, next_random_key(), {}); }
Tensor truncated_normal(const Shape& shape, Generator& generator, TruncatedNormalOptions options) {
  return detail::truncated(shape, generator.next(), options);
}

Tensor orthogonal(const Shape& shape) { return detail::orthogonal_matrix(shape, next_random_key(), 1); }
Tensor orthogonal(const Shape& shape, Generator& generator, double gain) {
  return detail::orthogonal_matrix(shape, generator.next(), gain);
}

Tensor identity_init(const Shape& shape) { return identity_init(shape, 1); }
Tensor identity_init(const Shape& shape, double gain) {
  std::vector<float> values(static_cast<std::size_t>(shape.numel()));
  if (shape.rank() < 2 || values.empty()) return from(values, shape);
  std::int64_t centre = 0, kernel = 1;  // offset of the middle of a kernel, and its size
  for (int dim = 0; dim < shape.rank() - 2; ++dim) {
    centre += kernel * ((shape[dim] + 1) / 2 - 1);
    kernel *= shape[dim];
  }
  const std::int64_t rows = shape[shape.rank() - 2];
  for (std::int64_t i = 0; i < std::min(rows, shape.back()); ++i) {
    values[static_cast<std::size_t>(centre + kernel * (i + rows * i))] = static_cast<float>(gain);
  }
  return from(values, shape);
}

Tensor sparse_init(const Shape& shape, Generator& generator, double sparsity, double std) {
  if (shape.rank() != 2) throw ShapeError("sparse_init: needs two dimensions, got " + to_string(shape));
  if (!(sparsity >= 0 && sparsity <= 1)) throw ArgumentError("sparse_init: the sparsity must be within 0 and 1");
  std::vector<float> values = detail::normal(shape, generator.next(), std).to_vector<float>();
  const auto rows = static_cast<std::size_t>(shape[0]);
  const auto zeros_per_column = static_cast<std::size_t>(std::ceil(sparsity * static_cast<double>(rows)));
  for (std::size_t column = 0; column < static_cast<std::size_t>(shape[1]); ++column) {
    const std::vector<std::int64_t> order = randperm(shape[0], generator.next()).to_vector<std::int64_t>();
    for (std::size_t k = 0; k < zeros_per_column; ++k) values[column * rows + static_cast<std::size_t>(order[k])] = 0;
  }
  return from(values, shape);
}

Initializer::Initializer(Tensor (*function)(const Shape&, DType, const Device&))
    : function_([function](const Shape& shape) { return function(shape, f32, cpu_device()); }) {}

Initializer::Initializer(Tensor (*function)(const Shape&, DType, RandomKey))
    : function_([function](const Shape& shape) { return function(shape, f32, next_random_key()); }) {}

}  // namespace sluice::inline v0
