// A model as a State, and one model's tensors in another.
#include <algorithm>
#include <set>

#include "sluice/checkpoint.hpp"
#include "src/data/formats.hpp"
#include "src/data/load_leaves.hpp"

namespace sluice::detail {
namespace {

/// Builds the tree from the leaves up.
class StateBuilder final : public LeafVisitor {
 public:
  /// As `state` gives it; without generators; with the fields of Flux.
  enum class Form : std::uint8_t { whole, without_random, of_flux };

  explicit StateBuilder(Form form) : LeafVisitor(Sharing::keep, Shown::everything), form_(form) {}

  void tensor(Tensor& x) override { set_tensor(x); }
  void buffer(Buffer& x) override { set_tensor(x.get()); }
  void counter(Counter& x) override { generator_value(x.get()); }
  void generator(Generator& x) override { generator_value(x); }
  void setting(double& x) override { set(x); }
  void mode(Mode& x) override { set(x == Mode::automatic ? State() : State(x == Mode::train)); }
  void kept(const KeptValue& x) override {
    if (const auto* flag = std::get_if<bool>(&x)) set(*flag);
    else if (const auto* integer = std::get_if<std::int64_t>(&x)) set(*integer);
    else if (const auto* real = std::get_if<double>(&x)) set(*real);
    else if (const auto* text = std::get_if<std::string_view>(&x)) set(std::string(*text));
  }

  void enter(const Part& part) override {
    open_.push_back({.name = std::string(part.name),
                     .type = std::string(part.type),
                     .index = part.index,
                     .sequence = part.sequence,
                     .flux_fields = part.flux_fields});
  }

  void leave() override {
    Open part = std::move(open_.back());
    open_.pop_back();
    part.name_elements();
    State node = std::move(part.leaf);
    if (form_ == Form::of_flux && part.flux_fields != nullptr) node = arranged(part);
    else if (!part.members.empty()) node = State(std::move(part.members));
    else if (part.sequence || !part.elements.empty()) node = State(std::move(part.elements));
    else if (form_ == Form::of_flux && !part.is_set) node = empty_tuple();
    if (open_.empty()) root = std::move(node);
    else open_.back().add(part, std::move(node));
  }

  State root;

 private:
  struct Open {
    std::string name, type;
    std::int64_t index = 0;
    bool sequence = false;
    FluxFields flux_fields = nullptr;
    bool is_set = false, has_tensor = false;  // here or below
    State leaf = {};
    State::Record members = {};
    State::List elements = {};
    std::vector<std::string> with_tensors = {};  // members that Flux must not lose

    /// A child without a name goes to its place; nothing stands at places that were passed over.
    void add(const Open& child, State node) {
      has_tensor = has_tensor || child.has_tensor;
      if (child.has_tensor) with_tensors.push_back(child.name);
      if (!child.name.empty()) return members.emplace_back(child.name, std::move(node)), void();
      elements.resize(std::max(elements.size(), static_cast<std::size_t>(child.index) + 1));
      elements[static_cast<std::size_t>(child.index)] = std::move(node);
    }
    /// Beside members with names, such as the other keys of a map, the elements have their numbers for names.
    void name_elements() {
      if (members.empty()) return;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        if (!elements[i].is_nothing()) members.emplace_back(std::to_string(i), std::move(elements[i]));
      }
      elements.clear();
    }
  };

  /// What Flux has in place of a function, `()`.
  static State empty_tuple() { return State().set_type("Core.Tuple"); }

  static State arranged(const Open& part) {
    const std::span<const FluxField> fields = part.flux_fields();
    for (const std::string& field : part.with_tensors) {
      if (std::ranges::find(fields, field, &FluxField::field) != fields.end()) continue;
      throw ArgumentError("the flux_fields of " + part.type + " lack its field \"" + field +
                          "\", whose tensor would be lost");
    }
    State::Record members;
    for (const FluxField& each : fields) {
      const auto own = std::ranges::find(part.members, each.field, &State::Member::first);
      if (own == part.members.end() && !each.field.empty()) {
        throw ArgumentError("the flux_fields of " + part.type + " name a field \"" + std::string(each.field) +
                            "\", which it has not");
      }
      members.emplace_back(each.name, own == part.members.end() ? empty_tuple() : own->second);
    }
    return State(std::move(members));
  }

  void set(State value) {
    open_.back().leaf = std::move(value);
    open_.back().is_set = true;
  }
  void set_tensor(const Tensor& x) {
    if (x) {
      set(detach(x));
      open_.back().has_tensor = true;
    } else if (form_ == Form::of_flux) {
      set(false);
    }
  }
  void generator_value(const Generator& generator) {
    if (form_ != Form::without_random) set(generator_tensor(generator));
  }

  Form form_;
  std::vector<Open> open_;
};

State built(ModelRef model, StateBuilder::Form form) {
  StateBuilder builder(form);
  model(builder);
  return std::move(builder.root);
}

/// Finds what is no tensor.
void check_tensors_only(const State& state, const std::string& path) {
  const auto below = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
  if (state.is_record()) {
    for (const auto& [name, child] : state.record()) check_tensors_only(child, below(name));
  } else if (state.is_list()) {
    for (std::size_t i = 0; i < state.size(); ++i) check_tensors_only(state.list()[i], below(std::to_string(i)));
  } else if (!state.is_tensor() && !state.is_nothing()) {
    throw ArgumentError("\"" + path + "\" is " + state.describe() +
                        "; this format keeps tensors only. Give it those of a part, state.at(\"...\"), or write .bson");
  }
}

State moved(const State& state, std::map<const TensorRep*, Tensor>& known) {
  if (state.is_tensor()) {
    if (!state.tensor()) return {};
    Tensor& host = known[state.tensor().rep()];
    if (!host) host = cpu_device()(state.tensor());
    return State(host).set_type(state.type());
  }
  if (state.is_record()) {
    State::Record members;
    for (const auto& [name, child] : state.record()) members.emplace_back(name, moved(child, known));
    return State(std::move(members)).set_type(state.type());
  }
  if (!state.is_list()) return state;
  State::List list;
  for (const State& child : state.list()) list.push_back(moved(child, known));
  return State(std::move(list)).set_type(state.type());
}

}  // namespace

State on_host(const State& state) {
  std::map<const TensorRep*, Tensor> known;
  return moved(state, known);
}

State state_of(ModelRef model) { return built(model, StateBuilder::Form::whole); }

State flux_state_of(ModelRef model) { return built(model, StateBuilder::Form::of_flux); }

void copy_model(ModelRef to, ModelRef from) {
  try {
    Contents contents = Contents::of_state(built(from, StateBuilder::Form::without_random), "loadmodel", "the source");
    load_leaves(contents, to, {.cast = true});
  } catch (const FileError& error) {
    throw ArgumentError(error.what());
  }
}

TensorFile tensor_file_of(const State& state, const SaveOptions& options) {
  check_tensors_only(state, "");
  TensorFile file{.tensors = {}, .aliases = {}, .metadata = options.metadata, .shard_bytes = options.shard_bytes};
  const NamedTensors tensors = named_tensors(state);
  std::set<std::string> places;
  for (const auto& each : tensors) places.insert(each.first);
  check_naming(options.prefix, options.rename, places);
  std::map<const TensorRep*, std::string> first;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor) continue;
    const std::string named = stored_name(name.empty() ? "tensor" : name, options.prefix, options.rename);
    const auto [known, fresh] = first.try_emplace(tensor.rep(), named);
    if (fresh) file.tensors.push_back({named, tensor});
    else file.aliases.emplace(named, known->second);
  }
  return file;
}

}  // namespace sluice::detail
