#include "sluice/train.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "sluice/ops.hpp"

namespace sluice::detail {
namespace {

std::string epoch_label(const TrainOptions& options, int epoch) {
  return options.epochs == 1 ? "train" : fmt::format("epoch {}/{}", epoch + 1, options.epochs);
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Inf" : "-Inf";
}

}  // namespace

double loss_number(const Tensor& loss) {
  const Tensor value = detach(loss);
  if (value.dtype() == f32) return value.item<float>();
  return cast(cpu(value), f64).item<double>();
}

void check_options(const TrainOptions& options) {
  if (options.epochs < 0) throw ArgumentError(fmt::format("train: {} epochs; it cannot be negative", options.epochs));
}

TrainingRun::TrainingRun(const TrainOptions& options, int epoch, std::int64_t items)
    : options_(options), epoch_{epoch, 0, 0} {
  if (options.progress == Progress::automatic) bar_.emplace(items, epoch_label(options, epoch));
}

void TrainingRun::item(double loss) {
  ++epoch_.items;
  if (!std::isfinite(loss)) {
    throw ArgumentError(fmt::format("Loss is {} on data item {}, stopping training", number_text(loss), epoch_.items));
  }
  epoch_.loss += loss;
  if (bar_ && bar_->visible()) bar_->step(fmt::format("loss {:.4g}", loss));
}

double TrainingRun::finish() {
  epoch_.loss =
      epoch_.items > 0 ? epoch_.loss / static_cast<double>(epoch_.items) : std::numeric_limits<double>::quiet_NaN();
  if (bar_) bar_->finish();
  if (options_.progress == Progress::lines) {
    std::fprintf(stderr, "%s: %lld items, loss %.6g\n", epoch_label(options_, epoch_.number).c_str(),
                 static_cast<long long>(epoch_.items), epoch_.loss);
  }
  if (options_.on_epoch) options_.on_epoch(epoch_);
  return epoch_.loss;
}

}  // namespace sluice::detail
