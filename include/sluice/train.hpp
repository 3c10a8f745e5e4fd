// The training loop, for those who do not write it themselves.
//
//   auto state = setup(Adam{}, model);
//   train([](auto& m, const Tensor& x, const Tensor& y) { return mse(m(x), y); }, model, loader, state, {.epochs =
//   10});
//
// Any range will do for the data; a batch that is a tuple, pair or array is spread over the arguments of the loss.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "sluice/gradient.hpp"
#include "sluice/optimisers.hpp"

namespace sluice::inline v0 {

/// A line that shows how far something is, redrawn in place at most twenty times a second:
///
///   epoch 2/10  42% [########-----------]  126/300  310.2/s  ETA 0:01  loss 0.1234
///
/// For one thread. Never throws; what cannot be shown is left out.
class SLUICE_API ProgressBar {
 public:
  /// On standard error if that is a terminal, else silent. A negative `total` means that nobody knows.
  explicit ProgressBar(std::int64_t total, std::string label = {});
  /// On `out`, in lines of `width` columns.
  ProgressBar(std::int64_t total, std::string label, std::ostream& out, int width);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Ends the line.
  ~ProgressBar();

  /// One more is done; `note` is shown at the end of the line.
  void step(const std::string& note = {}) noexcept;
  /// Draws the last state and ends the line.
  void finish() noexcept;
  bool visible() const { return out_ != nullptr; }

 private:
  using Clock = std::chrono::steady_clock;
  void draw() noexcept;
  std::string line(int width) const;

  std::int64_t total_;
  std::int64_t done_ = 0;
  std::string label_;
  std::string note_;
  std::ostream* out_;
  int width_;  // 0: ask the terminal
  Clock::time_point start_;
  Clock::time_point drawn_;
};

/// What `train` shows: a ProgressBar if standard error is a terminal; a line on standard error for every epoch;
/// nothing.
enum class Progress : std::uint8_t { automatic, lines, none };

/// What `on_epoch` is told.
struct Epoch {
  int number;          ///< from 0
  std::int64_t items;  ///< steps taken in it
  double loss;         ///< mean over them; NaN if there were none
};

struct TrainOptions {
  int epochs = 1;
  Progress progress = Progress::automatic;
  std::function<void(const Epoch&)> on_epoch = {};
};

}  // namespace sluice::inline v0

namespace sluice::detail {

/// The loss as a number; waits for the device.
SLUICE_API double loss_number(const Tensor& loss);

/// Counts, shows, and stops at a loss that is not finite.
class SLUICE_API TrainingRun {
 public:
  TrainingRun(const TrainOptions& options, int epoch, std::int64_t items);
  /// After each step. Throws ArgumentError: "Loss is NaN on data item 3, stopping training".
  void item(double loss);
  /// The mean loss.
  double finish();

 private:
  const TrainOptions& options_;
  Epoch epoch_;
  std::optional<ProgressBar> bar_;
};

/// Throws ArgumentError unless epochs >= 0.
SLUICE_API void check_options(const TrainOptions& options);

/// loss(model, batch), a tuple-like batch spread over the arguments.
template <class F, class M, class B>
auto call_loss(F& loss, M& model, const B& batch) {
  if constexpr (TupleLike<B>) {
    return std::apply([&](const auto&... part) { return std::invoke(loss, model, part...); }, batch);
  } else {
    return std::invoke(loss, model, batch);
  }
}

template <class D>
std::int64_t item_count(const D& data) {
  if constexpr (requires {
                  { data.size() } -> std::convertible_to<std::int64_t>;
                }) {
    return static_cast<std::int64_t>(data.size());
  } else {
    return -1;
  }
}

/// The value of the loss function and its loss as a number, after a step if that is finite.
template <class F, class M, class B>
auto training_step(F& loss, M& model, const B& batch, OptimiserState& state) {
  auto [value, gradient] = withgradient([&](auto& m) { return call_loss(loss, m, batch); }, model);
  const double number = loss_number(loss_of(value));
  if (number - number == 0) update(state, model, gradient);
  return std::pair(std::move(value), number);
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// One step on one batch: gradient and update. Returns what the loss function returned, a Tensor or a tuple that begins
/// with it; the model is changed only if the loss is finite.
template <class F, class M, class B, class S>
auto trainstep(F&& loss, M& model, const B& batch, S& state) {
  detail::require_state<S>();
  static_assert(!std::is_const_v<M>, "trainstep changes the model: it cannot be const");
  return detail::training_step(loss, model, batch, state).first;
}

/// A step on every batch of `data`, `epochs` times; returns the mean loss of the last epoch. Calls trainmode(model)
/// first and leaves it so: call testmode(model) before you evaluate. Items are counted from 1 in the error that stops
/// training at a loss of Inf or NaN: "Loss is NaN on data item 3, stopping training" (ArgumentError); that item has not
/// changed the model.
template <class F, class M, class D, class S>
double train(F&& loss, M& model, D&& data, S& state, const TrainOptions& options = {}) {
  detail::require_state<S>();
  static_assert(!std::is_const_v<M>, "train changes the model: it cannot be const");
  detail::check_options(options);
  trainmode(model);
  double mean = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    detail::TrainingRun run(options, epoch, detail::item_count(data));
    for (auto&& batch : data) run.item(detail::training_step(loss, model, batch, state).second);
    mean = run.finish();
  }
  return mean;
}

}  // namespace sluice::inline v0
