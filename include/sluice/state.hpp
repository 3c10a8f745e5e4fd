// What a checkpoint holds, whatever its format: a tree of tensors, numbers and text under names.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sluice/model.hpp"

namespace sluice::inline v0 {

/// A node of the tree. A value; the tensors in it are handles, so copies are cheap and ties stay.
///
///   State state = read_state("model.bson");
///   const State& weight = state.at("model_state.layers.0.weight");
///   Tensor w = weight.tensor();
class SLUICE_API State {
 public:
  using Member = std::pair<std::string, State>;
  /// Children in order: of a list they have no names, of a record each has one.
  using List = std::vector<State>;
  using Record = std::vector<Member>;

  /// What takes the place of a value: `nothing`, and all that a state leaves out, such as functions.
  State() = default;
  // NOLINTBEGIN(google-explicit-constructor): a tree is written as nested braces
  State(bool value) : value_(value) {}
  /// Throws ArgumentError beyond 2^63 - 1.
  template <std::integral T>
  State(T value) : value_(static_cast<std::int64_t>(value)) {
    if (std::unsigned_integral<T> && integer() < 0) refuse_unsigned(static_cast<std::uint64_t>(value));
  }
  State(double value) : value_(value) {}
  State(std::string value) : value_(std::move(value)) {}
  State(const char* value) : value_(std::string(value)) {}
  State(Tensor value) : value_(std::move(value)) {}
  State(List children) : value_(std::move(children)) {}
  State(Record members) : value_(std::move(members)) {}
  // NOLINTEND(google-explicit-constructor)

  bool is_nothing() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_real() const { return std::holds_alternative<double>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(value_); }
  bool is_list() const { return std::holds_alternative<List>(value_); }
  bool is_record() const { return std::holds_alternative<Record>(value_); }

  // Each of these throws ArgumentError, saying what the node is, unless it is of that kind.
  bool boolean() const;
  std::int64_t integer() const;
  double real() const;
  const std::string& text() const;
  const Tensor& tensor() const;
  const List& list() const;
  const Record& record() const;

  /// The type that the file gives a value, "Flux.Dense", or empty. Text for people; nothing is chosen by it.
  const std::string& type() const { return type_; }
  State& set_type(std::string type) {
    type_ = std::move(type);
    return *this;
  }

  /// The number of children; 0 of what has none.
  std::size_t size() const;
  /// The child of that name, or of that number ("0" first) in a list; null if there is none.
  const State* find(std::string_view name) const;
  /// The node under a dotted path, "layers.0.weight"; a member whose name has dots is found by its whole name as well.
  /// Throws ArgumentError naming the longest part that exists and what it holds.
  const State& at(std::string_view path) const;

  /// "a record of 3: weight, bias, σ", "f32 (5, 10)": what errors and listings say of it.
  std::string describe() const;

 private:
  [[noreturn]] static void refuse_unsigned(std::uint64_t value);

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Tensor, List, Record> value_;
  std::string type_;
};

/// The tensors of a tree under their dotted paths, depth first. Places that hold the same tensor are each listed.
SLUICE_API NamedTensors named_tensors(const State& state);

/// The other way: the tree that has these tensors under these dotted paths, "layers.0.weight". What has the children 0,
/// 1, ... and no others is a list. Throws ArgumentError where one name is a part of another's path, or occurs twice, or
/// has more than 100 parts.
SLUICE_API State tree_of(const NamedTensors& tensors);

}  // namespace sluice::inline v0
