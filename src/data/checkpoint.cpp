#include "sluice/checkpoint.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <map>

#include "src/core/tensor_rep.hpp"
#include "src/data/safetensors.hpp"

namespace sluice::detail {
namespace {

constexpr std::string_view kOrderKey = "sluice.order";
constexpr std::string_view kOrder = "column-major";
constexpr std::string_view kAliasPrefix = "sluice.alias.";
constexpr std::string_view kExtension = ".safetensors";

void check_format(const std::string& path, std::string_view operation) {
  if (std::filesystem::path(path).extension() == kExtension) return;
  throw ArgumentError(
      fmt::format("{}: \"{}\" does not say its format; end the name in {}", operation, path, kExtension));
}

/// A generator as a tensor: seed and call, two i64 of the same bits.
Tensor tensor_of(const Generator& generator) {
  const RandomKey key = generator.peek();
  return from(std::vector{std::bit_cast<std::int64_t>(key.seed), std::bit_cast<std::int64_t>(key.call)});
}

Generator generator_of(const Tensor& x) {
  const auto key = x.to_vector<std::int64_t>();
  return Generator(std::bit_cast<std::uint64_t>(key[0]), std::bit_cast<std::uint64_t>(key[1]));
}

enum class LeafKind { tensor, buffer, counter };

/// A place of a model that is saved. `value` is what it holds.
struct Leaf {
  LeafKind kind;
  std::string name;
  Tensor value;
};

/// Every leaf that holds something, depth first.
class LeafCollector final : public LeafVisitor {
 public:
  void tensor(Tensor& x) override { add(LeafKind::tensor, x); }
  void buffer(Buffer& x) override { add(LeafKind::buffer, x.get()); }
  void counter(Counter& x) override { add(LeafKind::counter, tensor_of(x.get())); }

  std::vector<Leaf> leaves;

 private:
  void add(LeafKind kind, const Tensor& value) {
    if (!value) return;
    const std::string name = path();
    leaves.push_back({kind, name.empty() ? "tensor" : name, value});  // a model that is a tensor has no name
  }
};

std::vector<Leaf> leaves_of(ModelRef model) {
  LeafCollector collector;
  model(collector);
  return std::move(collector.leaves);
}

/// Puts new values in the places a LeafCollector has listed, in the same order.
class LeafWriter final : public LeafVisitor {
 public:
  explicit LeafWriter(const std::vector<Tensor>& values) : values_(values) {}
  void tensor(Tensor& x) override {
    if (x) x = values_[next_++];
  }
  void buffer(Buffer& x) override {
    if (x.get()) x.set(values_[next_++]);
  }
  void counter(Counter& x) override { x.set(generator_of(values_[next_++])); }

 private:
  const std::vector<Tensor>& values_;
  std::size_t next_ = 0;
};

/// A file seen from a model: which stored tensor each name means.
class Contents {
 public:
  explicit Contents(const std::string& path) : path_(path), file_(path) {
    const SafetensorsHeader& header = file_.header();
    for (const StoredTensor& stored : header.tensors) by_name_.emplace(stored.name, &stored);
    const auto order = header.metadata.find(std::string(kOrderKey));
    if (order != header.metadata.end() && order->second != kOrder) {
      throw FileError(fmt::format("load: {}: {} is \"{}\"; expected \"{}\"", path, kOrderKey, order->second, kOrder));
    }
    for (const auto& [key, target] : header.metadata) {
      if (key.starts_with(kAliasPrefix)) add_alias(key.substr(kAliasPrefix.size()), target);
    }
  }

  const StoredTensor* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  const std::map<std::string, const StoredTensor*>& names() const { return by_name_; }

  /// The tensor on a device; the same handle for the same stored tensor.
  Tensor read(const StoredTensor* stored, const Device& device) {
    Tensor& tensor = read_[{stored, device.impl()}];
    if (!tensor) tensor = device(file_.read(*stored));
    return tensor;
  }

 private:
  void add_alias(const std::string& name, const std::string& target) {
    const StoredTensor* const stored = find(target);
    const bool exists = stored != nullptr && stored->name == target;  // and is not an alias
    if (!exists || !by_name_.emplace(name, stored).second) {
      throw FileError(fmt::format("load: {}: the metadata say that \"{}\" is \"{}\", but {}", path_, name, target,
                                  exists ? "it is stored itself" : "no such tensor is stored"));
    }
  }

  std::string path_;
  SafetensorsFile file_;
  std::map<std::string, const StoredTensor*> by_name_;
  std::map<std::pair<const StoredTensor*, DeviceImpl*>, Tensor> read_;
};

std::string described(DType dtype, const Shape& shape) { return fmt::format("{} {}", dtype.name(), to_string(shape)); }

/// Which places hold the same tensor.
class Ties {
 public:
  explicit Ties(const std::vector<Leaf>& leaves) : groups_(leaves.size()) {
    std::map<const TensorRep*, std::size_t> first;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const std::size_t group =
          leaves[i].kind == LeafKind::tensor ? first.try_emplace(leaves[i].value.rep(), i).first->second : i;
      group_of_.push_back(group);
      groups_[group].push_back(i);
    }
  }
  /// Place i and those tied to it, in order.
  const std::vector<std::size_t>& of(std::size_t i) const { return groups_[group_of_[i]]; }

 private:
  std::vector<std::size_t> group_of_;
  std::vector<std::vector<std::size_t>> groups_;
};

/// What a place gets: its own tensor, or that of a place it is tied to.
const StoredTensor* stored_for(const Contents& contents, const std::vector<Leaf>& leaves, const Ties& ties,
                               std::size_t i) {
  if (const StoredTensor* own = contents.find(leaves[i].name)) return own;
  for (const std::size_t j : ties.of(i)) {
    if (const StoredTensor* stored = contents.find(leaves[j].name)) return stored;
  }
  return nullptr;
}

/// Everything that does not fit, in words; empty if all does.
std::vector<std::string> faults_of(const Contents& contents, const std::vector<Leaf>& leaves,
                                   const std::vector<const StoredTensor*>& stored) {
  std::vector<std::string> faults;
  std::map<std::string, bool> wanted;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Leaf& leaf = leaves[i];
    wanted[leaf.name] = true;
    if (stored[i] == nullptr) {
      faults.push_back(fmt::format("missing \"{}\", {}", leaf.name, described(leaf.value.dtype(), leaf.value.shape())));
    } else if (!(stored[i]->shape == leaf.value.shape()) || !(stored[i]->dtype == leaf.value.dtype())) {
      faults.push_back(fmt::format("\"{}\" is {} in the model, {} in the file", leaf.name,
                                   described(leaf.value.dtype(), leaf.value.shape()),
                                   described(stored[i]->dtype, stored[i]->shape)));
    }
  }
  for (const auto& [name, tensor] : contents.names()) {
    if (!wanted.contains(name)) {
      faults.push_back(fmt::format("unexpected \"{}\", {}", name, described(tensor->dtype, tensor->shape)));
    }
  }
  return faults;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  const Tensor x = cpu_device()(a), y = cpu_device()(b);
  return x.same_handle(y) || std::memcmp(x.bytes().data(), y.bytes().data(), x.bytes().size()) == 0;
}

/// Tied places keep their tie; what the file has for each must be equal.
void tie(const std::string& path, const std::vector<Leaf>& leaves, const Ties& ties, std::vector<Tensor>& values) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::size_t first = ties.of(i).front();
    if (first == i) continue;
    if (!same_bytes(values[first], values[i])) {
      throw FileError(
          fmt::format("load: {}: \"{}\" and \"{}\" are one tensor in the model, but differ in the file; the "
                      "model is unchanged",
                      path, leaves[first].name, leaves[i].name));
    }
    values[i] = values[first];
  }
}

}  // namespace

void save_model(const std::string& path, ModelRef model) {
  check_format(path, "save");
  std::map<const TensorRep*, std::string> first_name;
  std::map<std::string, std::string> metadata{{std::string(kOrderKey), std::string(kOrder)}};
  std::vector<NamedTensor> tensors;
  for (const Leaf& leaf : leaves_of(model)) {
    // Buffers are set anew one by one: that two hold the same tensor now does not tie them.
    const auto [first, fresh] = leaf.kind == LeafKind::tensor ? first_name.try_emplace(leaf.value.rep(), leaf.name)
                                                              : std::pair(first_name.end(), true);
    if (fresh) tensors.push_back({leaf.name, leaf.value});
    else metadata.emplace(std::string(kAliasPrefix) + leaf.name, first->second);
  }
  write_safetensors(path, std::move(tensors), metadata);
}

void load_model(const std::string& path, ModelRef model) {
  check_format(path, "load");
  Contents contents(path);
  const std::vector<Leaf> leaves = leaves_of(model);
  const Ties ties(leaves);
  std::vector<const StoredTensor*> stored;
  for (std::size_t i = 0; i < leaves.size(); ++i) stored.push_back(stored_for(contents, leaves, ties, i));
  const std::vector<std::string> faults = faults_of(contents, leaves, stored);
  if (!faults.empty()) {
    throw FileError(
        fmt::format("load: {} does not fit the model, which is unchanged: {}", path, fmt::join(faults, "; ")));
  }
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < leaves.size(); ++i) values.push_back(contents.read(stored[i], leaves[i].value.device()));
  tie(path, leaves, ties, values);
  LeafWriter writer(values);
  model(writer);
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

NamedTensors read_tensors(const std::string& path) {
  detail::SafetensorsFile file(path);
  NamedTensors tensors;
  for (const detail::StoredTensor& stored : file.header().tensors) {
    tensors.emplace_back(stored.name, file.read(stored));
  }
  return tensors;
}

}  // namespace sluice::inline v0
