#include "sluice/losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace sluice::detail {
namespace {

void require_same_shape(std::string_view loss, const Tensor& prediction, const Tensor& target) {
  if (prediction.shape() == target.shape()) return;
  throw ShapeError(fmt::format("{}: the prediction is {}, the target {}; they must be equal, losses do not broadcast",
                               loss, to_string(prediction.shape()), to_string(target.shape())));
}

DType loss_type(const Tensor& prediction, const Tensor& target) {
  return prediction.dtype() == f64 || target.dtype() == f64 ? f64 : f32;
}

double default_eps(DType dtype) {
  switch (dtype.code()) {
    case DType::kF64: return std::numeric_limits<double>::epsilon();
    case DType::kF16: return 0x1p-10;
    case DType::kBF16: return 0x1p-7;
    default: return static_cast<double>(std::numeric_limits<float>::epsilon());
  }
}

struct Reduction {
  Aggregate agg;
  std::optional<int> dim = {};  // summed within each column first
  double factor = 1;            // of every element
};

/// Maps the operands, of equal shape, by `f` and reduces in the same pass.
template <class F, std::size_t N>
Tensor reduced(F&& f, std::array<Tensor, N> inputs, const Reduction& how) {
  const DType dtype = loss_type(inputs[0], inputs[N - 1]);
  const Function function = trace<N>(std::forward<F>(f));
  if (how.agg == Aggregate::none && !how.dim) {
    const Tensor losses = map_program1(function.program(), function.params(), inputs);
    return cast(losses, dtype) * how.factor;
  }
  double scale = how.factor;
  if (how.agg == Aggregate::mean) {
    const std::int64_t columns =
        inputs[0].numel() / (how.dim ? std::max<std::int64_t>(inputs[0].size(*how.dim), 1) : 1);
    scale /= static_cast<double>(columns);  // of nothing: 0 * inf = NaN, as a mean of nothing is
  }
  const Dims dims = how.agg == Aggregate::none ? Dims(*how.dim) : Dims();
  return map_reduce_program(function.program(), function.params(), inputs, Combine::sum, dims, {.dtype = dtype}, scale);
}

/// The element of each column that its class number names, as a tensor whose size in `dim` is 1.
Tensor picked(std::string_view loss, const Tensor& x, const Tensor& classes, int dim) {
  const bool column = classes.rank() == x.rank() && classes.shape() == x.shape().with(dim, 1);
  if (!column && !(classes.shape() == x.shape().erased(dim))) {
    throw ShapeError(
        fmt::format("{}: the prediction is {} with classes in dimension {}, so class numbers are {}, not {}", loss,
                    to_string(x.shape()), dim, to_string(x.shape().erased(dim)), to_string(classes.shape())));
  }
  return take_along(x, column ? classes : unsqueeze(classes, dim), dim);
}

bool are_class_numbers(const Tensor& prediction, const Tensor& target) {
  return target.dtype().is_integer() && !(target.shape() == prediction.shape());
}

void require_dim(std::string_view loss, const Tensor& prediction, int dim) {
  if (dim < 0 || dim >= prediction.rank()) {
    throw IndexError(
        fmt::format("{}: dimension {} of a prediction of shape {}", loss, dim, to_string(prediction.shape())));
  }
}

/// y * log(v), 0 where y is 0.
Expr xlogy(Expr y, Expr v) { return where(y == 0, 0, y * log(v)); }

}  // namespace
}  // namespace sluice::detail

namespace sluice::inline v0 {

Tensor mae(const Tensor& prediction, const Tensor& target, LossOptions options) {
  detail::require_same_shape("mae", prediction, target);
  return detail::reduced([](Expr p, Expr t) { return abs(p - t); }, std::array{prediction, target}, {options.agg});
}

Tensor mse(const Tensor& prediction, const Tensor& target, LossOptions options) {
  detail::require_same_shape("mse", prediction, target);
  const auto square = [](Expr p, Expr t) {
    const Expr e = p - t;
    return e * e;
  };
  return detail::reduced(square, std::array{prediction, target}, {options.agg});
}

Tensor msle(const Tensor& prediction, const Tensor& target, EpsilonLossOptions options) {
  detail::require_same_shape("msle", prediction, target);
  const double eps = options.eps.value_or(detail::default_eps(prediction.dtype()));
  const auto square = [eps](Expr p, Expr t) {
    const Expr e = log((p + eps) / (t + eps));
    return e * e;
  };
  return detail::reduced(square, std::array{prediction, target}, {options.agg});
}

Tensor huber_loss(const Tensor& prediction, const Tensor& target, HuberOptions options) {
  detail::require_same_shape("huber_loss", prediction, target);
  const auto huber = [delta = options.delta](Expr p, Expr t) {
    const Expr e = abs(p - t);
    return where(e < delta, 0.5 * e * e, delta * (e - 0.5 * delta));
  };
  return detail::reduced(huber, std::array{prediction, target}, {options.agg});
}

Tensor crossentropy(const Tensor& prediction, const Tensor& target, EpsilonEntropyLossOptions options) {
  detail::require_dim("crossentropy", prediction, options.dim);
  const double eps = options.eps.value_or(detail::default_eps(prediction.dtype()));
  if (detail::are_class_numbers(prediction, target)) {
    const Tensor chosen = detail::picked("crossentropy", prediction, target, options.dim);
    return detail::reduced([eps](Expr p) { return -log(p + eps); }, std::array{chosen}, {options.agg});
  }
  detail::require_same_shape("crossentropy", prediction, target);
  return detail::reduced([eps](Expr p, Expr t) { return -detail::xlogy(t, p + eps); }, std::array{prediction, target},
                         {options.agg, options.dim});
}

Tensor logitcrossentropy(const Tensor& logits, const Tensor& target, EntropyLossOptions options) {
  detail::require_dim("logitcrossentropy", logits, options.dim);
  const bool classes = detail::are_class_numbers(logits, target);
  if (!classes) detail::require_same_shape("logitcrossentropy", logits, target);
  // The logarithm of a probability in half precision would lose what the loss is made of.
  const bool narrow = logits.dtype() == f16 || logits.dtype() == bf16;
  const Tensor log_shares = logsoftmax(narrow ? cast(logits, f32) : logits, options.dim);
  if (classes) {
    const Tensor chosen = detail::picked("logitcrossentropy", log_shares, target, options.dim);
    return detail::reduced([](Expr l) { return -l; }, std::array{chosen}, {options.agg});
  }
  return detail::reduced([](Expr l, Expr t) { return where(t == 0, 0, -t * l); }, std::array{log_shares, target},
                         {options.agg, options.dim});
}

Tensor binarycrossentropy(const Tensor& prediction, const Tensor& target, EpsilonLossOptions options) {
  detail::require_same_shape("binarycrossentropy", prediction, target);
  const double eps = options.eps.value_or(detail::default_eps(prediction.dtype()));
  const auto entropy = [eps](Expr p, Expr t) { return -detail::xlogy(t, p + eps) - detail::xlogy(1 - t, 1 - p + eps); };
  return detail::reduced(entropy, std::array{prediction, target}, {options.agg});
}

Tensor logitbinarycrossentropy(const Tensor& logits, const Tensor& target, LossOptions options) {
  detail::require_same_shape("logitbinarycrossentropy", logits, target);
  // (1 - t) softplus(x) + t softplus(-x), whose common part is log(1 + exp(-|x|)). Conditions, not max and abs, because
  // the derivative at 0 must come out as 1/2 - t; each term is 0 where its factor is, even for infinite logits.
  const auto entropy = [](Expr x, Expr t) {
    const Expr below = where(x > 0, -x, x);
    const Expr wrong = where(x > 0, where(t == 1, 0, (1 - t) * x), where(t == 0, 0, -t * x));
    return wrong + log1p(exp(below));
  };
  return detail::reduced(entropy, std::array{logits, target}, {options.agg});
}

Tensor kldivergence(const Tensor& prediction, const Tensor& target, EpsilonEntropyLossOptions options) {
  detail::require_dim("kldivergence", prediction, options.dim);
  detail::require_same_shape("kldivergence", prediction, target);
  const double eps = options.eps.value_or(detail::default_eps(prediction.dtype()));
  const auto divergence = [eps](Expr p, Expr t) { return detail::xlogy(t, t) - detail::xlogy(t, p + eps); };
  return detail::reduced(divergence, std::array{prediction, target}, {options.agg, options.dim});
}

Tensor poisson_loss(const Tensor& prediction, const Tensor& target, LossOptions options) {
  detail::require_same_shape("poisson_loss", prediction, target);
  return detail::reduced([](Expr p, Expr t) { return p - detail::xlogy(t, p); }, std::array{prediction, target},
                         {options.agg});
}

Tensor hinge_loss(const Tensor& prediction, const Tensor& target, LossOptions options) {
  detail::require_same_shape("hinge_loss", prediction, target);
  return detail::reduced([](Expr p, Expr t) { return max(0, 1 - p * t); }, std::array{prediction, target},
                         {options.agg});
}

Tensor squared_hinge_loss(const Tensor& prediction, const Tensor& target, LossOptions options) {
  detail::require_same_shape("squared_hinge_loss", prediction, target);
  const auto square = [](Expr p, Expr t) {
    const Expr h = max(0, 1 - p * t);
    return h * h;
  };
  return detail::reduced(square, std::array{prediction, target}, {options.agg});
}

Tensor label_smoothing(const Tensor& target, double alpha, int dim) {
  if (!(alpha >= 0 && alpha <= 1)) throw ArgumentError(fmt::format("label_smoothing: alpha = {}; needs 0 to 1", alpha));
  detail::require_dim("label_smoothing", target, dim);
  const double share = alpha / static_cast<double>(target.size(dim));
  return map([alpha, share](Expr t) { return t * (1 - alpha) + share; }, target);
}

}  // namespace sluice::inline v0
