// Loading PyTorch's state_dicts: which of their names a place of the model has, and how the elements lie.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "src/data/formats.hpp"
#include "src/data/load_leaves.hpp"

namespace sluice::detail {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// A part of the model.
struct TorchNode {
  std::string name;  // of the field; empty for elements
  std::int64_t index = 0;
  bool sequence = false, container = false;
  TorchRules rules = nullptr;
  std::size_t leaf = kNone;  // its number among the leaves
  bool has_tensor = false;   // here or below
  std::vector<TorchNode> children = {};

  std::string label() const { return name.empty() ? std::to_string(index) : name; }
};

class TreeBuilder final : public LeafVisitor {
 public:
  TreeBuilder() : LeafVisitor(Sharing::keep, Shown::everything) {}
  void tensor(Tensor& x) override { leaf(static_cast<bool>(x)); }
  void buffer(Buffer& x) override { leaf(static_cast<bool>(x.get())); }
  void counter(Counter&) override { leaf(false); }
  void generator(Generator&) override { leaf(false); }
  void setting(double&) override { leaf(false); }
  void enter(const Part& part) override {
    open_.push_back({.name = std::string(part.name),
                     .index = part.index,
                     .sequence = part.sequence,
                     .container = part.container,
                     .rules = part.torch_rules});
  }
  void leave() override {
    TorchNode node = std::move(open_.back());
    open_.pop_back();
    if (open_.empty()) return void(root = std::move(node));
    open_.back().has_tensor = open_.back().has_tensor || node.has_tensor;
    open_.back().children.push_back(std::move(node));
  }

  TorchNode root;

 private:
  void leaf(bool has_tensor) {
    open_.back().leaf = count_++;
    open_.back().has_tensor = has_tensor;
  }

  std::vector<TorchNode> open_;
  std::size_t count_ = 0;
};

std::string joined(const std::string& path, std::string_view name) {
  if (path.empty() || name.empty()) return path + std::string(name);
  return path + "." + std::string(name);
}

/// One place and the tensors it is made of.
struct Source {
  std::vector<std::string> names;
  TorchRule::Convert convert = nullptr;
};

/// Walks the model and the names of the file side by side.
class Matcher {
 public:
  Matcher(const Contents& contents, const LoadOptions& options, std::size_t leaves)
      : sources(leaves), contents_(contents), options_(options) {}

  void node(const TorchNode& part, const std::string& path, std::string torch) {
    if (const std::string* renamed = renamed_to(path)) torch = joined(options_.prefix, *renamed);
    if (part.leaf != kNone) {
      if (part.has_tensor) sources[part.leaf].names = {torch};
      return;
    }
    if (part.sequence) return sequence(part, path, torch);
    for (const TorchNode& child : part.children) {
      const std::string child_path = joined(path, child.label());
      const TorchRule* const rule = rule_for(part, child.name);
      if (rule != nullptr && child.leaf != kNone && renamed_to(child_path) == nullptr) {
        if (child.has_tensor) sources[child.leaf] = source_of(*rule, torch);
      } else {
        // The layers of a container have no name of their own in PyTorch.
        node(child, child_path, part.container && child.sequence ? torch : joined(torch, child.label()));
      }
    }
    for (const TorchRule& rule : rules_of(part)) {
      for (const std::string_view name : rule.names) {
        if (rule.field.empty()) ignored.insert(joined(torch, name));
      }
    }
  }

  std::vector<Source> sources;  // of each leaf; without names where there is no tensor
  std::set<std::string> ignored;

 private:
  static std::span<const TorchRule> rules_of(const TorchNode& part) {
    return part.rules == nullptr ? std::span<const TorchRule>{} : part.rules();
  }
  static const TorchRule* rule_for(const TorchNode& part, std::string_view field) {
    for (const TorchRule& rule : rules_of(part)) {
      if (!field.empty() && rule.field == field) return &rule;
    }
    return nullptr;
  }
  static Source source_of(const TorchRule& rule, const std::string& torch) {
    Source source{.names = {}, .convert = rule.convert};
    for (const std::string_view name : rule.names) source.names.push_back(joined(torch, name));
    return source;
  }
  const std::string* renamed_to(const std::string& path) const {
    const auto found = options_.rename.find(path);
    return found == options_.rename.end() ? nullptr : &found->second;
  }

  /// The numbers that begin the names below `torch`, in order.
  std::vector<std::int64_t> numbers_below(const std::string& torch) const {
    const std::string prefix = torch.empty() ? "" : torch + ".";
    std::set<std::int64_t> numbers;
    for (auto at = contents_.names().lower_bound(prefix);
         at != contents_.names().end() && at->first.starts_with(prefix); ++at) {
      std::int64_t number = 0;
      const char* const begin = at->first.data() + prefix.size();
      const char* const end = at->first.data() + at->first.size();
      const auto [rest, error] = std::from_chars(begin, end, number);
      if (error == std::errc() && rest != begin && (rest == end || *rest == '.')) numbers.insert(number);
    }
    return {numbers.begin(), numbers.end()};
  }

  /// Elements that hold tensors meet the numbers of the file in order where there are as many of both.
  void sequence(const TorchNode& part, const std::string& path, const std::string& torch) {
    const std::vector<std::int64_t> numbers = numbers_below(torch);
    const auto takes_part = [&](const TorchNode& child) {
      return child.has_tensor && child.name.empty() && renamed_to(joined(path, child.label())) == nullptr;
    };
    const bool in_order = std::cmp_equal(std::ranges::count_if(part.children, takes_part), numbers.size());
    std::size_t next = 0;
    for (const TorchNode& child : part.children) {
      const bool is_counted = in_order && takes_part(child);
      node(child, joined(path, child.label()),
           joined(torch, is_counted ? std::to_string(numbers[next++]) : child.label()));
    }
  }

  const Contents& contents_;
  const LoadOptions& options_;
};

/// One load.
class TorchLoad {
 public:
  TorchLoad(Contents& contents, ModelRef model, const LoadOptions& options)
      : contents_(contents),
        options_(options),
        leaves_(leaves_of(model)),
        ties_(leaves_),
        matcher_(contents, options, leaves_.size()),
        values_(leaves_.size()) {
    check_naming(options.prefix, options.rename, leaves_);
    TreeBuilder builder;
    model(builder);
    matcher_.node(builder.root, "", options.prefix);
  }

  LoadReport run(ModelRef model) {
    for (std::size_t i = 0; i < leaves_.size(); ++i) take(i);
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (!values_[i]) fill(i);
    }
    find_unexpected();
    if (!faults_.empty()) throw_misfit(contents_.origin(), faults_);
    put_values(contents_, model, leaves_, ties_, values_);
    return std::move(report_);
  }

 private:
  void take(std::size_t i) {
    const Source& source = matcher_.sources[i];
    const ModelLeaf& leaf = leaves_[i];
    std::vector<Tensor> stored;
    for (const std::string& name : source.names) {
      const StoredItem* const item = contents_.find(name);
      if (item == nullptr) return;
      used_.insert(name);
      if (!item->unreadable.empty()) return fault(leaf, item->describe());
      stored.push_back(contents_.read(*item, Device()));
    }
    if (stored.empty()) return;
    const std::string names = fmt::format("{}", fmt::join(source.names, " + "));
    const Tensor value = source.convert == nullptr ? stored[0] : detach(source.convert(stored, leaf.value.shape()));
    const bool is_cast = options_.cast && value.dtype().is_floating() && leaf.value.dtype().is_floating();
    if (!(value.shape() == leaf.value.shape()) || !(value.dtype() == leaf.value.dtype() || is_cast)) {
      return fault(leaf, fmt::format("{} {} from \"{}\"", value.dtype().name(), to_string(value.shape()), names));
    }
    values_[i] = as_place(value, leaf.value);
    report_.loaded.emplace_back(leaf.name, names);
  }

  /// A place without a tensor of its own: that of a place it is tied to, or as it was.
  void fill(std::size_t i) {
    values_[i] = leaves_[i].value;
    if (matcher_.sources[i].names.empty() || faulty_.contains(i)) return;
    for (const std::size_t j : ties_.of(i)) {
      if (values_[j] && !values_[j].same_handle(leaves_[j].value)) return void(values_[i] = values_[j]);
    }
    report_.missing.push_back(leaves_[i].name);
    if (!options_.strict) return;
    faults_.push_back(fmt::format("missing \"{}\" for \"{}\", {} {}", fmt::join(matcher_.sources[i].names, "\", \""),
                                  leaves_[i].name, leaves_[i].value.dtype().name(),
                                  to_string(leaves_[i].value.shape())));
  }

  void fault(const ModelLeaf& leaf, const std::string& found) {
    faulty_.insert(static_cast<std::size_t>(&leaf - leaves_.data()));
    faults_.push_back(fmt::format("\"{}\" is {} {} in the model, {} in the file", leaf.name, leaf.value.dtype().name(),
                                  to_string(leaf.value.shape()), found));
  }

  void find_unexpected() {
    const std::string prefix = options_.prefix.empty() ? "" : options_.prefix + ".";
    for (const auto& [name, number] : contents_.names()) {
      if (!name.starts_with(prefix) || used_.contains(name) || matcher_.ignored.contains(name)) continue;
      report_.unexpected.push_back(name);
      if (!options_.strict) continue;
      faults_.push_back(fmt::format("unexpected \"{}\", {}", name, contents_.item(number).describe()));
    }
  }

  Contents& contents_;
  const LoadOptions& options_;
  std::vector<ModelLeaf> leaves_;
  Ties ties_;
  Matcher matcher_;
  std::vector<Tensor> values_;
  std::set<std::string> used_;
  std::set<std::size_t> faulty_;
  std::vector<std::string> faults_;
  LoadReport report_;
};

}  // namespace

LoadReport load_torch(const std::string& path, ModelRef model, const LoadOptions& options) {
  if (format_of_file(path, options.format, "from_torch").name != "safetensors") {
    throw ArgumentError("from_torch: " + path +
                        " is no .safetensors file; save the state_dict with "
                        "safetensors.torch.save_file");
  }
  return naming_file("from_torch", path, [&] {
    Contents contents = Contents::of_files(open_safetensors(path, "from_torch"), "from_torch: " + path);
    return TorchLoad(contents, model, options).run(model);
  });
}

}  // namespace sluice::detail
