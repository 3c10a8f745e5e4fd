#include "src/data/model_leaves.hpp"

#include <bit>
#include <map>

namespace sluice::detail {
namespace {

Generator generator_of(const Tensor& x) {
  const auto key = x.to_vector<std::int64_t>();
  return Generator(std::bit_cast<std::uint64_t>(key[0]), std::bit_cast<std::uint64_t>(key[1]));
}

class LeafCollector final : public LeafVisitor {
 public:
  LeafCollector() : LeafVisitor(Sharing::keep, Shown::everything) {}
  void tensor(Tensor& x) override { add(LeafKind::tensor, x); }
  void buffer(Buffer& x) override { add(LeafKind::buffer, x.get()); }
  void counter(Counter& x) override { add(LeafKind::counter, generator_tensor(x.get())); }
  void generator(Generator& x) override { add(LeafKind::generator, generator_tensor(x)); }
  void setting(double& x) override { add(LeafKind::setting, scalar(x)); }

  std::vector<ModelLeaf> leaves;

 private:
  void add(LeafKind kind, const Tensor& value) {
    const std::string name = path();
    leaves.push_back({kind, name.empty() ? "tensor" : name, value});  // a model that is a tensor has no name
  }
};

/// Puts values in the places that a LeafCollector has listed, in the same order.
class LeafWriter final : public LeafVisitor {
 public:
  explicit LeafWriter(const std::vector<Tensor>& values)
      : LeafVisitor(Sharing::keep, Shown::everything), values_(values) {}
  void tensor(Tensor& x) override {
    const Tensor& value = next();
    if (x) x = value;
  }
  void buffer(Buffer& x) override {
    const Tensor& value = next();
    if (value) x.set(value);
  }
  void counter(Counter& x) override { x.set(generator_of(next())); }
  void generator(Generator& x) override { x = generator_of(next()); }
  void setting(double& x) override { x = next().item<double>(); }

 private:
  const Tensor& next() { return values_[next_++]; }

  const std::vector<Tensor>& values_;
  std::size_t next_ = 0;
};

}  // namespace

Tensor generator_tensor(const Generator& generator) {
  const RandomKey key = generator.peek();
  return from(std::vector{std::bit_cast<std::int64_t>(key.seed), std::bit_cast<std::int64_t>(key.call)});
}

std::vector<ModelLeaf> leaves_of(ModelRef model) {
  LeafCollector collector;
  model(collector);
  return std::move(collector.leaves);
}

void write_leaves(ModelRef model, const std::vector<ModelLeaf>& leaves, const std::vector<Tensor>& values) {
  try {
    LeafWriter writer(values);
    model(writer);
  } catch (...) {
    std::vector<Tensor> before;
    before.reserve(leaves.size());
    for (const ModelLeaf& leaf : leaves) before.push_back(leaf.value);
    LeafWriter writer(before);
    model(writer);
    throw;
  }
}

Ties::Ties(const std::vector<ModelLeaf>& leaves) : groups_(leaves.size()) {
  std::map<const TensorRep*, std::size_t> first;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const bool can_tie = leaves[i].kind == LeafKind::tensor && leaves[i].value;
    const std::size_t group = can_tie ? first.try_emplace(leaves[i].value.rep(), i).first->second : i;
    group_of_.push_back(group);
    groups_[group].push_back(i);
  }
}

}  // namespace sluice::detail
