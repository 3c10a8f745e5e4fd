// The tape: what happened to tracked tensors, in order, so that it can be walked backwards.
//
// `gradient` (gradient.hpp) opens a tape, gives every parameter a slot on it and walks it back at the end. An operation
// records itself only if one of its inputs is tracked. The tape is a flat vector owned by that call.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sluice/tensor.hpp"

namespace sluice::inline v0 {

/// Which inputs of a recorded operation want a gradient; a pullback may leave the others empty.
class Needed {
 public:
  explicit Needed(std::uint64_t mask) : mask_(mask) {}
  /// Inputs past the 64th are always wanted.
  bool operator[](std::size_t input) const { return input >= 64 || ((mask_ >> input) & 1) != 0; }

 private:
  std::uint64_t mask_;
};

/// From the gradients of the outputs (empty where nothing flows) to those of the inputs (empty for none).
using Pullback = std::function<std::vector<Tensor>(std::span<const Tensor> output_gradients, Needed needed)>;

/// Makes a user's own operation differentiable: returns `output` tracked, when one of `inputs` is, so that the walk
/// back calls `pullback` with the gradient of the output and adds what it returns to those of the inputs. Compute
/// `output` from detached inputs, or the operations inside are recorded as well.
SLUICE_API Tensor record(Tensor output, std::vector<Tensor> inputs,
                         std::function<std::vector<Tensor>(const Tensor& output_gradient)> pullback);

/// The same handle without its place on a tape: a constant to the gradient.
SLUICE_API Tensor detach(Tensor x);

/// Whether this thread is inside `gradient`: layers such as Dropout are active then.
SLUICE_API bool training();

/// While it lives, nothing this thread does is recorded.
class SLUICE_API NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool outer_;
};

/// Calls `f` with nothing recorded.
template <class F>
auto no_grad(F&& f) {
  const NoGrad guard;
  return std::forward<F>(f)();
}

}  // namespace sluice::inline v0

namespace sluice::detail {

/// One call of `gradient`. Lives on the stack of its thread and is that thread's active tape while it lives.
class SLUICE_API Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// This thread's tape, or null: none, or inside NoGrad.
  static Tape* active() noexcept;

  /// Gives `x` a new slot. Throws ArgumentError if an outer tape tracks it.
  void track(Tensor& x);
  bool tracks(const Tensor& x) const { return x.slot().tape == id_; }
  /// Walks back from `loss`, whose gradient is 1.
  void backward(const Tensor& loss);
  /// Gradient of a tensor this tape tracks, empty when nothing flows there.
  Tensor gradient(const Tensor& x) const;

  void add(std::span<Tensor> outputs, std::span<const Tensor> inputs, Pullback pullback);

 private:
  struct Record {
    std::uint32_t first_output;
    std::uint32_t outputs;
    std::uint64_t needed;
    std::vector<std::uint32_t> inputs;  // slots, 0 for inputs that are not tracked
    Pullback pullback;
  };
  void walk(const Record& record);
  void accumulate(std::uint32_t slot, Tensor gradient);

  std::uint64_t id_;
  std::uint32_t slots_ = 1;  // slot 0 means not tracked
  std::vector<Record> records_;
  std::vector<Tensor> gradients_;
  Tape* outer_;
  bool outer_no_grad_;  // a gradient inside no_grad is a gradient
};

/// Whether the active tape tracks one of `inputs`. Throws ArgumentError when one is tracked by another live tape.
SLUICE_API bool tracked(std::span<const Tensor> inputs);
/// Records one operation with several outputs; call only when tracked(inputs).
SLUICE_API void record(std::span<Tensor> outputs, std::span<const Tensor> inputs, Pullback pullback);

}  // namespace sluice::detail
