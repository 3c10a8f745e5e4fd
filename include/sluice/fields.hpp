// Models are plain structs: how the library finds the tensors in one.
//
//   struct Net {
//     Dense hidden{64, 32, relu};
//     Dense out{32, 10};
//     Tensor operator()(const Tensor& x) const { return out(hidden(x)); }
//     SLUICE_FIELDS(hidden, out)   // names, for printing and checkpoints
//   };
//
// `visit` walks the fields depth first and shows every leaf to a LeafVisitor. Followed: structs, std::vector, array,
// tuple, pair, optional, map<std::string, ...>, shared_ptr and unique_ptr. Kept as they are: numbers, strings, enums,
// generators, function pointers, functions without state. Anything else does not compile, so that nothing is silently
// left behind.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice/fields_count.hpp"
#include "sluice/fields_leaves.hpp"

/// Names the fields of a model: SLUICE_FIELDS(hidden, out), after the fields. Only what is listed is moved, trained and
/// saved; SLUICE_FIELDS() makes a class a value without tensors.
#define SLUICE_FIELDS(...)                                                        \
  auto sluice_fields() { return std::tie(__VA_ARGS__); }                          \
  static constexpr std::string_view sluice_field_names() { return #__VA_ARGS__; } \
  void sluice_declares_fields() const {}                                          \
  friend struct ::sluice::detail::FieldAccess;

namespace sluice::detail {

/// Reaches what SLUICE_FIELDS declares, be it private.
struct FieldAccess {
  template <class T>
  static auto fields(T& value) {
    return value.sluice_fields();
  }
  template <class T>
  using Fields = decltype(std::declval<T&>().sluice_fields());
  template <class T>
  static constexpr std::string_view names() {
    return T::sluice_field_names();
  }
  /// Whether T or a base of it has SLUICE_FIELDS.
  template <class T>
  static constexpr bool has() {
    return requires { &T::sluice_declares_fields; };
  }
  /// Whether T itself has: a derived class must list its fields anew.
  template <class T>
  static constexpr bool declares() {
    if constexpr (has<T>()) return std::is_same_v<decltype(&T::sluice_declares_fields), void (T::*)() const>;
    else return false;
  }
};

/// Whether printing and saving need the names of fields, or their numbers will do.
enum class Names : std::uint8_t { optional, required };

enum class FieldKind : std::uint8_t {
  tensor,
  buffer,
  counter,
  mode,
  target,
  kept,
  named,
  aggregate,
  list,
  tuple,
  dictionary,
  optional,
  shared,
  unique,
  erased,
  function_pointer,
  c_array,
  pointer,
  derived,
  unknown
};

template <class T>
struct IsContainer {
  static constexpr FieldKind kKind = FieldKind::unknown;
};
#define SLUICE_CONTAINER(kind, parameters, ...)         \
  template <parameters>                                 \
  struct IsContainer<__VA_ARGS__> {                     \
    static constexpr FieldKind kKind = FieldKind::kind; \
  };
SLUICE_CONTAINER(list, class T, std::vector<T>)
template <class T, std::size_t N>
struct IsContainer<std::array<T, N>> {
  static constexpr FieldKind kKind = FieldKind::list;
};
SLUICE_CONTAINER(tuple, class... T, std::tuple<T...>)
template <class A, class B>
struct IsContainer<std::pair<A, B>> {
  static constexpr FieldKind kKind = FieldKind::tuple;
};
SLUICE_CONTAINER(dictionary, class T, std::map<std::string, T>)
SLUICE_CONTAINER(optional, class T, std::optional<T>)
SLUICE_CONTAINER(shared, class T, std::shared_ptr<T>)
SLUICE_CONTAINER(unique, class T, std::unique_ptr<T>)
// A traced function cannot capture tensors, so nothing can be left behind in one.
SLUICE_CONTAINER(kept, class F, Pointwise<F>)
#undef SLUICE_CONTAINER

/// A class that hides the type of what it holds and passes the traversal on: Layer.
template <class T>
concept ErasedField = requires(T& value, LeafVisitor& visitor) { value.sluice_visit(visitor, std::string_view{}, 0); };

template <class T>
constexpr bool is_kept() {
  return std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> ||
         std::is_same_v<T, std::string_view> || std::is_same_v<T, const char*> || std::is_same_v<T, Generator> ||
         std::is_same_v<T, DType> || std::is_same_v<T, Shape> || std::is_same_v<T, Device> ||
         std::is_same_v<T, std::nullptr_t> || std::is_same_v<T, Scalar> || std::is_same_v<T, Function>;
}

template <class T>
constexpr FieldKind kind_of() {
  if constexpr (std::is_same_v<T, Tensor>) return FieldKind::tensor;
  else if constexpr (std::is_same_v<T, Buffer>) return FieldKind::buffer;
  else if constexpr (std::is_same_v<T, Counter>) return FieldKind::counter;
  else if constexpr (std::is_same_v<T, Mode>) return FieldKind::mode;
  else if constexpr (std::is_same_v<T, Target>) return FieldKind::target;
  else if constexpr (is_kept<T>()) return FieldKind::kept;
  else if constexpr (IsContainer<T>::kKind != FieldKind::unknown) return IsContainer<T>::kKind;
  else if constexpr (std::is_array_v<T>) return FieldKind::c_array;
  else if constexpr (std::is_pointer_v<T>) {
    return std::is_function_v<std::remove_pointer_t<T>> ? FieldKind::function_pointer : FieldKind::pointer;
  } else if constexpr (FieldAccess::declares<T>()) return FieldKind::named;
  else if constexpr (FieldAccess::has<T>()) return FieldKind::derived;
  else if constexpr (ErasedField<T>) return FieldKind::erased;
  else if constexpr (std::is_empty_v<T>) return FieldKind::kept;
  else if constexpr (std::is_aggregate_v<T> && !std::is_union_v<T>) return FieldKind::aggregate;
  else return FieldKind::unknown;
}

// Conditions whose name is the message: compilers print them with the type.
template <class T>
inline constexpr bool kFieldsCanBeSeen = kind_of<T>() != FieldKind::unknown;
template <class T>
inline constexpr bool kListsItsOwnFields = kind_of<T>() != FieldKind::derived;
template <class T>
inline constexpr bool kIsNotCArray = !std::is_array_v<T>;
template <class T>
inline constexpr bool kIsNotRawPointer = kind_of<T>() != FieldKind::pointer;
template <class T>
inline constexpr bool kHasNamedFields = kind_of<T>() != FieldKind::aggregate;
template <class T>
inline constexpr bool kIsNotPolymorphic = !std::is_polymorphic_v<T> || std::is_final_v<T>;

template <Names names, class T>
constexpr void require_visitable() {
  static_assert(kIsNotCArray<T>, "a C array cannot be a field of a model: write std::array");
  static_assert(kIsNotRawPointer<T>, "a raw pointer cannot be a field of a model: write std::shared_ptr");
  static_assert(kListsItsOwnFields<T>,
                "only the base class has SLUICE_FIELDS: add SLUICE_FIELDS(first, second, ...) to this class, with the "
                "fields of the base");
  static_assert(kFieldsCanBeSeen<T>,
                "the fields of this class cannot be seen: add SLUICE_FIELDS(first, second, ...) to it; a lambda that "
                "captures must become such a struct");
  static_assert(names == Names::optional || kHasNamedFields<T>,
                "printing and saving need the names of the fields: add the line SLUICE_FIELDS(first, second, ...) to "
                "this struct");
}

template <class T, std::size_t N>
constexpr std::array<std::string_view, N> split_names(std::string_view text) {
  std::array<std::string_view, N> names{};
  std::size_t begin = 0;
  for (std::size_t i = 0; i < N; ++i) {
    const std::size_t comma = text.find(',', begin);
    std::string_view name = text.substr(begin, comma == std::string_view::npos ? comma : comma - begin);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (name.substr(0, 6) == "this->") name.remove_prefix(6);
    names[i] = name;
    begin = comma + 1;
  }
  return names;
}

/// Names of the fields of T, which has SLUICE_FIELDS.
template <class T>
constexpr auto field_names() {
  return split_names<T, std::tuple_size_v<FieldAccess::Fields<T>>>(FieldAccess::names<T>());
}

/// The name of T without namespaces and template arguments: "Chain".
template <class T>
constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";<]"));
  const std::size_t colon = text.rfind(':');
  return colon == std::string_view::npos ? text : text.substr(colon + 1);
}

/// A line for printing, where the value has one: what its `describe()` says, or the name of a function.
template <class T>
constexpr auto describe_of() {
  if constexpr (kind_of<T>() == FieldKind::function_pointer) {
    return [](const void* f) { return function_name(reinterpret_cast<void (*)()>(*static_cast<const T*>(f))); };
  } else if constexpr (requires(const T& value) {
                         { value.describe() } -> std::convertible_to<std::string>;
                       }) {
    return [](const void* value) -> std::string { return static_cast<const T*>(value)->describe(); };
  } else if constexpr (requires(const T& value) {
                         value.function;
                         { value.label } -> std::convertible_to<const char*>;
                       }) {
    return [](const void* value) { return std::string(static_cast<const T*>(value)->label); };
  } else if constexpr (std::is_empty_v<T> && kind_of<T>() == FieldKind::kept) {
    return [](const void*) { return std::string("<function>"); };
  } else {
    return nullptr;
  }
}

/// What T says of its names in PyTorch, or null.
template <class T>
constexpr TorchRules torch_rules_of() {
  if constexpr (requires {
                  { T::torch_rules() } -> std::same_as<std::span<const TorchRule>>;
                }) {
    return &T::torch_rules;
  } else {
    return nullptr;
  }
}

/// What T says of its fields in Flux, or null.
template <class T>
constexpr FluxFields flux_fields_of() {
  if constexpr (requires {
                  { T::flux_fields() } -> std::same_as<std::span<const FluxField>>;
                }) {
    return &T::flux_fields;
  } else {
    return nullptr;
  }
}

/// What a field without tensors holds, where it is a number or text.
template <class T>
KeptValue kept_value(const T& value) {
  if constexpr (std::is_same_v<T, bool>) return value;
  else if constexpr (std::is_integral_v<T>) return static_cast<std::int64_t>(value);
  else if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
  else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>)
    return std::string_view(value);
  else return {};
}

/// By type: under UBSan g++ does not compare a function's address in a constant expression.
template <class T>
constexpr bool is_described() {
  return !std::is_null_pointer_v<decltype(describe_of<T>())>;
}

template <Names names, class T>
void visit_part(T& value, std::string_view name, std::int64_t index, LeafVisitor& visitor);

template <Names names, class Tuple, class NameList>
void visit_tuple(Tuple&& fields, const NameList& field_names, LeafVisitor& visitor) {
  std::apply(
      [&](auto&... field) {
        [[maybe_unused]] std::size_t i = 0;
        ((visit_part<names>(field, field_names[i], static_cast<std::int64_t>(i), visitor), ++i), ...);
      },
      fields);
}

template <class T>
inline constexpr char kTypeTag = 0;

/// A pointee that several pointers share is visited once; a visitor that makes a copy of the model clones it once.
template <Names names, class T>
void visit_shared(std::shared_ptr<T>& pointer, std::string_view name, std::int64_t index, LeafVisitor& visitor) {
  using Value = std::remove_const_t<T>;
  static_assert(kIsNotPolymorphic<Value>, "a shared_ptr to a base class cannot be followed: hold a Layer");
  const char* tag = &kTypeTag<Value>;  // a struct and its first field have the same address
  if (!pointer) return;
  if (!visitor.clones()) {
    if (visitor.shared(pointer.get(), tag) == nullptr) {
      visitor.remember(pointer.get(), tag, std::const_pointer_cast<Value>(pointer));
      visit_part<names>(const_cast<Value&>(*pointer), name, index, visitor);
    }
    return;
  }
  if (const std::shared_ptr<void> known = visitor.shared(pointer.get(), tag)) {
    pointer = std::static_pointer_cast<Value>(known);
    return;
  }
  const auto clone = std::make_shared<Value>(*pointer);
  visitor.remember(pointer.get(), tag, clone);
  pointer = clone;
  visit_part<names>(*clone, name, index, visitor);
}

/// The parts of a structure or a sequence.
template <Names names, class T>
void visit_inside(T& value, LeafVisitor& visitor) {
  constexpr FieldKind kKind = kind_of<T>();
  if constexpr (kKind == FieldKind::named) {
    static constexpr auto kNames = field_names<T>();
    visit_tuple<names>(FieldAccess::fields(value), kNames, visitor);
  } else if constexpr (kKind == FieldKind::aggregate) {
    visit_tuple<names>(tie_fields(value), Unnamed{}, visitor);
  } else if constexpr (kKind == FieldKind::tuple) {
    visit_tuple<names>(value, Unnamed{}, visitor);
  } else if constexpr (kKind == FieldKind::list) {
    if constexpr (!is_kept<typename T::value_type>()) {
      std::int64_t i = 0;
      for (auto& element : value) visit_part<names>(element, {}, i++, visitor);
    }
  } else if constexpr (kKind == FieldKind::dictionary) {
    std::int64_t i = 0;
    for (auto& [key, element] : value) visit_part<names>(element, key, i++, visitor);
  }
}

template <Names names, class T>
void visit_part(T& value, std::string_view name, std::int64_t index, LeafVisitor& visitor) {
  using Value = std::remove_const_t<T>;
  constexpr FieldKind kKind = kind_of<Value>();
  require_visitable<names, Value>();
  if constexpr (std::is_const_v<T>) {
    visit_part<names>(const_cast<Value&>(value), name, index, visitor);
  } else if constexpr (kKind == FieldKind::optional) {
    if (value) visit_part<names>(*value, name, index, visitor);
  } else if constexpr (kKind == FieldKind::unique) {
    static_assert(kIsNotPolymorphic<std::remove_cvref_t<decltype(*value)>>,
                  "a unique_ptr to a base class cannot be followed: hold a Layer");
    if (value) visit_part<names>(*value, name, index, visitor);
  } else if constexpr (kKind == FieldKind::shared) {
    visit_shared<names>(value, name, index, visitor);
  } else if constexpr (kKind == FieldKind::erased) {
    value.sluice_visit(visitor, name, index);
  } else if constexpr (kKind == FieldKind::kept && !is_described<T>()) {
    if (!visitor.sees_everything()) return;
    visitor.push({name, index, type_name<T>(), &value});
    if constexpr (std::is_same_v<T, Generator>) visitor.generator(value);
    else visitor.kept(kept_value(value));
    visitor.pop();
  } else {
    constexpr bool kSequence = kKind == FieldKind::list || kKind == FieldKind::tuple || kKind == FieldKind::dictionary;
    constexpr bool kContainer = requires { typename T::SluiceContainer; };
    visitor.push({name, index, kSequence ? std::string_view{} : type_name<T>(), &value, describe_of<T>(), kSequence,
                  kContainer, torch_rules_of<T>(), flux_fields_of<T>()});
    if constexpr (kKind == FieldKind::tensor) visitor.tensor(value);
    else if constexpr (kKind == FieldKind::buffer) visitor.buffer(value);
    else if constexpr (kKind == FieldKind::counter) visitor.counter(value);
    else if constexpr (kKind == FieldKind::mode) visitor.mode(value);
    else if constexpr (kKind == FieldKind::target) visitor.target(value);
    else visit_inside<names>(value, visitor);
    visitor.pop();
  }
}

/// Shows every leaf of `model` to `visitor`, depth first in the order of the fields. A visitor given a const model must
/// not write to its leaves.
template <Names names = Names::optional, class M>
void visit(M& model, LeafVisitor& visitor) {
  visit_part<names>(model, {}, 0, visitor);
}

/// A model with its type forgotten, so that what works on models can be ordinary code.
struct ModelRef {
  void* object;
  void (*visit)(void* object, LeafVisitor& visitor);
  void operator()(LeafVisitor& visitor) const { visit(object, visitor); }
};

template <Names names = Names::optional, class M>
ModelRef model_ref(M& model) {
  using Value = std::remove_const_t<M>;
  return {const_cast<Value*>(&model),
          [](void* object, LeafVisitor& visitor) { detail::visit<names>(*static_cast<Value*>(object), visitor); }};
}

}  // namespace sluice::detail
