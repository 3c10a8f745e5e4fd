#include "sluice/tape.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "src/core/map.hpp"
#include "src/device/fork_safe.hpp"

namespace sluice::detail {
namespace {

struct ThreadState {
  Tape* tape = nullptr;
  bool no_grad = false;
};
thread_local ThreadState state;

// Ids are process-wide: a tensor that outlives its tape must not look tracked to a later tape of another thread.
std::atomic<std::uint64_t> last_id{0};

/// The tapes that live now, so that an operation can tell a leftover slot from one that still matters.
class LiveTapes {
 public:
  LiveTapes() { hold_during_fork(mutex_); }
  void insert(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    ids_.push_back(id);
  }
  void erase(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    std::erase(ids_, id);
  }
  bool contains(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(ids_, id) != ids_.end();
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint64_t> ids_;
};

LiveTapes& live_tapes() {
  static auto& tapes = *new LiveTapes;
  return tapes;
}
// Made while the library is loaded, so that no fork meets it half made.
[[maybe_unused]] const LiveTapes& kMadeAtLoad = live_tapes();

[[noreturn]] void throw_foreign_tape() {
  throw ArgumentError(
      "an operation met a tensor that another gradient call is tracking (an outer one, or one of another thread); "
      "higher-order gradients are not supported; use detach on that tensor");
}

}  // namespace

Tape::Tape() : id_(++last_id), outer_(state.tape), outer_no_grad_(std::exchange(state.no_grad, false)) {
  live_tapes().insert(id_);
  state.tape = this;
}

Tape::~Tape() {
  state.tape = outer_;
  state.no_grad = outer_no_grad_;
  live_tapes().erase(id_);
}

Tape* Tape::active() noexcept { return state.no_grad ? nullptr : state.tape; }

void Tape::track(Tensor& x) {
  const std::uint64_t tape = x.slot().tape;
  if (tape == id_) return;
  if (tape != 0 && live_tapes().contains(tape)) throw_foreign_tape();
  x.set_slot({id_, slots_++});
}

void Tape::add(std::span<Tensor> outputs, std::span<const Tensor> inputs, Pullback pullback) {
  Record& record = records_.emplace_back();
  record.first_output = slots_;
  record.outputs = static_cast<std::uint32_t>(outputs.size());
  record.needed = 0;
  record.inputs.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool wanted = tracks(inputs[i]);
    record.inputs.push_back(wanted ? inputs[i].slot().index : 0);
    if (wanted && i < 64) record.needed |= std::uint64_t{1} << i;
  }
  record.pullback = std::move(pullback);
  for (Tensor& output : outputs) output.set_slot({id_, slots_++});
}

void Tape::accumulate(std::uint32_t slot, Tensor gradient) {
  Tensor& sum = gradients_[slot];
  if (!sum) {
    sum = std::move(gradient);
    return;
  }
  std::array<Tensor, 2> both{std::move(sum), std::move(gradient)};
  sum = run_map1(row_program(Op::add), {}, both);
}

void Tape::walk(const Record& record) {
  const std::span<Tensor> outputs = std::span(gradients_).subspan(record.first_output, record.outputs);
  if (std::ranges::none_of(outputs, [](const Tensor& g) { return static_cast<bool>(g); })) return;
  std::vector<Tensor> inputs = record.pullback(outputs, Needed(record.needed));
  for (Tensor& used : outputs) used = Tensor();
  for (std::size_t i = 0; i < record.inputs.size() && i < inputs.size(); ++i) {
    if (record.inputs[i] != 0 && inputs[i]) accumulate(record.inputs[i], detach(std::move(inputs[i])));
  }
}

void Tape::backward(const Tensor& loss) {
  gradients_.assign(slots_, Tensor());
  if (!tracks(loss)) return;
  const NoGrad guard;
  gradients_[loss.slot().index] = ones_like(detach(loss));
  while (!records_.empty()) {
    // Each record dies as soon as it has been walked, and with it the values it kept.
    const Record record = std::move(records_.back());
    records_.pop_back();
    walk(record);
  }
}

Tensor Tape::gradient(const Tensor& x) const {
  return tracks(x) && x.slot().index < gradients_.size() ? gradients_[x.slot().index] : Tensor();
}

bool tracked(std::span<const Tensor> inputs) {
  bool any = false;
  for (const Tensor& x : inputs) {
    const std::uint64_t tape = x.slot().tape;
    if (tape == 0 || state.no_grad) continue;
    if (state.tape != nullptr && state.tape->tracks(x)) any = true;
    else if (live_tapes().contains(tape)) throw_foreign_tape();
  }
  return any;
}

void record(std::span<Tensor> outputs, std::span<const Tensor> inputs, Pullback pullback) {
  state.tape->add(outputs, inputs, std::move(pullback));
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

Tensor detach(Tensor x) {
  x.set_slot({});
  return x;
}

bool training() { return detail::Tape::active() != nullptr; }

NoGrad::NoGrad() : outer_(std::exchange(detail::state.no_grad, true)) {}
NoGrad::~NoGrad() { detail::state.no_grad = outer_; }

Tensor record(Tensor output, std::vector<Tensor> inputs,
              std::function<std::vector<Tensor>(const Tensor& output_gradient)> pullback) {
  output = detach(std::move(output));
  if (!detail::tracked(inputs)) return output;
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const Tensor& x : inputs) shapes.push_back(x ? x.shape() : Shape());
  Pullback checked = [shapes, pullback = std::move(pullback)](std::span<const Tensor> gradients, Needed) {
    std::vector<Tensor> result = pullback(gradients[0]);
    if (result.size() != shapes.size()) {
      throw ArgumentError("record: the pullback returned " + std::to_string(result.size()) + " gradients for " +
                          std::to_string(shapes.size()) + " inputs; return an empty Tensor where nothing flows");
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (result[i] && result[i].shape() != shapes[i]) {
        throw ShapeError("record: the pullback returned a gradient of size " + to_string(result[i].shape()) +
                         " for input " + std::to_string(i) + " of size " + to_string(shapes[i]));
      }
    }
    return result;
  };
  detail::record(std::span(&output, 1), inputs, std::move(checked));
  return output;
}

}  // namespace sluice::inline v0
