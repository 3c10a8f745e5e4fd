// Operations along one dimension: softmax and its relatives, variances, and where the greatest element is.
#include <algorithm>
#include <numeric>

#include "tools/sluice/conformance_kernels.hpp"
#include "tools/sluice/conformance_reference.hpp"

namespace sluice::conformance {
namespace {

using Column = std::vector<Real>;

std::string text_of(const Shape& shape, int dim) { return to_string(shape) + " along " + std::to_string(dim); }

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> list = {{10, 7}, {1, 3}, {1000, 2}, {3, 300, 5}, {0, 3}, {3, 0}};
  return list;
}

// ---- Softmax.

/// The logarithm of the sum of exponentials. The greatest counts 1 even where it is infinite.
Real log_sum(const Column& x) {
  Real most = -HUGE_VALL;
  for (const Real value : x) {
    if (std::isnan(value)) return value;
    most = std::max(most, value);
  }
  if (std::isinf(most)) return most;
  Real total = 0;
  for (const Real value : x) total += std::exp(value - most);
  return most + std::log(total);
}

Column softmax_of(const Column& x) {
  const auto infinite = std::ranges::count(x, HUGE_VALL);
  const Real total = log_sum(x);
  Column y = x;
  for (Real& value : y) {
    if (std::isnan(total) || total == -HUGE_VALL) value = NAN;
    else if (infinite > 0) value = value == HUGE_VALL ? 1 / static_cast<Real>(infinite) : 0;
    else value = std::exp(value - total);
  }
  return y;
}

/// Results times the distances of their operands from the greatest.
Column softmax_sizes(const Column& x) {
  const Real most = x.empty() ? 0 : *std::ranges::max_element(x);
  Column y = softmax_of(x);
  for (std::size_t i = 0; i < x.size(); ++i) y[i] *= 1 + std::fabs(x[i] - most);
  return y;
}

Column logsoftmax_of(const Column& x) {
  const auto infinite = std::ranges::count(x, HUGE_VALL);
  const Real total = log_sum(x);
  Column y = x;
  for (Real& value : y) {
    if (std::isnan(total) || total == -HUGE_VALL) value = NAN;
    else if (infinite > 0) value = value == HUGE_VALL ? -std::log(static_cast<Real>(infinite)) : -HUGE_VALL;
    else value = value - total;
  }
  return y;
}

enum class Form : std::uint8_t { softmax, logsoftmax, logsumexp };

Call softmax_call(Form form, DType dtype, const Shape& shape, int dim) {
  Call call{.operation = form == Form::softmax      ? "softmax"
                         : form == Form::logsoftmax ? "logsoftmax"
                                                    : "logsumexp",
            .where = text_of(shape, dim),
            .run =
                [form, dim](const std::vector<Tensor>& x) {
                  if (form == Form::softmax) return softmax(x[0], dim);
                  return form == Form::logsoftmax ? logsoftmax(x[0], dim) : logsumexp(x[0], dim);
                },
            .reference =
                [form, dim](const std::vector<Array>& x) {
                  if (form == Form::logsumexp) return folded(x[0], {dim}, log_sum);
                  return along(x[0], dim, form == Form::softmax ? softmax_of : logsoftmax_of);
                },
            .result = dtype.is_floating() ? dtype : f32,
            .bounds = {4, 450}};
  if (form == Form::softmax) {
    // An exponential is as good as the difference it is taken of.
    call.magnitude = [dim](const std::vector<Array>& x) { return along(x[0], dim, softmax_sizes).at; };
    return call;
  }
  // A difference of operands is as good as the greatest of them.
  call.magnitude = [form, dim](const std::vector<Array>& x) {
    const auto greatest = [](const Column& column) {
      Real most = 1;
      for (const Real value : column) most = std::isfinite(value) ? std::max(most, std::fabs(value)) : most;
      return most;
    };
    if (form == Form::logsumexp) return folded(x[0], {dim}, greatest).at;
    return along(x[0], dim, [&](const Column& column) { return Column(column.size(), greatest(column)); }).at;
  };
  return call;
}

void check_form(Check& check, Form form) {
  for (const DType dtype : form == Form::softmax      ? check.types({f16, f32, f64})
                           : form == Form::logsoftmax ? check.types({bf16, f32})
                                                      : check.types({f32})) {
    if (!dtype.is_floating()) continue;
    for (const Shape& shape : shapes()) {
      for (int dim = 0; dim < shape.rank(); ++dim) {
        // logsumexp is made of reductions and maps, which are checked for themselves.
        if (check.spares_kernels() && form == Form::logsumexp && dim != 0) continue;
        check_forward(check, softmax_call(form, dtype, shape, dim), dtype, {check.numbers(shape, dtype, -10, 10)});
      }
    }
  }
  const Array x{{3, 4}, {1, HUGE_VALL, 2, -HUGE_VALL, 3, 4, NAN, 1, HUGE_VALL, -HUGE_VALL, -HUGE_VALL, -HUGE_VALL}};
  Call special = softmax_call(form, f32, x.shape, 0);
  special.where = "infinities and NaN";
  check_forward(check, special, f32, {x});
  for (const DType dtype : gradient_types(check)) {
    const Shape shape{4, 3, 2};
    for (int dim = 0; dim < (check.spares_kernels() ? 1 : 3); ++dim) {
      check_gradient(check, softmax_call(form, dtype, shape, dim), dtype, {check.numbers(shape, dtype, -2, 2)});
    }
  }
}

// ---- Mean and variance.

Real variance_of(const Column& x, int correction) {
  const Real mean = std::accumulate(x.begin(), x.end(), Real(0)) / static_cast<Real>(x.size());
  Real total = 0;
  for (const Real value : x) total += (value - mean) * (value - mean);
  const Real freedom = static_cast<Real>(x.size()) - static_cast<Real>(correction);
  return freedom > 0 ? total / freedom : NAN;
}

Call variance_call(DType dtype, const Shape& shape, const std::vector<int>& dims, int correction) {
  return {.operation = "var",
          .where = to_string(shape) + " over " + std::to_string(dims.size()) + " dimensions, correction " +
                   std::to_string(correction),
          .run = [=](const std::vector<Tensor>& x) { return var(x[0], Dims(dims), correction); },
          .reference =
              [=](const std::vector<Array>& x) {
                return folded(x[0], dims, [&](const Column& column) { return variance_of(column, correction); });
              },
          .result = dtype.is_floating() ? dtype : f32,
          .bounds = {16, 4500}};
}

Call mean_call(DType dtype, const Shape& shape, int dim) {
  return {.operation = "mean_var",
          .where = text_of(shape, dim),
          .run = [=](const std::vector<Tensor>& x) { return mean_var(x[0], dim).mean; },
          .reference =
              [=](const std::vector<Array>& x) {
                return folded(x[0], {dim}, [](const Column& column) {
                  return std::accumulate(column.begin(), column.end(), Real(0)) / static_cast<Real>(column.size());
                });
              },
          .result = dtype == f64 ? f64 : f32,
          .bounds = {4, 450}};
}

// ---- Where the greatest is.

Real place_of(const Column& column, bool is_greatest) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < column.size() && !std::isnan(column[best]); ++i) {
    const bool is_better = is_greatest ? column[i] > column[best] : column[i] < column[best];
    if (std::isnan(column[i]) || is_better) best = i;
  }
  return static_cast<Real>(best);
}

Call place_call(const Shape& shape, int dim, bool is_greatest) {
  return {.operation = is_greatest ? "argmax" : "argmin",
          .where = text_of(shape, dim),
          .run = [=](const std::vector<Tensor>& x) { return is_greatest ? argmax(x[0], dim) : argmin(x[0], dim); },
          .reference =
              [=](const std::vector<Array>& x) {
                return folded(x[0], {dim}, [=](const Column& column) { return place_of(column, is_greatest); });
              },
          .result = i64};
}

void check_places(Check& check, DType dtype, bool is_greatest) {
  for (const Shape& shape : {Shape{9, 5, 11}, Shape{1000, 2}, Shape{1, 3}}) {
    for (int dim = 0; dim < shape.rank(); ++dim) {
      Array x = check.numbers(shape, dtype, -20, 20);
      for (Real& value : x.at) {
        if (dtype.is_floating() && check.random()() % 50 == 0) value = NAN;
      }
      check_forward(check, place_call(shape, dim, is_greatest), dtype, {x});
    }
  }
}

}  // namespace

void check_softmax(Check& check) {
  for (const Form form : {Form::softmax, Form::logsoftmax, Form::logsumexp}) check_form(check, form);
}

void check_moments(Check& check) {
  for (const DType dtype : check.types({boolean, i64, f16, f32, f64})) {
    for (const Shape& shape : shapes()) {
      if (shape.numel() == 0) continue;
      for (int dim = 0; dim < shape.rank(); ++dim) {
        const Array x = check.numbers(shape, dtype, 50, 60);
        for (const int correction : {0, 1})
          check_forward(check, variance_call(dtype, shape, {dim}, correction), dtype, {x});
        check_forward(check, mean_call(dtype, shape, dim), dtype, {x});
      }
    }
    if (check.spares_kernels()) continue;
    check_forward(check, variance_call(dtype, {9, 5, 11}, {0, 2}, 1), dtype,
                  {check.numbers({9, 5, 11}, dtype, 50, 60)});
    check_forward(check, variance_call(dtype, {70001}, {0}, 1), dtype, {check.numbers({70001}, dtype, 50, 60)});
  }
  for (const DType dtype : gradient_types(check)) {
    const Array x = check.numbers({4, 3, 2}, dtype, -2, 2);
    check_gradient(check, variance_call(dtype, x.shape, {0}, 1), dtype, {x});
    check_gradient(check, mean_call(dtype, x.shape, 0), dtype, {x});
    if (!check.spares_kernels()) check_gradient(check, variance_call(dtype, x.shape, {0, 2}, 0), dtype, {x});
  }
}

void check_argreduce(Check& check) {
  for (const bool is_greatest : {true, false}) {
    for (const DType dtype : is_greatest ? check.types({u8, i64, f16, f32}) : check.types({i32, bf16, f64})) {
      check_places(check, dtype, is_greatest);
    }
  }
}

}  // namespace sluice::conformance
