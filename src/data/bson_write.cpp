// Writing what BSON.jl loads. Julia converts every member of a NamedTuple to the type that the file declares for it, so
// types are written out to the last parameter.
#include <fmt/format.h>

#include <array>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/core/atomic_file.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/core/utf8.hpp"
#include "src/data/bson.hpp"
#include "src/data/bson_text.hpp"
#include "src/data/julia_tensor.hpp"
#include "src/data/julia_types.hpp"
#include "src/data/state_budget.hpp"

namespace sluice::detail {
namespace {

constexpr int kMostDepth = 100;  // Chain within Chain takes two; each takes four documents in the file

/// Flux writes () for functions and all else that a state leaves out, which is nothing with a type here.
bool is_left_out(const State& state) {
  return state.is_nothing() && !state.type().empty() && state.type() != "Core.Nothing";
}

/// Writes values in the way of BSON.jl.
class BsonWriter {
 public:
  void whole(const State& state) {
    const State::Member wrapped{kModelState, state};
    const std::span<const State::Member> members =
        state.is_record() ? std::span<const State::Member>(state.record()) : std::span(&wrapped, 1);
    for (const State::Member& member : members) count(member.second, 1);
    if (values_ > StateBudget::kMostValues) {
      throw ArgumentError(
          fmt::format("the tree has too many values; at most {} are read, a tensor being some six of them; "
                      "write safetensors",
                      StateBudget::kMostValues));
    }
    out.document([&] {
      check_names(members);
      for (const auto& [name, child] : members) {
        if (name == "tag" || name == "_backrefs") refuse(name, "it has a meaning of its own in BSON.jl");
        if (name.size() > kMostBsonKey) refuse(name, fmt::format("at most {} bytes are read", kMostBsonKey));
        value(name, child);
      }
      shared_values();
    });
  }

  BsonText out;

 private:
  struct Use {
    std::size_t count = 0, number = 0;  ///< how often it occurs; its place in _backrefs, from 1 on
  };

  void count(const State& state, int depth);
  void value(std::string_view key, const State& state);
  void tensor(std::string_view key, const Tensor& tensor);
  void tuple(std::string_view key, const State::List& list);
  void named_tuple(std::string_view key, const State::Record& record);
  void array(std::string_view key, const Tensor& tensor);
  void shared_values();
  void type(std::string_view key, const State& state);
  void tuple_type(std::string_view key, const State::List& members);
  void named_tuple_type(std::string_view key, const State::Record& record);
  void plain_type(std::string_view key, std::string_view name);
  template <class Parameters>
  void datatype(std::string_view key, std::string_view name, Parameters parameters);
  void symbol(std::string_view key, std::string_view name);
  void check_names(std::span<const State::Member> members) const;
  [[noreturn]] static void refuse(const std::string& name, const std::string& why) {
    throw ArgumentError(fmt::format("a value cannot be named {}: {}", in_quotes(name), why));
  }
  template <class Children, class Each>
  void list(std::string_view key, const Children& children, Each each);

  std::uint64_t values_ = 0;  // what reading them costs, at most
  std::unordered_map<const void*, Use> uses_;
  std::vector<Tensor> shared_;
};

template <class Children, class Each>
void BsonWriter::list(std::string_view key, const Children& children, Each each) {
  out.document(BsonElement::kList, key, [&] {
    std::size_t number = 0;
    for (const auto& child : children) each(std::to_string(number++), child);
  });
}

void BsonWriter::check_names(std::span<const State::Member> members) const {
  for (const auto& [name, child] : members) {
    if (!is_utf8_name(name)) refuse(name, "names are UTF-8 without NUL");
  }
  const std::optional<std::string> twice = repeated_name({members.begin(), members.end()});
  if (twice) refuse(*twice, "another one beside it is named so");
}

/// Finds the tensors that are in several places.
void BsonWriter::count(const State& state, int depth) {
  if (depth > kMostDepth) throw ArgumentError("values lie within one another more than 100 levels deep");
  values_ += state.is_tensor() ? StateBudget::kTensor + 2 : 4;
  if (state.is_tensor()) {
    if (!state.tensor()) throw ArgumentError("there is a tensor that holds nothing");
    ++uses_[state.tensor().rep()].count;
  } else if (state.is_record()) {
    check_names(state.record());
    for (const auto& [name, child] : state.record()) {
      values_ += 2 + name.size() / 64;
      count(child, depth + 1);
    }
  } else if (state.is_list()) {
    for (const State& child : state.list()) count(child, depth + 1);
  } else if (state.is_text() && !is_utf8_name(state.text())) {
    throw ArgumentError("the text " + in_quotes(state.text()) + " is not UTF-8 without NUL");
  }
  if (state.is_text()) values_ += state.text().size() / 64;
}

void BsonWriter::value(std::string_view key, const State& state) {
  if (state.is_tensor()) return tensor(key, state.tensor());
  if (state.is_record()) return named_tuple(key, state.record());
  if (state.is_list()) return tuple(key, state.list());
  if (is_left_out(state)) return tuple(key, {});
  if (state.is_nothing()) return out.key(BsonElement::kNothing, key);
  if (state.is_text()) {
    return state.type() == "Core.Symbol" ? symbol(key, state.text()) : out.text(key, state.text());
  }
  if (state.is_bool()) {
    out.key(BsonElement::kBool, key);
    out.number(static_cast<std::uint8_t>(state.boolean() ? 1 : 0));
  } else if (state.is_integer()) {
    out.key(BsonElement::kInt64, key);
    out.number(state.integer());
  } else {
    out.key(BsonElement::kDouble, key);
    out.number(state.real());
  }
}

void BsonWriter::tensor(std::string_view key, const Tensor& tensor) {
  Use& use = uses_.at(tensor.rep());
  if (use.count == 1) return array(key, tensor);
  if (use.number == 0) {
    shared_.push_back(tensor);
    use.number = shared_.size();
  }
  out.document(BsonElement::kDocument, key, [&] {
    out.text("tag", "backref");
    out.key(BsonElement::kInt64, "ref");
    out.number(static_cast<std::int64_t>(use.number));
  });
}

void BsonWriter::tuple(std::string_view key, const State::List& members) {
  out.document(BsonElement::kDocument, key, [&] {
    out.text("tag", "tuple");
    list("data", members, [this](const std::string& number, const State& child) { value(number, child); });
  });
}

void BsonWriter::named_tuple(std::string_view key, const State::Record& record) {
  out.document(BsonElement::kDocument, key, [&] {
    out.text("tag", "struct");
    named_tuple_type("type", record);
    list("data", record, [this](const std::string& number, const auto& member) { value(number, member.second); });
  });
}

void BsonWriter::symbol(std::string_view key, std::string_view name) {
  out.document(BsonElement::kDocument, key, [&] {
    out.text("tag", "symbol");
    out.text("name", name);
  });
}

void BsonWriter::array(std::string_view key, const Tensor& tensor) {
  out.document(BsonElement::kDocument, key, [&] {
    out.text("tag", "array");
    plain_type("type", julia_name_of(tensor.dtype()));
    const std::vector<std::int64_t> sizes(tensor.shape().begin(), tensor.shape().end());
    list("size", sizes, [this](const std::string& number, std::int64_t size) {
      out.key(BsonElement::kInt64, number);
      out.number(size);
    });
    out.elements("data", tensor);
  });
}

void BsonWriter::shared_values() {
  if (shared_.empty()) return;
  list("_backrefs", shared_, [this](const std::string& number, const Tensor& tensor) { array(number, tensor); });
}

/// The document of a type in Core; `parameters` writes the elements of its list.
template <class Parameters>
void BsonWriter::datatype(std::string_view key, std::string_view name, Parameters parameters) {
  out.document(BsonElement::kDocument, key, [&] {
    out.text("tag", "datatype");
    list("name", std::array<std::string_view, 2>{"Core", name},
         [this](const std::string& number, std::string_view part) { out.text(number, part); });
    out.document(BsonElement::kList, "params", [&] { parameters(); });
  });
}

void BsonWriter::plain_type(std::string_view key, std::string_view name) {
  datatype(key, name, [] {});
}

void BsonWriter::tuple_type(std::string_view key, const State::List& members) {
  datatype(key, "Tuple", [&] {
    for (std::size_t i = 0; i < members.size(); ++i) type(std::to_string(i), members[i]);
  });
}

void BsonWriter::named_tuple_type(std::string_view key, const State::Record& record) {
  datatype(key, "NamedTuple", [&] {
    out.document(BsonElement::kDocument, "0", [&] {
      out.text("tag", "tuple");
      list("data", record, [this](const std::string& number, const auto& member) { symbol(number, member.first); });
    });
    datatype("1", "Tuple", [&] {
      for (std::size_t i = 0; i < record.size(); ++i) type(std::to_string(i), record[i].second);
    });
  });
}

/// The type that Julia has for what value() writes.
void BsonWriter::type(std::string_view key, const State& state) {
  if (state.is_record()) return named_tuple_type(key, state.record());
  if (state.is_list()) return tuple_type(key, state.list());
  if (state.is_tensor()) {
    return datatype(key, "Array", [&] {
      plain_type("0", julia_name_of(state.tensor().dtype()));
      out.key(BsonElement::kInt64, "1");
      out.number(std::int64_t{state.tensor().rank()});
    });
  }
  if (is_left_out(state)) return tuple_type(key, {});
  if (state.is_nothing()) return plain_type(key, "Nothing");
  if (state.is_text()) return plain_type(key, state.type() == "Core.Symbol" ? "Symbol" : "String");
  plain_type(key, state.is_bool() ? "Bool" : state.is_integer() ? "Int64" : "Float64");
}

}  // namespace

void write_bson_state(const std::string& path, const std::string& operation, const State& state) {
  BsonWriter writer;
  writer.whole(state);
  if (writer.out.position() > BsonText::kMost) {
    throw ArgumentError(fmt::format("the file would have {} bytes; BSON holds 2147483647, write safetensors instead",
                                    writer.out.position()));
  }
  if (writer.out.count() > kMostBsonElements) {
    throw ArgumentError(fmt::format("the file would have {} elements; at most {} are read; write safetensors",
                                    writer.out.count(), kMostBsonElements));
  }
  AtomicFile file(path, operation);
  writer.out.write_to(file);
  file.commit();
}

}  // namespace sluice::detail
