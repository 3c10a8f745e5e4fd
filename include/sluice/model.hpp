// What works on whole models: moving, converting, listing, printing, flattening.
//
// A model is anything `visit` can walk (fields.hpp); a Tensor is a model of one leaf, a tuple or vector of models is a
// model. Identity of a leaf is its handle: tied places stay tied, whatever is done to them.
#pragma once

#include <concepts>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/fields.hpp"

namespace sluice::inline v0 {
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
}

namespace sluice::detail {

/// A place of a tensor in a model.
struct Place {
  std::string path;
  Tensor* tensor;
};

/// Every place of a Tensor, empty ones included, depth first; what shared pointers share is listed once.
SLUICE_API std::vector<Tensor*> tensor_places(ModelRef model);
SLUICE_API std::vector<Place> named_places(ModelRef model);
/// Whether gradients flow to `x`: it holds floating elements.
SLUICE_API bool is_trainable(const Tensor& x);

/// Replaces tensors and buffers by f of them, f called once per handle. `model` must be a copy: what its shared
/// pointers point at is cloned.
SLUICE_API void map_tensors(ModelRef model, const std::function<Tensor(const Tensor&)>& f);
/// Gives `model`, which must be a copy, to a device: casts floating tensors as `dtype` says, then moves.
SLUICE_API void move_model(ModelRef model, const std::optional<Device>& device, const std::optional<DType>& dtype);
/// As a loader does with its batches.
SLUICE_API void move_to_target(ModelRef model, const Target& target);
/// As `gpu` does: to the best device, f64 narrowed to f32 if that is not the CPU.
SLUICE_API void move_to_gpu(ModelRef model);
/// As `cu` does: to the CUDA device, or throws.
SLUICE_API void move_to_cuda(ModelRef model);
SLUICE_API std::string memory_report(ModelRef model);
SLUICE_API void set_mode(ModelRef model, Mode mode);
SLUICE_API Device device_of(ModelRef model);
SLUICE_API std::int64_t parameter_count(ModelRef model);
SLUICE_API std::vector<Tensor> trainables(ModelRef model);
SLUICE_API std::string summary(ModelRef model);
SLUICE_API Tensor flatten_model(ModelRef model);
/// Replaces the trainable tensors of `model`, which must be a copy, by pieces of `flat`.
SLUICE_API void unflatten_model(ModelRef model, const Tensor& flat);

SLUICE_API NamedTensors named_trainables(ModelRef model);
SLUICE_API void print_text(const std::string& text);
SLUICE_API std::ostream& print_text(std::ostream& out, const std::string& text);

/// Layers, which have `describe()`, and containers of layers, which have a member type SluiceContainer.
template <class M>
concept PrintsItself = requires(const M& model) {
  { model.describe() } -> std::convertible_to<std::string>;
} || requires { typename M::SluiceContainer; };

}  // namespace sluice::detail

namespace sluice::inline v0 {

/// `model` with every tensor replaced by f(tensor), buffers included. f is called once per handle, so ties stay.
template <class F, class M>
  requires std::is_invocable_r_v<Tensor, F&, const Tensor&>
M fmap(F&& f, M model) {
  detail::map_tensors(detail::model_ref(model), std::ref(f));
  return model;
}

/// The tensors that training changes: floating, not in a Buffer, tied ones once.
template <class M>
std::vector<Tensor> trainables(const M& model) {
  return detail::trainables(detail::model_ref(model));
}

/// The same with the path of the first place of each: {"hidden.weight", tensor}.
template <class M>
NamedTensors named_trainables(const M& model) {
  return detail::named_trainables(detail::model_ref(model));
}

/// Number of elements that training changes, tied tensors once.
template <class M>
std::int64_t parameter_count(const M& model) {
  return detail::parameter_count(detail::model_ref(model));
}

/// Where the tensors of a model are; the CPU if it has none. Throws DeviceError naming two paths and their devices when
/// they differ.
template <class M>
Device device_of(const M& model) {
  return detail::device_of(detail::model_ref(model));
}

template <class T>
T Device::operator()(T value) const {
  detail::move_model(detail::model_ref(value), *this, std::nullopt);
  return value;
}

template <class T>
T CastingDevice::operator()(T value) const {
  detail::move_model(detail::model_ref(value), device_, dtype_);
  return value;
}

template <class T>
T DType::operator()(T value) const {
  detail::move_model(detail::model_ref(value), std::nullopt, *this);
  return value;
}

/// `value` on the CPU, element types kept.
template <class T>
T cpu(T value) {
  return cpu_device()(std::move(value));
}

/// `value` on the best device, f64 narrowed to f32; as it is when that is the CPU.
template <class T>
T gpu(T value) {
  detail::move_to_gpu(detail::model_ref(value));
  return value;
}

/// The same on a CUDA device. Throws DeviceError with the reason where there is none.
template <class T>
T cu(T value) {
  detail::move_to_cuda(detail::model_ref(value));
  return value;
}

/// Bytes of the model by layer and device, tied tensors once: a line for each struct that holds tensors, and a total.
template <class M>
std::string memory_report(const M& model) {
  return detail::memory_report(detail::model_ref(model));
}

/// Switches every layer that behaves differently in training: on, off, or by whether a gradient is being taken.
template <class M>
void trainmode(M& model, Mode mode = Mode::train) {
  detail::set_mode(detail::model_ref(model), mode);
}
template <class M>
void testmode(M& model, Mode mode = Mode::test) {
  detail::set_mode(detail::model_ref(model), mode);
}

/// A flat vector of all parameters and the way back; what `destructure` gives.
template <class M>
class Rebuild {
 public:
  explicit Rebuild(M model) : model_(std::move(model)) {}
  /// The model with parameters from `flat`, in their own element types. Differentiable. Throws ShapeError unless the
  /// length fits.
  M operator()(const Tensor& flat) const {
    M model = model_;
    detail::unflatten_model(detail::model_ref(model), flat);
    return model;
  }

 private:
  M model_;
};

template <class M>
struct Destructured {
  Tensor flat;
  Rebuild<M> rebuild;
};

/// The trainable tensors in depth-first order, tied ones once, as one vector of the type they promote to.
///
///   auto [flat, rebuild] = destructure(model);
///   auto other = rebuild(flat * 2);
template <class M>
Destructured<M> destructure(const M& model) {
  return {detail::flatten_model(detail::model_ref(model)), Rebuild<M>(model)};
}

/// The model as text: a line per layer with its number of parameters, and a total when there are more than two arrays.
/// Reads at most a few bytes of each tensor from its device.
template <class M>
std::string summary(const M& model) {
  return detail::summary(detail::model_ref<detail::Names::required>(model));
}

/// Writes the summary and a newline to standard output.
template <class M>
void print(const M& model) {
  detail::print_text(summary(model));
}

template <detail::PrintsItself M>
std::ostream& operator<<(std::ostream& out, const M& model) {
  return detail::print_text(out, summary(model));
}

}  // namespace sluice::inline v0
