// Feed-forward layers and how layers are put together.
//
// A layer is any struct with a const `operator()`; those here are plain structs with public parameters. Data is
// (features, batch) or has more dimensions in between; the batch comes last and may be empty.
//
//   Chain model(Dense(64, 32, relu), Dropout(0.5), Dense(32, 10));   // the types are known: no virtual call
//   Sequential stack;                                               // put together at run time
//   for (int i = 0; i < depth; ++i) stack.push_back(Dense(32, 32, tanh));
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sluice/functions.hpp"
#include "sluice/init.hpp"

namespace sluice::inline v0 {

/// A size given as any integer.
struct Size {
  template <Integer I>
  Size(I size) : value(std::in_range<std::int64_t>(size) ? static_cast<std::int64_t>(size) : -1) {}  // NOLINT
  std::int64_t value;
};

struct DenseOptions {
  bool bias = true;                   ///< whether there is one; it starts as zeros
  Initializer init = glorot_uniform;  ///< of the weight
};

/// activation(weight * x + bias): (in, ...) -> (out, ...). A floating input of another element type is converted to
/// that of the weight.
struct SLUICE_API Dense {
  Tensor weight;  ///< (out, in)
  Tensor bias;    ///< (out), or empty
  Activation activation;

  /// A layer without parameters, to be assigned to; calling it throws ArgumentError.
  Dense() = default;
  Dense(Size in, Size out, Activation activation = {}, const DenseOptions& options = {});
  Dense(Size in, Size out, const DenseOptions& options) : Dense(in, out, Activation(), options) {}
  /// Throws ShapeError unless the bias, if any, has as many elements as the weight has rows.
  explicit Dense(Tensor weight, Tensor bias = {}, Activation activation = {});

  Tensor operator()(const Tensor& x) const;
  std::string describe() const;
  static std::span<const TorchRule> torch_rules();  ///< the weight is transposed
  static std::span<const FluxField> flux_fields();
  SLUICE_FIELDS(weight, bias, activation)
};

struct ScaleOptions {
  bool bias = true;         ///< whether there is one; it starts as zeros
  Initializer init = ones;  ///< of the scale
};

/// activation(scale * x + bias), elementwise; both broadcast over the dimensions that follow: Scale(3), Scale({3, 2},
/// relu).
struct SLUICE_API Scale {
  Tensor scale;
  Tensor bias;  ///< of the same shape, or empty
  Activation activation;

  Scale() = default;
  explicit Scale(const Shape& shape, Activation activation = {}, const ScaleOptions& options = {});

  Tensor operator()(const Tensor& x) const;
  std::string describe() const;
  static std::span<const FluxField> flux_fields();
  SLUICE_FIELDS(scale, bias, activation)
};

struct DropoutOptions {
  std::vector<int> dims = {};   ///< dimensions along which elements are dropped one by one; none given: all
  Mode mode = Mode::automatic;  ///< active inside `gradient` only
};

/// Sets elements to zero with probability `p` and divides the others by 1 - p, so that their mean stays. The masks
/// depend on the seed alone: not on device or threads. Each active call takes the next mask; differentiating a *const*
/// model leaves its place in the stream as it was, so it meets the same masks again.
struct SLUICE_API Dropout {
  double p = 0.5;
  std::vector<int> dims;
  Mode mode = Mode::automatic;
  Counter counter;

  /// Throws ArgumentError unless 0 <= p <= 1.
  explicit Dropout(double p = 0.5, DropoutOptions options = {});

  Tensor operator()(const Tensor& x) const;
  std::string describe() const;
  static std::span<const FluxField> flux_fields();
  SLUICE_FIELDS(mode, counter)
};

}  // namespace sluice::inline v0

namespace sluice::detail {

/// Adds "layer 2 of Chain" to the error being handled and throws it on.
[[noreturn]] SLUICE_API void rethrow_in_layer(std::size_t index, const char* container);

/// x in the element type of `weight` when both are floating.
SLUICE_API Tensor as_weight(const Tensor& x, const Tensor& weight);

/// Calls a layer; a function of a tensor and a dimension, such as softmax, works along dimension 0.
template <class L, class X>
decltype(auto) call_layer(const L& layer, X&& x) {
  if constexpr (std::is_invocable_v<const L&, X>) return layer(std::forward<X>(x));
  else return layer(std::forward<X>(x), 0);
}

template <class L, class X>
concept LayerOf = std::is_invocable_v<const L&, X> || std::is_invocable_v<const L&, X, int>;

/// The layer as it is kept: a function as a pointer.
template <class L>
using KeptLayer = std::decay_t<L>;

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// Layers one after the other.
template <class... L>
struct Chain {
  std::tuple<L...> layers;

  Chain() = default;
  explicit Chain(L... each)
    requires(sizeof...(L) > 0)
      : layers(std::move(each)...) {}

  template <class X>
  auto operator()(const X& x) const {
    if constexpr (sizeof...(L) == 0) return x;
    else return run<0>(x);
  }
  /// The layer at a place: get<0>(chain.layers) in short.
  template <std::size_t I>
  auto& get() {
    return std::get<I>(layers);
  }
  template <std::size_t I>
  const auto& get() const {
    return std::get<I>(layers);
  }

  using SluiceContainer = void;
  SLUICE_FIELDS(layers)

 private:
  template <std::size_t I, class X>
  auto run(const X& x) const {
    auto y = step<I>(x);
    if constexpr (I + 1 == sizeof...(L)) return y;
    else return run<I + 1>(y);
  }
  template <std::size_t I, class X>
  auto step(const X& x) const {
    try {
      return detail::call_layer(std::get<I>(layers), x);
    } catch (const Error&) {
      detail::rethrow_in_layer(I, "Chain");
    }
  }
};
template <class... L>
Chain(L...) -> Chain<L...>;

/// Any layer from Tensor to Tensor with its type forgotten. A value: a copy is a layer of its own that holds the same
/// tensors.
class SLUICE_API Layer {
 public:
  template <class L>
    requires(!std::is_same_v<L, Layer> && std::is_copy_constructible_v<L> && detail::LayerOf<L, const Tensor&>)
  Layer(L layer)  // NOLINT(google-explicit-constructor): Sequential{{Dense(2, 3), Dense(3, 1)}}
      : table_(&kTable<L>), object_(new L(std::move(layer))) {}
  Layer(const Layer& other);
  Layer(Layer&& other) noexcept : table_(other.table_), object_(std::exchange(other.object_, nullptr)) {}
  Layer& operator=(Layer other) noexcept;
  ~Layer();

  Tensor operator()(const Tensor& x) const { return table_->call(object_, x); }
  /// The layer itself, or null if it is of another type.
  template <class L>
  L* as() {
    return table_ == &kTable<L> ? static_cast<L*>(object_) : nullptr;
  }

  void sluice_visit(detail::LeafVisitor& visitor, std::string_view name, std::int64_t index) {
    if (object_ != nullptr) table_->visit(object_, visitor, name, index);
  }

 private:
  struct Table {
    void* (*clone)(const void*);
    void (*destroy)(void*) noexcept;
    Tensor (*call)(const void*, const Tensor&);
    void (*visit)(void*, detail::LeafVisitor&, std::string_view, std::int64_t);
  };
  template <class L>
  static constexpr Table kTable{
      [](const void* layer) -> void* { return new L(*static_cast<const L*>(layer)); },
      [](void* layer) noexcept { delete static_cast<L*>(layer); },
      [](const void* layer, const Tensor& x) -> Tensor { return detail::call_layer(*static_cast<const L*>(layer), x); },
      [](void* layer, detail::LeafVisitor& visitor, std::string_view name, std::int64_t index) {
        detail::visit_part<detail::Names::required>(*static_cast<L*>(layer), name, index, visitor);
      }};

  const Table* table_;
  void* object_;
};

/// Layers one after the other, put together at run time.
struct SLUICE_API Sequential {
  std::vector<Layer> layers;

  Sequential() = default;
  explicit Sequential(std::vector<Layer> list) : layers(std::move(list)) {}

  Tensor operator()(const Tensor& x) const;
  void push_back(Layer layer) { layers.push_back(std::move(layer)); }
  std::size_t size() const { return layers.size(); }
  Layer& operator[](std::size_t index) { return layers[index]; }
  const Layer& operator[](std::size_t index) const { return layers[index]; }

  using SluiceContainer = void;
  SLUICE_FIELDS(layers)
};

}  // namespace sluice::inline v0
