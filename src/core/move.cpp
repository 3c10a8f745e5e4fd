#include "src/core/move.hpp"

#include <map>

#include "sluice/model.hpp"
#include "sluice/ops.hpp"
#include "src/core/indices.hpp"
#include "src/core/recorded.hpp"
#include "src/core/rethrow.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::detail {
namespace {

/// Bytes of `from`, which is dense, to `whole`, which nobody else has seen.
void copy_bytes(const Tensor& from, const Tensor& whole, std::size_t bytes) {
  const Storage& source = *from.rep()->storage;
  Storage& to = *whole.rep()->storage;
  const std::size_t offset = static_cast<std::size_t>(from.rep()->offset) * from.dtype().size();
  if (source.device->is_host()) {
    const std::byte* const first = static_cast<const std::byte*>(source.data) + offset;
    to.device->write(to, 0, first, bytes);
    note_range(whole, first);
  } else if (to.device->is_host()) {
    source.device->read(source, offset, to.data, bytes);
  } else {
    to.device->copy_from_device(to, source, offset, bytes);
    to.range = source.range;
  }
}

/// What a move does to one tensor; says first whether it does anything.
struct Move {
  std::optional<Device> device;
  std::optional<DType> dtype;
  bool only_narrow = false;  // f64 to `dtype`, nothing else

  bool casts(const Tensor& x) const {
    return dtype && x.dtype().is_floating() && !(x.dtype() == *dtype) && (!only_narrow || x.dtype() == f64);
  }
  bool moves(const Tensor& x) const { return device && !(x.device() == *device); }
  Tensor operator()(const Tensor& x) const {
    // Cast first: the device need not know the old type.
    Tensor result = casts(x) ? cast(x, *dtype) : x;
    return moves(result) ? move_tensor(result, device->impl()) : result;
  }
};

class Look final : public LeafVisitor {
 public:
  explicit Look(const Move& move) : move_(move) {}
  void tensor(Tensor& x) override { meet(x); }
  void buffer(Buffer& x) override { meet(x.get()); }
  void target(Target&) override { anything = true; }

  bool anything = false;

 private:
  void meet(const Tensor& x) { anything = anything || (x && (move_.casts(x) || move_.moves(x))); }

  const Move& move_;
};

class Mover final : public LeafVisitor {
 public:
  explicit Mover(const Move& move) : LeafVisitor(Sharing::clone), move_(move) {}
  void tensor(Tensor& x) override {
    if (x) x = moved(x);
  }
  void buffer(Buffer& x) override {
    const Tensor value = x.get();
    if (value) x.set(moved(value));
  }
  void target(Target& x) override {
    if (move_.device) {
      x = {};
      if (!(*move_.device == cpu_device())) x.device = move_.device;
    }
    if (move_.dtype) {
      x.dtype = move_.dtype;
      x.only_narrow = move_.only_narrow;
    }
  }

 private:
  using Identity = std::tuple<const TensorRep*, std::uint64_t, std::uint32_t>;

  Tensor moved(const Tensor& x) {
    const auto [known, fresh] = known_.try_emplace(Identity(x.rep(), x.slot().tape, x.slot().index));
    if (fresh) {
      try {
        known->second = {x, move_(x)};
      } catch (const Error&) {
        rethrow_in(path().empty() ? "moving" : "moving \"" + path() + "\"");
      }
    }
    return known->second.second;
  }

  const Move& move_;
  std::map<Identity, std::pair<Tensor, Tensor>> known_;
};

void apply(ModelRef model, const Move& move) {
  Look look(move);
  model(look);
  if (!look.anything) return;
  Mover mover(move);
  model(mover);
}

}  // namespace

Tensor move_tensor(const Tensor& x, DeviceImpl* to) {
  require_value(x, "device");
  DeviceImpl* from = device_of_rep(x);
  if (from == to) return x;
  Tensor moved = empty(x.shape(), x.dtype(), to);
  const std::size_t bytes = static_cast<std::size_t>(x.numel()) * x.dtype().size();
  if (bytes > 0) copy_bytes(x, moved, bytes);
  return recorded(std::move(moved), x, [from](const Tensor& g) { return move_tensor(g, from); });
}

void move_model(ModelRef model, const std::optional<Device>& device, const std::optional<DType>& dtype) {
  if (dtype && !dtype->is_floating()) {
    throw TypeError(std::string(dtype->name()) + "(value): only a floating type converts a model; use cast(tensor, " +
                    std::string(dtype->name()) + ")");
  }
  apply(model, Move{device, dtype});
}

void move_to_target(ModelRef model, const Target& target) {
  apply(model, Move{target.device, target.dtype, target.only_narrow});
}

void move_to_gpu(ModelRef model) {
  const Device device = get_device();
  if (device == cpu_device()) return;
  apply(model, Move{device, f32, true});
}

void move_to_cuda(ModelRef model) {
  const Device best = get_device();
  apply(model, Move{best.backend() == "CUDA" ? best : get_device("CUDA"), f32, true});
}

}  // namespace sluice::detail
