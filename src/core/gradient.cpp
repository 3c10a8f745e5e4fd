#include "sluice/gradient.hpp"

#include <unordered_map>

#include "sluice/ops.hpp"

namespace sluice::detail {
namespace {

class Tracker final : public LeafVisitor {
 public:
  Tracker(Tape& tape, std::vector<Tensor>& tracked) : LeafVisitor(Sharing::clone), tape_(tape), tracked_(tracked) {}

  void tensor(Tensor& x) override {
    Tensor& mine = tracked_.emplace_back();
    if (!is_trainable(x)) return;
    const auto [known, fresh] = known_.try_emplace(x.rep());
    if (fresh) {
      tape_.track(x);
      known->second = x;
      mine = x;
    } else {
      x = known->second;
    }
  }

 private:
  Tape& tape_;
  std::vector<Tensor>& tracked_;
  std::unordered_map<const TensorRep*, Tensor> known_;
};

class IntoGradient final : public LeafVisitor {
 public:
  IntoGradient(const Tape& tape, const std::vector<Tensor>& tracked) : tape_(tape), tracked_(tracked) {}

  void tensor(Tensor& x) override {
    if (next_ >= tracked_.size()) {
      throw ArgumentError("gradient: the function changed how many tensors the model holds, at \"" + path() + "\"");
    }
    const Tensor& tracked = tracked_[next_++];
    x = tracked ? tape_.gradient(tracked) : Tensor();
  }
  void buffer(Buffer& x) override { x.set({}); }

 private:
  const Tape& tape_;
  const std::vector<Tensor>& tracked_;
  std::size_t next_ = 0;
};

class StateCollector final : public LeafVisitor {
 public:
  void buffer(Buffer& x) override { buffers.push_back(&x); }
  void counter(Counter& x) override { counters.push_back(&x); }

  std::vector<Buffer*> buffers;
  std::vector<Counter*> counters;
};

}  // namespace

GradientCall::GradientCall() = default;
GradientCall::~GradientCall() = default;

void GradientCall::track(ModelRef copy) {
  Tracker tracker(tape_, tracked_.emplace_back());
  copy(tracker);
}

void GradientCall::backward(const Tensor& loss) {
  if (!loss) throw ArgumentError("gradient: the function returned a Tensor that holds nothing");
  if (loss.rank() != 0) {
    throw ShapeError("Output is an array, so the gradient is not defined. gradient: the function returned shape " +
                     to_string(loss.shape()) + "; reduce it to a number with sum or mean.");
  }
  if (tape_.tracks(loss)) tape_.backward(loss);
}

void GradientCall::make_gradient(ModelRef copy) {
  IntoGradient visitor(tape_, tracked_[next_++]);
  copy(visitor);
}

void put_back(ModelRef model, ModelRef copy) {
  StateCollector to, from;
  model(to);
  copy(from);
  if (to.buffers.size() != from.buffers.size() || to.counters.size() != from.counters.size()) return;
  for (std::size_t i = 0; i < to.buffers.size(); ++i) to.buffers[i]->set(from.buffers[i]->get());
  for (std::size_t i = 0; i < to.counters.size(); ++i) to.counters[i]->set(from.counters[i]->get());
}

Tensor apply_with_pullback(const Function& forward, Function pullback, const Tensor& x) {
  Tensor input = detach(x);
  const Tensor y = map_program1(forward.program(), forward.params(), std::span<Tensor>(&input, 1));
  return record(y, {x}, [pullback = std::move(pullback), x = detach(x), y](const Tensor& g) {
    std::array<Tensor, 3> inputs{x, y, g};
    return std::vector<Tensor>{map_program1(pullback.program(), pullback.params(), inputs)};
  });
}

}  // namespace sluice::detail
