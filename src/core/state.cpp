#include "sluice/state.hpp"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace sluice::inline v0 {
namespace {

constexpr std::size_t kMostNames = 8;  // in a description

template <class T, class Value>
const T& get_as(const Value& value, const State& state, std::string_view wanted) {
  if (const T* held = std::get_if<T>(&value)) return *held;
  throw ArgumentError(fmt::format("State: expected {}, found {}", wanted, state.describe()));
}

/// The number that all of `text` is.
std::optional<std::size_t> number_of(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string names_of(const State::Record& record) {
  std::string names;
  for (std::size_t i = 0; i < record.size() && i < kMostNames; ++i) {
    names += (i == 0 ? ": " : ", ") + record[i].first;
  }
  return names + (record.size() > kMostNames ? ", ..." : "");
}

struct Found {
  const State* state;
  std::size_t used;  ///< characters of the path
};

/// Follows a path as far as it goes. Of the names that fit, the longest is taken.
Found follow(const State& state, std::string_view path) {
  Found found{&state, 0};
  while (found.used < path.size()) {
    const std::string_view rest = path.substr(found.used);
    std::size_t end = rest.size();
    const State* child = nullptr;
    while ((child = found.state->find(rest.substr(0, end))) == nullptr) {
      end = end == 0 ? std::string_view::npos : rest.rfind('.', end - 1);
      if (end == std::string_view::npos) return found;
    }
    found = {child, found.used + end + (end < rest.size() ? 1 : 0)};
  }
  return found;
}

class Collector {
 public:
  void walk(const State& state) {
    if (state.is_tensor()) {
      found.emplace_back(path_, state.tensor());
    } else if (state.is_record()) {
      for (const auto& [name, child] : state.record()) step(name, child);
    } else if (state.is_list()) {
      for (std::size_t i = 0; i < state.list().size(); ++i) step(std::to_string(i), state.list()[i]);
    }
  }

  NamedTensors found;

 private:
  void step(const std::string& name, const State& child) {
    const std::size_t before = path_.size();
    if (!path_.empty()) path_ += '.';
    path_ += name;
    walk(child);
    path_.resize(before);
  }

  std::string path_;
};

/// A tree that is being built; children in the order in which they were met.
struct Branch {
  Tensor leaf;
  std::vector<std::pair<std::string, std::unique_ptr<Branch>>> children;
  std::map<std::string, Branch*, std::less<>> by_name;

  Branch& child(std::string_view name) {
    if (const auto found = by_name.find(name); found != by_name.end()) return *found->second;
    children.emplace_back(name, std::make_unique<Branch>());
    return *(by_name[std::string(name)] = children.back().second.get());
  }
};

constexpr int kMostParts = 100;

void plant(Branch& root, const std::string& name, const Tensor& tensor) {
  Branch* branch = &root;
  int parts = 0;
  for (std::string_view rest = name; !rest.empty() || parts == 0;) {
    const std::size_t dot = rest.find('.');
    if (++parts > kMostParts) throw ArgumentError("tree_of: a name has more than 100 parts");
    branch = &branch->child(rest.substr(0, dot));
    if (branch->leaf) throw ArgumentError(fmt::format("tree_of: \"{}\" lies in, or is, another tensor", name));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  if (!branch->children.empty()) throw ArgumentError(fmt::format("tree_of: other tensors lie in \"{}\"", name));
  branch->leaf = tensor;
}

/// Whether the children are called 0, 1, ... and nothing else.
bool is_list(const Branch& branch) {
  std::size_t number = 0;
  while (branch.by_name.contains(std::to_string(number))) ++number;
  return number > 0 && number == branch.children.size();
}

State grown(const Branch& branch) {
  if (branch.leaf) return branch.leaf;
  if (is_list(branch)) {
    State::List list;
    for (std::size_t i = 0; i < branch.children.size(); ++i) {
      list.push_back(grown(*branch.by_name.find(std::to_string(i))->second));
    }
    return list;
  }
  State::Record record;
  for (const auto& [name, child] : branch.children) record.emplace_back(name, grown(*child));
  return record;
}

}  // namespace

void State::refuse_unsigned(std::uint64_t value) {
  throw ArgumentError("State: " + std::to_string(value) + " is more than an integer of 64 bits with a sign holds");
}

bool State::boolean() const { return get_as<bool>(value_, *this, "a bool"); }
std::int64_t State::integer() const { return get_as<std::int64_t>(value_, *this, "an integer"); }
double State::real() const { return get_as<double>(value_, *this, "a real number"); }
const std::string& State::text() const { return get_as<std::string>(value_, *this, "text"); }
const Tensor& State::tensor() const { return get_as<Tensor>(value_, *this, "a tensor"); }
const State::List& State::list() const { return get_as<List>(value_, *this, "a list"); }
const State::Record& State::record() const { return get_as<Record>(value_, *this, "a record"); }

std::size_t State::size() const {
  if (is_list()) return list().size();
  return is_record() ? record().size() : 0;
}

const State* State::find(std::string_view name) const {
  if (is_list()) {
    const std::optional<std::size_t> number = number_of(name);
    return number && *number < list().size() ? &list()[*number] : nullptr;
  }
  if (!is_record()) return nullptr;
  for (const auto& [member, child] : record()) {
    if (member == name) return &child;
  }
  return nullptr;
}

const State& State::at(std::string_view path) const {
  const Found found = follow(*this, path);
  if (found.used == path.size()) return *found.state;
  throw ArgumentError(fmt::format("State: there is no \"{}\": {} is {}", path,
                                  found.used == 0 ? "the whole" : fmt::format("\"{}\"", path.substr(0, found.used - 1)),
                                  found.state->describe()));
}

std::string State::describe() const {
  const std::string type = type_.empty() ? "" : type_ + ", ";
  if (is_nothing()) return type + "nothing";
  if (is_bool()) return type + (boolean() ? "true" : "false");
  if (is_integer()) return fmt::format("{}{}", type, integer());
  if (is_real()) return fmt::format("{}{}", type, real());
  if (is_text()) return type + "text";
  if (is_list()) return fmt::format("{}a list of {}", type, size());
  if (is_record()) return fmt::format("{}a record of {}{}", type, size(), names_of(record()));
  if (!tensor()) return type + "an empty tensor";
  return fmt::format("{}{} {}", type, tensor().dtype().name(), to_string(tensor().shape()));
}

NamedTensors named_tensors(const State& state) {
  Collector collector;
  collector.walk(state);
  return std::move(collector.found);
}

State tree_of(const NamedTensors& tensors) {
  Branch root;
  for (const auto& [name, tensor] : tensors) plant(root, name, tensor);
  return grown(root);
}

}  // namespace sluice::inline v0
