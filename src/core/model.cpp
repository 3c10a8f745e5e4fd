#include "sluice/model.hpp"

#include <map>
#include <unordered_set>

#include "src/core/tensor_rep.hpp"

namespace sluice::detail {
namespace {

class PlaceCollector final : public LeafVisitor {
 public:
  explicit PlaceCollector(bool named) : named_(named) {}
  void tensor(Tensor& x) override { places.push_back({named_ ? path() : std::string(), &x}); }

  std::vector<Place> places;

 private:
  bool named_;
};

/// The first place of every trainable handle.
class TrainableCollector final : public LeafVisitor {
 public:
  explicit TrainableCollector(bool named) : named_(named) {}
  void tensor(Tensor& x) override {
    if (!is_trainable(x) || !seen_.insert(x.rep()).second) return;
    found.emplace_back(named_ ? path() : std::string(), x);
  }

  NamedTensors found;

 private:
  bool named_;
  std::unordered_set<const TensorRep*> seen_;
};

class TensorMapper final : public LeafVisitor {
 public:
  explicit TensorMapper(const std::function<Tensor(const Tensor&)>& f) : LeafVisitor(Sharing::clone), f_(f) {}

  void tensor(Tensor& x) override {
    if (x) x = mapped(x);
  }
  void buffer(Buffer& x) override {
    const Tensor value = x.get();
    if (value) x.set(mapped(value));
  }

 private:
  // A detached tensor and a tracked one may share a handle, but not a result.
  using Identity = std::tuple<const TensorRep*, std::uint64_t, std::uint32_t>;

  Tensor mapped(const Tensor& x) {
    const auto [known, fresh] = known_.try_emplace(Identity(x.rep(), x.slot().tape, x.slot().index));
    if (fresh) known->second = {x, f_(x)};
    return known->second.second;
  }

  const std::function<Tensor(const Tensor&)>& f_;
  std::map<Identity, std::pair<Tensor, Tensor>> known_;  // with the source, so that no handle is used twice
};

class ModeSwitch final : public LeafVisitor {
 public:
  explicit ModeSwitch(Mode mode) : mode_(mode) {}
  void mode(Mode& x) override { x = mode_; }

 private:
  Mode mode_;
};

class DeviceFinder final : public LeafVisitor {
 public:
  void tensor(Tensor& x) override { meet(x); }
  void buffer(Buffer& x) override { meet(x.get()); }

  std::optional<Device> found;

 private:
  void meet(const Tensor& x) {
    if (!x) return;
    if (!found) {
      found = x.device();
      first_ = path();
    } else if (!(x.device() == *found)) {
      throw DeviceError("device_of: \"" + first_ + "\" is on " + to_string(*found) + ", \"" + path() + "\" on " +
                        to_string(x.device()) + "; move the whole model with device(model)");
    }
  }

  std::string first_;
};

}  // namespace

bool is_trainable(const Tensor& x) { return x && x.dtype().is_floating(); }

std::vector<Place> named_places(ModelRef model) {
  PlaceCollector collector(true);
  model(collector);
  return std::move(collector.places);
}

std::vector<Tensor*> tensor_places(ModelRef model) {
  PlaceCollector collector(false);
  model(collector);
  std::vector<Tensor*> places;
  places.reserve(collector.places.size());
  for (const Place& place : collector.places) places.push_back(place.tensor);
  return places;
}

void map_tensors(ModelRef model, const std::function<Tensor(const Tensor&)>& f) {
  TensorMapper mapper(f);
  model(mapper);
}

void set_mode(ModelRef model, Mode mode) {
  ModeSwitch visitor(mode);
  model(visitor);
}

Device device_of(ModelRef model) {
  DeviceFinder finder;
  model(finder);
  return finder.found.value_or(cpu_device());
}

NamedTensors named_trainables(ModelRef model) {
  TrainableCollector collector(true);
  model(collector);
  return std::move(collector.found);
}

std::vector<Tensor> trainables(ModelRef model) {
  TrainableCollector collector(false);
  model(collector);
  std::vector<Tensor> tensors;
  tensors.reserve(collector.found.size());
  for (auto& [path, tensor] : collector.found) tensors.push_back(std::move(tensor));
  return tensors;
}

std::int64_t parameter_count(ModelRef model) {
  std::int64_t count = 0;
  for (const Tensor& each : trainables(model)) count += each.numel();
  return count;
}

}  // namespace sluice::detail
