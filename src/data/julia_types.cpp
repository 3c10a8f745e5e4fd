#include "src/data/julia_types.hpp"

#include <array>
#include <cstring>
#include <set>
#include <utility>

namespace sluice::detail {
namespace {

using Fields = std::array<std::string_view, 12>;

struct Layer {
  std::string_view type;  ///< in the module Flux
  Fields fields;          ///< the unused ones are empty
};

// Layers that have gained or lost a field between versions of Flux have a row for each.
constexpr Layer kLayers[] = {
    {"Chain", {"layers"}},
    {"Dense", {"weight", "bias", "σ"}},
    {"Scale", {"scale", "bias", "σ"}},
    {"Diagonal", {"scale", "bias"}},
    {"Bilinear", {"weight", "bias", "σ"}},
    {"Embedding", {"weight"}},
    {"Maxout", {"layers"}},
    {"SkipConnection", {"layers", "connection"}},
    {"Parallel", {"connection", "layers"}},
    {"PairwiseFusion", {"connection", "layers"}},
    {"Conv", {"σ", "weight", "bias", "stride", "pad", "dilation", "groups"}},
    {"Conv", {"σ", "weight", "bias", "stride", "pad", "dilation"}},
    {"CrossCor", {"σ", "weight", "bias", "stride", "pad", "dilation"}},
    {"DepthwiseConv", {"σ", "weight", "bias", "stride", "pad", "dilation"}},
    {"ConvTranspose", {"σ", "weight", "bias", "stride", "pad", "outpad", "dilation", "groups"}},
    {"ConvTranspose", {"σ", "weight", "bias", "stride", "pad", "dilation", "groups"}},
    {"ConvTranspose", {"σ", "weight", "bias", "stride", "pad", "dilation"}},
    {"MaxPool", {"k", "pad", "stride"}},
    {"MeanPool", {"k", "pad", "stride"}},
    {"AdaptiveMaxPool", {"out"}},
    {"AdaptiveMeanPool", {"out"}},
    {"BatchNorm", {"λ", "β", "γ", "μ", "σ²", "ϵ", "momentum", "affine", "track_stats", "active", "chs"}},
    {"InstanceNorm", {"λ", "β", "γ", "μ", "σ²", "ϵ", "momentum", "affine", "track_stats", "active", "chs"}},
    {"GroupNorm", {"G", "λ", "β", "γ", "μ", "σ²", "ϵ", "momentum", "affine", "track_stats", "active", "chs"}},
    {"LayerNorm", {"λ", "diag", "ϵ", "size", "affine"}},
    {"Dropout", {"p", "dims", "active", "rng"}},
    {"Dropout", {"p", "dims", "active"}},
    {"AlphaDropout", {"p", "active", "rng"}},
    {"Upsample", {"scale", "size"}},
    {"PixelShuffle", {"r"}},
    {"Recur", {"cell", "state"}},
    {"RNNCell", {"σ", "Wi", "Wh", "b", "state0"}},
    {"RNNCell", {"σ", "Wi", "Wh", "bias"}},
    {"LSTMCell", {"Wi", "Wh", "b", "state0"}},
    {"LSTMCell", {"Wi", "Wh", "bias"}},
    {"GRUCell", {"Wi", "Wh", "b", "state0"}},
    {"GRUCell", {"Wi", "Wh", "b"}},
    {"MultiHeadAttention", {"nheads", "q_proj", "k_proj", "v_proj", "attn_drop", "out_proj"}},
};

struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr TypeName kElements[] = {{"Float64", f64}, {"Float32", f32}, {"Float16", f16}, {"BFloat16", bf16},
                                  {"Int64", i64},   {"Int32", i32},   {"Int16", i16},   {"Int8", i8},
                                  {"UInt8", u8},    {"Bool", boolean}};

template <class T>
std::optional<T> value_of(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <class T>
std::optional<State> integer_of(std::span<const std::byte> bytes) {
  const std::optional<T> value = value_of<T>(bytes);
  if (!value || !std::in_range<std::int64_t>(*value)) return std::nullopt;
  return State(static_cast<std::int64_t>(*value));
}

template <class T>
std::optional<State> real_of(std::span<const std::byte> bytes) {
  const std::optional<T> value = value_of<T>(bytes);
  if (!value) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) return State(static_cast<double>(*value));
  else return State(static_cast<double>(static_cast<float>(*value)));
}

std::size_t count_of(const Fields& fields) {
  std::size_t count = 0;
  while (count < fields.size() && !fields[count].empty()) ++count;
  return count;
}

/// The text of a key of a dictionary.
std::optional<std::string> key_text(const State& key) {
  if (key.is_text()) return key.text();
  if (key.is_integer()) return std::to_string(key.integer());
  return std::nullopt;
}

}  // namespace

std::string julia_type_name(std::string path) {
  if (path.starts_with("Main.Base.") || path.starts_with("Main.Core.")) path.erase(0, 5);
  const std::size_t mark = path.find('#');
  // "#5#6" is a function without a name.
  if (mark != std::string::npos && (mark == 0 || path[mark - 1] == '.') &&
      path.find('#', mark + 1) == std::string::npos) {
    path.erase(mark, 1);
  }
  return path;
}

std::optional<DType> dtype_of_julia(std::string_view type) {
  const std::size_t dot = type.rfind('.');
  const std::string_view name = type.substr(dot == std::string_view::npos ? 0 : dot + 1);
  const std::string_view module = dot == std::string_view::npos ? "" : type.substr(0, dot);
  if (module != "Core" && !(name == "BFloat16" && module == "BFloat16s")) return std::nullopt;
  for (const TypeName& element : kElements) {
    if (element.name == name) return element.dtype;
  }
  return std::nullopt;
}

std::string_view julia_name_of(DType dtype) {
  for (const TypeName& element : kElements) {
    if (element.dtype == dtype) return element.name;
  }
  return {};
}

std::span<const std::string_view> flux_fields(std::string_view type, std::size_t count) {
  constexpr std::string_view kModule = "Flux.";
  if (count == 0 || !type.starts_with(kModule)) return {};
  // Types may lie in a module of their own within Flux.
  const std::string_view name = type.substr(type.rfind('.') + 1);
  for (const Layer& layer : kLayers) {
    if (layer.type == name && count_of(layer.fields) == count) return std::span(layer.fields).first(count);
  }
  return {};
}

std::optional<State> julia_scalar(std::string_view type, std::span<const std::byte> bytes) {
  if (type == "Core.UInt16") return integer_of<std::uint16_t>(bytes);
  if (type == "Core.UInt32") return integer_of<std::uint32_t>(bytes);
  if (type == "Core.UInt64") return integer_of<std::uint64_t>(bytes);
  const std::optional<DType> dtype = dtype_of_julia(type);
  if (!dtype || bytes.size() != dtype->size()) return std::nullopt;
  switch (dtype->code()) {
    case DType::kF64: return real_of<double>(bytes);
    case DType::kF32: return real_of<float>(bytes);
    case DType::kF16: return real_of<Float16>(bytes);
    case DType::kBF16: return real_of<BFloat16>(bytes);
    case DType::kI64: return integer_of<std::int64_t>(bytes);
    case DType::kI32: return integer_of<std::int32_t>(bytes);
    case DType::kI16: return integer_of<std::int16_t>(bytes);
    case DType::kI8: return integer_of<std::int8_t>(bytes);
    case DType::kU8: return integer_of<std::uint8_t>(bytes);
    case DType::kBool: break;
  }
  if (bytes[0] > std::byte{1}) return std::nullopt;
  return State(bytes[0] == std::byte{1});
}

State julia_dictionary(const State::List& keys, State::List values, const std::string& type) {
  State opaque;
  opaque.set_type(type);
  if (keys.size() != values.size()) return opaque;
  State::Record record;
  std::set<std::string> names;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::optional<std::string> name = key_text(keys[i]);
    if (!name || !names.insert(*name).second) return opaque;
    record.emplace_back(*name, std::move(values[i]));
  }
  return State(std::move(record)).set_type(type);
}

}  // namespace sluice::detail
