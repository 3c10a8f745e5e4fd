#include <map>

#include "sluice/model.hpp"
#include "sluice/ops.hpp"

namespace sluice::detail {
namespace {

class Unflatten final : public LeafVisitor {
 public:
  explicit Unflatten(const Tensor& flat) : LeafVisitor(Sharing::clone), flat_(flat) {}

  void tensor(Tensor& x) override {
    if (!is_trainable(x)) return;
    const auto [known, fresh] = known_.try_emplace(x.rep());
    if (fresh) {
      const std::int64_t first = std::exchange(next_, next_ + x.numel());
      const Tensor piece = reshape(slice(flat_, 0, first, next_), x.shape());
      known->second = {x, piece.dtype() == x.dtype() ? piece : cast(piece, x.dtype())};
    }
    x = known->second.second;
  }

 private:
  const Tensor& flat_;
  std::int64_t next_ = 0;
  std::map<const TensorRep*, std::pair<Tensor, Tensor>> known_;  // with the source, so that no handle is used twice
};

}  // namespace

Tensor flatten_model(ModelRef model) {
  std::vector<Tensor> parts = trainables(model);
  if (parts.empty()) return zeros({0});
  for (Tensor& part : parts) part = reshape(part, Shape{part.numel()});
  return parts.size() == 1 ? parts[0] : cat(parts, 0);
}

void unflatten_model(ModelRef model, const Tensor& flat) {
  const std::int64_t expected = parameter_count(model);
  if (!flat || flat.rank() != 1 || flat.numel() != expected) {
    throw ShapeError("destructure: the model is rebuilt from a vector of " + std::to_string(expected) +
                     " elements, not from " + (flat ? "shape " + to_string(flat.shape()) : "an empty Tensor"));
  }
  Unflatten visitor(flat);
  model(visitor);
}

}  // namespace sluice::detail
