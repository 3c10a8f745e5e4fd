#include "sluice/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "src/core/rethrow.hpp"
#include "src/core/warn.hpp"

namespace sluice::detail {
namespace {

void check_sizes(std::string_view layer, std::int64_t in, std::int64_t out) {
  if (in < 0 || out < 0) throw ShapeError(fmt::format("{}({} => {}): sizes cannot be negative", layer, in, out));
}

/// "relu" and "bias=false" as constructors take them: "(2 => 3, relu; bias=false)".
std::string with_options(std::string text, const Activation& activation, bool has_bias) {
  if (!activation.is_identity()) text += ", " + activation.name();
  return text + (has_bias ? ")" : "; bias=false)");
}

}  // namespace

void rethrow_in_layer(std::size_t index, const char* container) {
  rethrow_in(fmt::format("layer {} of {}", index, container));
}

Tensor as_weight(const Tensor& x, const Tensor& weight) {
  if (!x.dtype().is_floating() || !weight.dtype().is_floating() || x.dtype() == weight.dtype()) return x;
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) {
    warn(fmt::format("a layer with {} parameters got {} input; the input is converted, but earlier layers may be slow",
                     weight.dtype().name(), x.dtype().name()));
  }
  return cast(x, weight.dtype());
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

// ---- Dense

Dense::Dense(Size in, Size out, Activation activation_, const DenseOptions& options)
    : activation(std::move(activation_)) {
  detail::check_sizes("Dense", in.value, out.value);
  weight = options.init({out.value, in.value});
  if (options.bias) bias = zeros({out.value}, weight.dtype(), weight.device());
}

Dense::Dense(Tensor weight_, Tensor bias_, Activation activation_)
    : weight(std::move(weight_)), bias(std::move(bias_)), activation(std::move(activation_)) {
  if (weight.rank() != 2) throw ShapeError("Dense: the weight is (out, in), not " + to_string(weight.shape()));
  if (bias && !(bias.shape() == Shape{weight.size(0)})) {
    throw ShapeError("Dense: the bias is " + to_string(bias.shape()) + ", expected (" + std::to_string(weight.size(0)) +
                     ") for a weight of " + to_string(weight.shape()));
  }
}

std::span<const TorchRule> Dense::torch_rules() {
  // Its weight is (out, in) row by row: (in, out) here.
  static const TorchRule rules[] = {
      {"weight", {"weight"}, [](std::span<const Tensor> stored, const Shape&) { return transpose(stored[0]); }}};
  return rules;
}

std::span<const FluxField> Dense::flux_fields() {
  static constexpr FluxField kFields[] = {{"weight", "weight"}, {"bias", "bias"}, {"σ", "activation"}};
  return kFields;
}

Tensor Dense::operator()(const Tensor& input) const {
  if (!weight) throw ArgumentError("Dense: the layer has no weight; make it with Dense(in, out)");
  const Shape& shape = input.shape();
  const std::int64_t in = weight.size(1), out = weight.size(0);
  if (shape.rank() == 0 || shape[0] != in) {
    throw ShapeError(fmt::format("{}: input has size {} in dimension 0, expected {}; got {}", describe(), shape[0], in,
                                 to_string(shape)));
  }
  const bool many = shape.rank() > 2;
  const std::int64_t columns = std::accumulate(shape.begin() + 1, shape.end(), std::int64_t{1}, std::multiplies<>());
  const Tensor x = detail::as_weight(input, weight);
  Tensor h = matmul(weight, many ? reshape(x, Shape{in, columns}) : x);
  if (bias) {
    h = map([this](Expr a, Expr b) { return activation(a + b); }, std::move(h), bias);
  } else if (!activation.is_identity()) {
    h = activation(std::move(h));
  }
  return many ? reshape(h, shape.with(0, out)) : h;
}

std::string Dense::describe() const {
  if (!weight) return "Dense()";
  return detail::with_options(fmt::format("Dense({} => {}", weight.size(1), weight.size(0)), activation,
                              static_cast<bool>(bias));
}

// ---- Scale

Scale::Scale(const Shape& shape, Activation activation_, const ScaleOptions& options)
    : scale(options.init(shape)), activation(std::move(activation_)) {
  if (options.bias) bias = zeros(shape, scale.dtype(), scale.device());
}

std::span<const FluxField> Scale::flux_fields() {
  static constexpr FluxField kFields[] = {{"scale", "scale"}, {"bias", "bias"}, {"σ", "activation"}};
  return kFields;
}

Tensor Scale::operator()(const Tensor& input) const {
  if (!scale) throw ArgumentError("Scale: the layer has no scale; make it with Scale(size)");
  const Tensor x = detail::as_weight(input, scale);
  if (bias) {
    return map([this](Expr a, Expr s, Expr b) { return activation(s * a + b); }, x, scale, bias);
  }
  return map([this](Expr a, Expr s) { return activation(s * a); }, x, scale);
}

std::string Scale::describe() const {
  if (!scale) return "Scale()";
  std::string text = "Scale(";
  for (int dim = 0; dim < scale.rank(); ++dim) text += (dim > 0 ? ", " : "") + std::to_string(scale.size(dim));
  return detail::with_options(std::move(text), activation, static_cast<bool>(bias));
}

// ---- Dropout

Dropout::Dropout(double p_, DropoutOptions options) : p(p_), dims(std::move(options.dims)), mode(options.mode) {
  if (!(p >= 0 && p <= 1)) throw ArgumentError(fmt::format("Dropout: p = {}; it must be within 0 and 1", p));
  for (const int dim : dims) {
    if (dim < 0 || dim >= Shape::kMaxRank) throw IndexError(fmt::format("Dropout: there is no dimension {}", dim));
  }
}

std::span<const FluxField> Dropout::flux_fields() {
  static constexpr FluxField kFields[] = {{"p", ""}, {"dims", ""}, {"active", "mode"}, {"rng", ""}};
  return kFields;
}

Tensor Dropout::operator()(const Tensor& x) const {
  if (!is_active(mode) || p == 0) return x;
  Shape shape = x.shape();
  for (int dim = 0; dim < shape.rank() && !dims.empty(); ++dim) {
    if (std::find(dims.begin(), dims.end(), dim) == dims.end()) shape = shape.with(dim, 1);
  }
  const Tensor u = rand(shape, f32, counter.next(), x.device());
  const double scale = p == 1 ? 0 : 1 / (1 - p);  // 1 / 0 times a gradient of 0 would be NaN
  return map([this, scale](Expr value, Expr uniform) { return where(uniform > p, value * scale, 0); }, x, u);
}

std::string Dropout::describe() const {
  if (dims.empty()) return fmt::format("Dropout({})", p);
  if (dims.size() == 1) return fmt::format("Dropout({}; dims={})", p, dims[0]);
  return fmt::format("Dropout({}; dims=({}))", p, fmt::join(dims, ", "));
}

// ---- Layer, Sequential

Layer::Layer(const Layer& other)
    : table_(other.table_), object_(other.object_ == nullptr ? nullptr : other.table_->clone(other.object_)) {}

Layer& Layer::operator=(Layer other) noexcept {
  std::swap(table_, other.table_);
  std::swap(object_, other.object_);
  return *this;
}

Layer::~Layer() {
  if (object_ != nullptr) table_->destroy(object_);
}

Tensor Sequential::operator()(const Tensor& x) const {
  Tensor y = x;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    try {
      y = layers[i](y);
    } catch (const Error&) {
      detail::rethrow_in_layer(i, "Sequential");
    }
  }
  return y;
}

}  // namespace sluice::inline v0
