#include "src/data/load_leaves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "sluice/ops.hpp"
#include "src/core/utf8.hpp"

namespace sluice::detail {
namespace {

std::string described(const Tensor& x) { return fmt::format("{} {}", x.dtype().name(), to_string(x.shape())); }

bool same_bytes(const Tensor& a, const Tensor& b) {
  const Tensor x = cpu_device()(a), y = cpu_device()(b);
  return x.same_handle(y) || std::memcmp(x.bytes().data(), y.bytes().data(), x.bytes().size()) == 0;
}

bool is_zero(const Tensor& x) { return equal(cpu_device()(x), zeros(x.shape(), x.dtype())); }

/// One load: the model's places, and what each gets.
class Match {
 public:
  Match(Contents& contents, ModelRef model, const LoadOptions& options)
      : contents_(contents), model_(model), options_(options), leaves_(leaves_of(model)), ties_(leaves_) {
    check_naming(options.prefix, options.rename, leaves_);
    for (const ModelLeaf& leaf : leaves_) names_.push_back(stored_name(leaf.name, options.prefix, options.rename));
  }

  LoadReport run() {
    for (std::size_t i = 0; i < leaves_.size(); ++i) match(i);
    find_unexpected();
    if (!faults_.empty()) throw_misfit(contents_.origin(), faults_, hint());
    std::vector<Tensor> values;
    for (std::size_t i = 0; i < leaves_.size(); ++i) values.push_back(value_of(i));
    put_values(contents_, model_, leaves_, ties_, values);
    return std::move(report_);
  }

 private:
  /// What a place gets: its own tensor, or that of a place it is tied to.
  const StoredItem* item_for(std::size_t i) const {
    if (const StoredItem* own = contents_.find(names_[i])) return own;
    for (const std::size_t j : ties_.of(i)) {
      if (const StoredItem* other = contents_.find(names_[j])) return other;
    }
    return nullptr;
  }

  void match(std::size_t i) {
    const ModelLeaf& leaf = leaves_[i];
    items_.push_back(nullptr);
    const StoredItem* const item = item_for(i);
    if (item != nullptr && !item->other.empty()) return match_other(leaf, names_[i], *item);
    if (item != nullptr && (!leaf.value || item->is_false)) return match_absent(leaf, names_[i], *item);
    if (!leaf.value) return;
    if (item == nullptr) {
      // A tree need not have generators, which Flux does not save: the report tells all the same.
      if (!contents_.is_tree() || !leaf.is_random()) missing(i);
      else report_.missing.push_back(leaf.name);
      return;
    }
    used_.insert(names_[i]);
    const bool is_cast = options_.cast && leaf.value.dtype().is_floating() && item->dtype.is_floating();
    if (!(item->shape == leaf.value.shape()) || !(item->dtype == leaf.value.dtype() || is_cast) ||
        !item->unreadable.empty()) {
      faults_.push_back(fmt::format("\"{}\" is {} in the model, {} in {}", leaf.name, described(leaf.value),
                                    item->describe(), contents_.noun()));
      const bool can_cast = item->unreadable.empty() && item->dtype.is_floating() && leaf.value.dtype().is_floating();
      can_cast_ = can_cast_ || (item->shape == leaf.value.shape() && can_cast);
      return;
    }
    items_.back() = item;
    report_.loaded.emplace_back(leaf.name, names_[i]);
  }

  /// One side has no tensor there: Flux's `false` and an array of zeros mean the same.
  void match_absent(const ModelLeaf& leaf, const std::string& name, const StoredItem& item) {
    if (!contents_.is_tree()) return;  // `find_unexpected` tells
    used_.insert(name);
    const bool is_same = leaf.value ? is_zero(leaf.value)
                                    : item.is_false || (!item.is_number && is_zero(contents_.read(item, Device())));
    if (is_same) return;
    if (leaf.value) report_.missing.push_back(leaf.name);
    else report_.unexpected.push_back(name);
    if (!options_.strict) return;
    faults_.push_back(leaf.value ? fmt::format("\"{}\" is {} with values other than zero in the model, false in {}",
                                               leaf.name, described(leaf.value), contents_.noun())
                                 : fmt::format("\"{}\" is empty in the model, {} with values other than zero in {}",
                                               leaf.name, item.describe(), contents_.noun()));
  }

  /// Something that no tensor can be made of. Nothing may stand for zeros, as it does where a bias is left out.
  void match_other(const ModelLeaf& leaf, const std::string& name, const StoredItem& item) {
    used_.insert(name);
    if (item.other == "nothing" && (!leaf.value || is_zero(leaf.value))) return;
    if (leaf.value) report_.missing.push_back(leaf.name);
    else report_.unexpected.push_back(name);
    if (!options_.strict || leaf.is_random()) return;
    faults_.push_back(fmt::format("\"{}\" is {} in the model, {} in {}", leaf.name,
                                  leaf.value ? described(leaf.value) : "empty", item.other, contents_.noun()));
  }

  void missing(std::size_t i) {
    const ModelLeaf& leaf = leaves_[i];
    report_.missing.push_back(leaf.name);
    if (!options_.strict) return;
    const std::string wanted = names_[i] == leaf.name ? "" : fmt::format(" for \"{}\"", leaf.name);
    faults_.push_back(fmt::format("missing \"{}\"{}, {}", names_[i], wanted, described(leaf.value)));
  }

  void find_unexpected() {
    const std::string prefix = options_.prefix.empty() ? "" : options_.prefix + ".";
    for (const auto& [name, number] : contents_.names()) {
      const StoredItem& item = contents_.item(number);
      if (!name.starts_with(prefix) || used_.contains(name) || item.is_false || item.is_number || !item.other.empty())
        continue;
      report_.unexpected.push_back(name);
      if (options_.strict) faults_.push_back(fmt::format("unexpected \"{}\", {}", name, item.describe()));
    }
  }

  /// What may help, in words.
  std::string hint() const {
    if (can_cast_ && !options_.cast) return "; .cast = true converts floating elements";
    if (!report_.loaded.empty()) return "";
    if (!options_.prefix.empty()) {
      const std::string start = options_.prefix + ".";
      const auto has_prefix = [&](const auto& entry) { return entry.first.starts_with(start); };
      return std::ranges::any_of(contents_.names(), has_prefix) ? "" : "; no name in it begins with \"" + start + "\"";
    }
    std::set<std::string> first;
    for (const auto& [name, number] : contents_.names()) first.insert(name.substr(0, name.find('.')));
    const auto some = std::span(names_).first(std::min<std::size_t>(names_.size(), 8));
    for (const std::string& part : first) {
      const std::string start = part + ".";
      const auto is_below = [&](const std::string& name) {
        return contents_.find(std::string(start).append(name)) != nullptr;
      };
      if (std::ranges::any_of(some, is_below))
        return fmt::format("; below \"{0}\" it fits: pass .prefix = \"{0}\"", part);
    }
    return "";
  }

  Tensor value_of(std::size_t i) {
    const Tensor& place = leaves_[i].value;
    if (items_[i] == nullptr) return place;
    // A type that the device may not have is converted before it goes there.
    const bool is_cast = !(items_[i]->dtype == place.dtype());
    return as_place(contents_.read(*items_[i], is_cast ? Device() : place.device()), place);
  }

  Contents& contents_;
  ModelRef model_;
  const LoadOptions& options_;
  std::vector<ModelLeaf> leaves_;
  Ties ties_;
  std::vector<std::string> names_;  // of each leaf in the file
  std::vector<const StoredItem*> items_;
  std::set<std::string> used_;
  std::vector<std::string> faults_;
  LoadReport report_;
  bool can_cast_ = false;
};

}  // namespace

LoadReport load_leaves(Contents& contents, ModelRef model, const LoadOptions& options) {
  return Match(contents, model, options).run();
}

void check_naming(const std::string& prefix, const Renames& rename, const std::set<std::string>& places) {
  if (prefix.starts_with('.') || prefix.ends_with('.')) {
    throw ArgumentError("the prefix " + in_quotes(prefix) +
                        " begins or ends with a dot; give it without, one is put after it");
  }
  for (const auto& [from, to] : rename) {
    const auto below = places.lower_bound(from + ".");
    if (places.contains(from) || (below != places.end() && below->starts_with(from + "."))) continue;
    throw ArgumentError(fmt::format("rename says that {} is {}, but there is no field {} with tensors", in_quotes(from),
                                    in_quotes(to), in_quotes(from)));
  }
}

void check_naming(const std::string& prefix, const Renames& rename, const std::vector<ModelLeaf>& leaves) {
  std::set<std::string> places;
  for (const ModelLeaf& leaf : leaves) places.insert(leaf.name);
  check_naming(prefix, rename, places);
}

std::string stored_name(const std::string& place, const std::string& prefix, const Renames& rename) {
  std::string name = place;
  std::size_t end = place.size();
  while (end != std::string::npos && end > 0) {
    const auto found = rename.find(place.substr(0, end));
    if (found != rename.end()) {
      const std::string rest = place.substr(end);
      name = found->second.empty() && !rest.empty() ? rest.substr(1) : found->second + rest;
      break;
    }
    end = place.rfind('.', end - 1);
  }
  return prefix.empty() ? name : prefix + "." + name;
}

Tensor as_place(const Tensor& value, const Tensor& place) {
  return place.device()(value.dtype() == place.dtype() ? value : cast(value, place.dtype()));
}

void throw_misfit(const std::string& origin, const std::vector<std::string>& faults, const std::string& hint) {
  constexpr std::size_t kMost = 20;  // more would not be read
  const std::span<const std::string> told = std::span(faults).first(std::min(faults.size(), kMost));
  const std::string more = faults.size() > kMost ? fmt::format("; and {} more", faults.size() - kMost) : "";
  throw FileError(
      fmt::format("{} does not fit the model, which is unchanged: {}{}{}", origin, fmt::join(told, "; "), more, hint));
}

void put_values(const Contents& contents, ModelRef model, const std::vector<ModelLeaf>& leaves, const Ties& ties,
                std::vector<Tensor>& values) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::size_t first = ties.of(i).front();
    if (first == i) continue;
    if (!same_bytes(values[first], values[i])) {
      throw FileError(
          fmt::format("{}: \"{}\" and \"{}\" are one tensor in the model, but differ in {}; the model is unchanged",
                      contents.origin(), leaves[first].name, leaves[i].name, contents.noun()));
    }
    values[i] = values[first];
  }
  try {
    write_leaves(model, leaves, values);
  } catch (const ArgumentError& error) {
    throw FileError(fmt::format("{}: {}; the model is unchanged", contents.origin(), error.what()));
  }
}

}  // namespace sluice::detail
