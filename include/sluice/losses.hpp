// Loss functions: of a prediction and what it should have been, to a number.
//
// Shapes must be equal, losses never broadcast. The cross entropies also take class numbers (i64 or i32): for a
// prediction (classes, batch), labels (batch). Results are f32, or f64 for f64. 0 * log(0) counts as 0 throughout.
#pragma once

#include <optional>

#include "sluice/ops.hpp"

namespace sluice::inline v0 {

/// What is done with the losses of the elements, or of the columns for the cross entropies.
enum class Aggregate : std::uint8_t { mean, sum, none };

struct LossOptions {
  Aggregate agg = Aggregate::mean;
};
struct EpsilonLossOptions {
  Aggregate agg = Aggregate::mean;
  std::optional<double> eps = {};  ///< added inside logarithms; default: the spacing of the prediction's type at 1
};
struct EntropyLossOptions {
  Aggregate agg = Aggregate::mean;
  int dim = 0;  ///< the dimension of the classes; `none` keeps it with size 1
};
struct EpsilonEntropyLossOptions {
  Aggregate agg = Aggregate::mean;
  int dim = 0;                     ///< the dimension of the classes; `none` keeps it with size 1
  std::optional<double> eps = {};  ///< added inside logarithms; default: the spacing of the prediction's type at 1
};
struct HuberOptions {
  Aggregate agg = Aggregate::mean;
  double delta = 1;  ///< where the square turns into the absolute value
};

/// |prediction - target|
SLUICE_API Tensor mae(const Tensor& prediction, const Tensor& target, LossOptions options = {});
/// (prediction - target)^2
SLUICE_API Tensor mse(const Tensor& prediction, const Tensor& target, LossOptions options = {});
/// log((prediction + eps) / (target + eps))^2
SLUICE_API Tensor msle(const Tensor& prediction, const Tensor& target, EpsilonLossOptions options = {});
/// e^2 / 2 for e = |prediction - target| < delta, delta * (e - delta / 2) beyond.
SLUICE_API Tensor huber_loss(const Tensor& prediction, const Tensor& target, HuberOptions options = {});

/// -sum(target * log(prediction + eps)) of each column of probabilities. Prefer logitcrossentropy.
SLUICE_API Tensor crossentropy(const Tensor& prediction, const Tensor& target, EpsilonEntropyLossOptions options = {});
/// -sum(target * logsoftmax(logits)) of each column; right for logits of any size.
SLUICE_API Tensor logitcrossentropy(const Tensor& logits, const Tensor& target, EntropyLossOptions options = {});
/// -target * log(prediction + eps) - (1 - target) * log(1 - prediction + eps)
SLUICE_API Tensor binarycrossentropy(const Tensor& prediction, const Tensor& target, EpsilonLossOptions options = {});
/// binarycrossentropy of sigmoid(logits), right for logits of any size.
SLUICE_API Tensor logitbinarycrossentropy(const Tensor& logits, const Tensor& target, LossOptions options = {});
/// sum(target * log(target)) + crossentropy, of each column.
SLUICE_API Tensor kldivergence(const Tensor& prediction, const Tensor& target, EpsilonEntropyLossOptions options = {});
/// prediction - target * log(prediction)
SLUICE_API Tensor poisson_loss(const Tensor& prediction, const Tensor& target, LossOptions options = {});
/// max(0, 1 - prediction * target), for targets of -1 and 1
SLUICE_API Tensor hinge_loss(const Tensor& prediction, const Tensor& target, LossOptions options = {});
/// The square of hinge_loss.
SLUICE_API Tensor squared_hinge_loss(const Tensor& prediction, const Tensor& target, LossOptions options = {});

/// One-hot targets drawn towards equal shares: target * (1 - alpha) + alpha / classes. 0 <= alpha <= 1.
SLUICE_API Tensor label_smoothing(const Tensor& target, double alpha, int dim = 0);

}  // namespace sluice::inline v0
