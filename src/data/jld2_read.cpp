// From the objects of a JLD2 file to a tree.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "src/core/utf8.hpp"
#include "src/data/jld2.hpp"
#include "src/data/jld2_chunk.hpp"
#include "src/data/jld2_types.hpp"
#include "src/data/julia_tensor.hpp"
#include "src/data/julia_types.hpp"

namespace sluice::detail {
namespace {

constexpr std::string_view kTypesGroup = "_types";
constexpr std::uint64_t kMostLinkName = 4096;

State typed_nothing(std::string type) {
  return type.empty() || type == "Core.Nothing" ? State() : State().set_type(std::move(type));
}

/// One reading. Every function that makes a State has paid for it.
class Jld2Reader {
 public:
  Jld2Reader(ByteSource& source, Checksums checksums)
      : source_(source), budget_(source), file_(source, budget_, checksums), types_(file_, budget_), chunks_(file_) {}

  State read() { return object(file_.root()); }

 private:
  /// Where the bytes of a dataset are; compact ones are part of its header. Of one in chunks it is its Layout message.
  struct Layout {
    FileRange data;
    bool is_compact = false;
    bool in_chunks = false;
    const H5Message* filters = nullptr;
  };
  /// The shape of a dataset, first dimension first.
  struct Dataspace {
    enum Kind : std::uint8_t { kScalar, kArray, kNull } kind = kScalar;
    std::vector<std::int64_t> sizes;
  };

  State object(std::uint64_t address);
  State read_object(std::uint64_t address);
  State group(const std::vector<H5Message>& messages, bool is_root);
  bool has_index(FileRange range);
  std::pair<std::string, std::uint64_t> link(FileRange range);
  State dataset(const std::vector<H5Message>& messages);
  Dataspace dataspace(FileRange range);
  Layout layout(FileRange range);
  State array(const H5Type& type, const Dataspace& space, const Layout& layout);
  State value(const H5Type& type, std::uint64_t committed, std::uint64_t at);
  State bytes_value(const H5Type& type, std::uint64_t committed, std::uint64_t at);
  State structure(const H5Type& type, std::uint64_t committed, std::uint64_t at);
  State fields(const H5Type& type, const Jld2Type& known, std::uint64_t at);
  State absent(std::uint64_t type);
  std::vector<std::string> field_names(const H5Type& type, const Jld2Type& known);
  std::vector<std::string> names_in(std::uint64_t address);
  std::vector<std::uint64_t> field_types(const Jld2Name& julia);
  std::vector<std::uint64_t> element_types(const Jld2Name& tuple);
  const Jld2Name& type_name(std::uint64_t address);
  Jld2Name read_type_name(std::uint64_t address);
  const Jld2Type* known_type(std::uint64_t committed) {
    return Jld2File::is_address(committed) ? types_.committed(committed) : nullptr;
  }

  ByteSource& source_;
  StateBudget budget_;
  Jld2File file_;
  Jld2Types types_;
  Jld2Chunks chunks_;
  std::set<std::uint64_t> open_;          // objects that are being read
  std::map<std::uint64_t, Tensor> read_;  // by the addresses of their datasets
  std::map<std::uint64_t, Jld2Name> type_names_;
};

const H5Message* find(const std::vector<H5Message>& messages, H5Message::Type type) {
  const auto found =
      std::find_if(messages.begin(), messages.end(), [type](const H5Message& each) { return each.type == type; });
  return found == messages.end() ? nullptr : &*found;
}

bool is_tuple(const std::string& type) { return type == "Core.Tuple" || type == "Core.NTuple"; }

/// What became of the fields of a struct. Tuples have no names, and a dictionary lies there as a list of pairs.
State made_of(State::Record record, const std::string& type) {
  if (is_tuple(type)) {
    State::List list;
    for (auto& [name, child] : record) list.push_back(std::move(child));
    return list.empty() ? typed_nothing("Core.Tuple") : State(std::move(list));
  }
  if (type == "Core.NamedTuple") return State(std::move(record));
  const bool is_dictionary = (type == "Base.Dict" || type == "Base.IdDict") && record.size() == 1;
  if (is_dictionary && record.front().second.is_list()) {
    State::List keys, values;
    for (const State& pair : record.front().second.list()) {
      const State* const key = pair.find("first");
      const State* const value = pair.find("second");
      if (key == nullptr || value == nullptr) return typed_nothing(type);
      keys.push_back(*key);
      values.push_back(*value);
    }
    return julia_dictionary(keys, std::move(values), type);
  }
  return record.empty() ? typed_nothing(type) : State(std::move(record)).set_type(type);
}

State Jld2Reader::object(std::uint64_t address) {
  budget_.spend(1);
  if (const auto found = read_.find(address); found != read_.end()) {
    budget_.spend(StateBudget::kTensor);
    return State(found->second);
  }
  if (!open_.insert(address).second) source_.fail(fmt::format("the object at address {} contains itself", address));
  State state = read_object(address);
  open_.erase(address);
  if (state.is_tensor()) read_.emplace(address, state.tensor());
  return state;
}

State Jld2Reader::read_object(std::uint64_t address) {
  const StateBudget::Level level(budget_);
  const std::vector<H5Message>& messages = file_.header(address);
  budget_.spend(messages.size() / 16);
  if (find(messages, H5Message::kDataspace) != nullptr) return dataset(messages);
  if (find(messages, H5Message::kDatatype) == nullptr) return group(messages, address == file_.root());
  budget_.spend(1);
  return typed_nothing("Core.DataType");
}

State Jld2Reader::group(const std::vector<H5Message>& messages, bool is_root) {
  budget_.spend(1);
  State::Record record;
  for (const H5Message& message : messages) {
    const FileRange content = message.content;
    const bool is_indexed = message.type == H5Message::kLinkInfo && has_index(content);
    if (is_indexed || message.type == H5Message::kSymbolTable) {
      source_.fail(content.at, "the names of a group lie in an index, which JLD2 does not write");
    }
    if (message.type != H5Message::kLink) continue;
    auto [name, address] = link(content);
    if (is_root && name == kTypesGroup) continue;
    budget_.spend_text(name.size());
    record.emplace_back(std::move(name), object(address));
  }
  if (const std::optional<std::string> name = repeated_name(record)) {
    source_.fail(fmt::format("a group has two members \"{}\"", *name));
  }
  return State(std::move(record));
}

/// Whether the names of a group lie elsewhere: in a heap whose address follows, where flagged, a counter.
bool Jld2Reader::has_index(FileRange range) {
  if (range.size < 18) return false;
  const bool has_counter = (source_.number<std::uint8_t>(range.at + 1) & 1) != 0;
  return Jld2File::is_address(source_.number<std::uint64_t>(range.at + (has_counter ? 10 : 2)));
}

/// A name in a group, and the address of what it names.
std::pair<std::string, std::uint64_t> Jld2Reader::link(FileRange range) {
  const auto flags = range.size < 2 ? std::uint8_t{0xff} : source_.number<std::uint8_t>(range.at + 1);
  const std::uint64_t order = (flags & 4) != 0 ? 8 : 0, character_set = (flags & 16) != 0 ? 1 : 0;
  const std::uint64_t kind = (flags & 8) != 0 ? 1 : 0;
  const unsigned width = 1u << (flags & 3);
  const std::uint64_t size_at = range.at + 2 + kind + order + character_set;
  if (flags == 0xff || size_at + width > range.end()) source_.fail(range.at, "a link that goes beyond its message");
  if (kind != 0 && source_.number<std::uint8_t>(range.at + 2) != 0) {
    source_.fail(range.at, "a link to another name or file; only the objects of the file itself are read");
  }
  std::uint64_t size = 0;
  source_.read(size_at, std::as_writable_bytes(std::span(&size, 1)).first(width));
  const std::uint64_t name_at = size_at + width;
  if (size > kMostLinkName || size + 8 > range.end() - name_at) source_.fail(range.at, "a link with too long a name");
  std::string name = source_.text(name_at, size);
  if (!is_utf8_name(name) || name.empty()) source_.fail(name_at, "a name that is empty or not UTF-8");
  return {std::move(name), source_.number<std::uint64_t>(name_at + size)};
}

State Jld2Reader::dataset(const std::vector<H5Message>& messages) {
  const H5Message* const type_message = find(messages, H5Message::kDatatype);
  const FileRange space_at = find(messages, H5Message::kDataspace)->content;
  if (type_message == nullptr) source_.fail(space_at.at, "a dataset without a datatype");
  const H5Type& type = types_.of_message(*type_message);
  const Dataspace space = dataspace(space_at);
  if (space.kind == Dataspace::kNull) return absent(type.committed);
  const H5Message* const layout_at = find(messages, H5Message::kLayout);
  if (layout_at == nullptr) source_.fail(space_at.at, "a dataset without a layout");
  const H5Message* const filters = find(messages, H5Message::kFilters);
  const bool in_chunks = filters != nullptr || is_chunked(source_, layout_at->content);
  const bool is_of_numbers = type.kind == H5Type::kNumber || type.kind == H5Type::kOpaque;
  if (in_chunks && (space.kind != Dataspace::kArray || !is_of_numbers)) {
    source_.fail(layout_at->content.at,
                 "compressed data that are no array of numbers; in Julia, save again without `compress`");
  }
  const Layout place = in_chunks ? Layout{layout_at->content, false, true, filters} : layout(layout_at->content);
  if (space.kind == Dataspace::kArray) return array(type, space, place);
  const FileRange data = place.data;
  if (data.size != type.size) {
    source_.fail(data.at, fmt::format("a value of {} bytes, where {} are stored", type.size, data.size));
  }
  return value(type, type.committed, data.at);
}

Jld2Reader::Dataspace Jld2Reader::dataspace(FileRange range) {
  if (range.size < 4 || source_.number<std::uint8_t>(range.at) != 2) source_.fail(range.at, "an unknown dataspace");
  Dataspace space;
  const auto rank = source_.number<std::uint8_t>(range.at + 1), kind = source_.number<std::uint8_t>(range.at + 3);
  if (kind > 2 || (kind != 1 && rank != 0) || range.size - 4 < rank * sizeof(std::int64_t)) {
    source_.fail(range.at, fmt::format("a dataspace of kind {} and rank {} in {} bytes", kind, rank, range.size));
  }
  space.kind = kind == 0 ? Dataspace::kScalar : kind == 1 ? Dataspace::kArray : Dataspace::kNull;
  space.sizes.resize(rank);
  source_.read(range.at + 4, std::as_writable_bytes(std::span(space.sizes)));
  std::reverse(space.sizes.begin(), space.sizes.end());
  return space;
}

Jld2Reader::Layout Jld2Reader::layout(FileRange range) {
  const auto version = range.size < 4 ? std::uint8_t{0} : source_.number<std::uint8_t>(range.at);
  if (version != 3 && version != 4) source_.fail(range.at, fmt::format("a data layout of version {}", version));
  const auto kind = source_.number<std::uint8_t>(range.at + 1);
  if (kind == 0) {
    const FileRange data{range.at + 4, source_.number<std::uint16_t>(range.at + 2)};
    if (data.size > range.end() - data.at) source_.fail(range.at, "compact data go beyond their message");
    return {data, true};
  }
  if (kind != 1 || range.size < 18)
    source_.fail(range.at, fmt::format("a data layout of class {} in {} bytes", kind, range.size));
  const auto address = source_.number<std::uint64_t>(range.at + 2), size = source_.number<std::uint64_t>(range.at + 10);
  return {size == 0 ? FileRange{} : file_.place(address, size), false};
}

State Jld2Reader::array(const H5Type& type, const Dataspace& space, const Layout& layout) {
  const FileRange data = layout.data;
  const Jld2Type* const known = known_type(type.committed);
  const std::string element = type.kind == H5Type::kNumber ? type.number : known != nullptr ? known->julia.name : "";
  if (type.kind == H5Type::kNumber || type.kind == H5Type::kOpaque) {
    const std::optional<DType> dtype = dtype_of_julia(element);
    budget_.spend(StateBudget::kTensor);
    if (!dtype) return typed_nothing("Core.Array{" + element + "}");
    if (space.sizes.size() > Shape::kMaxRank) source_.fail(data.at, "an array of more than 8 dimensions");
    if (layout.in_chunks) return State(chunks_.read(data, layout.filters, *dtype, space.sizes, type.size));
    if (const std::string wrong = wrong_size(*dtype, space.sizes, data.size); !wrong.empty()) {
      source_.fail(data.at, wrong);
    }
    if (!layout.is_compact) file_.claim(data);
    return State(read_julia_tensor(source_, data.at, *dtype, Shape(space.sizes)));
  }
  const std::optional<std::uint64_t> count = array_bytes(space.sizes, 1);
  if (!count || type.size == 0 || *count != data.size / type.size || data.size % type.size != 0) {
    source_.fail(data.at, fmt::format("an array of size ({}) has {} bytes of elements of {}",
                                      fmt::join(space.sizes, ", "), data.size, type.size));
  }
  budget_.spend(1);
  State::List list;
  for (std::uint64_t i = 0; i < *count; ++i) list.push_back(value(type, type.committed, data.at + i * type.size));
  return State(std::move(list));
}

State Jld2Reader::value(const H5Type& type, std::uint64_t committed, std::uint64_t at) {
  const StateBudget::Level level(budget_);
  switch (type.kind) {
    case H5Type::kCompound: return structure(type, committed, at);
    case H5Type::kReference: {
      const auto address = source_.number<std::uint64_t>(at);
      budget_.spend(1);
      return Jld2File::is_address(address) ? object(address) : State();
    }
    case H5Type::kVariableList: {
      budget_.spend(1);
      const H5Type& element = type.members.front().type;
      const FileRange range = types_.variable_list(at, element.size);
      State::List list;
      for (std::uint64_t done = 0; done < range.size; done += element.size) {
        list.push_back(value(element, element.committed, range.at + done));
      }
      return State(std::move(list));
    }
    default: return bytes_value(type, committed, at);
  }
}

/// Numbers, texts, and other things without parts.
State Jld2Reader::bytes_value(const H5Type& type, std::uint64_t committed, std::uint64_t at) {
  const Jld2Type* const known = known_type(committed);
  const std::string name = known != nullptr ? known->julia.name : "";
  if (type.kind == H5Type::kVariableText) {
    State text(types_.variable_text(at));
    return name == "Core.Symbol" ? std::move(text.set_type(name)) : text;
  }
  if (type.kind == H5Type::kText) {
    budget_.spend_text(type.size);
    std::string text = source_.text(at, type.size);
    if (!is_utf8_name(text)) source_.fail(at, "a text that is not UTF-8");
    return State(std::move(text));
  }
  budget_.spend_text(name.size());
  const bool is_empty = is_tuple(name) || name == "Core.NamedTuple";
  if (is_empty) return structure(type, committed, at);
  std::array<std::byte, 8> bytes{};
  if (type.size > bytes.size()) return typed_nothing(name);
  const std::span<std::byte> used = std::span(bytes).first(static_cast<std::size_t>(type.size));
  source_.read(at, used);
  const std::string& number = type.kind == H5Type::kNumber ? type.number : name;
  const std::optional<State> scalar = julia_scalar(number, used);
  return scalar ? *scalar : typed_nothing(number);
}

State Jld2Reader::structure(const H5Type& type, std::uint64_t committed, std::uint64_t at) {
  const Jld2Type* const known = known_type(committed);
  if (known == nullptr) return fields(type, Jld2Type{}, at);
  budget_.spend_text(known->julia.name.size());
  return known->julia.name == "Core.DataType" ? typed_nothing("Core.DataType") : fields(type, *known, at);
}

/// Members have bytes, in the order of the fields; fields between them are those that take none.
State Jld2Reader::fields(const H5Type& type, const Jld2Type& known, std::uint64_t at) {
  const std::vector<std::string> names = field_names(type, known);
  // Generation 0.1 lists the types of members, 0.2 those of all fields.
  const bool lists_members = known.field_types.size() == type.members.size();
  const bool lists_fields = known.field_types.size() == names.size();
  const std::vector<std::uint64_t> all = lists_fields                         ? known.field_types
                                         : names.size() > type.members.size() ? field_types(known.julia)
                                                                              : std::vector<std::uint64_t>{};
  State::Record record;
  std::size_t used = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    budget_.spend_text(names[i].size());
    if (used == type.members.size() || type.members[used].name != names[i]) {
      record.emplace_back(names[i], absent(i < all.size() ? all[i] : 0));
      continue;
    }
    const H5Member& member = type.members[used];
    const std::uint64_t inner = lists_fields    ? known.field_types[i]
                                : lists_members ? known.field_types[used]
                                                : member.type.committed;
    record.emplace_back(names[i], value(member.type, inner, at + member.offset));
    ++used;
  }
  if (used != type.members.size()) {
    source_.fail(at, fmt::format("the member \"{}\" is not a field of {}", type.members[used].name, known.julia.name));
  }
  if (const std::optional<std::string> name = repeated_name(record)) {
    source_.fail(at, fmt::format("two fields are named \"{}\"", *name));
  }
  return made_of(std::move(record), known.julia.name);
}

std::vector<std::string> Jld2Reader::field_names(const H5Type& type, const Jld2Type& known) {
  budget_.spend(type.members.size() + known.field_names.size());
  if (!known.field_names.empty()) return known.field_names;
  const Jld2Name& julia = known.julia;
  if (julia.name == "Core.NamedTuple" && !julia.parameters.empty()) return names_in(julia.parameters[0]);
  std::vector<std::string> names;
  if (is_tuple(julia.name)) {
    const std::size_t count = element_types(julia).size();
    for (std::size_t i = 1; i <= count; ++i) names.push_back(std::to_string(i));
    return names;
  }
  for (const H5Member& member : type.members) names.push_back(member.name);
  return names;
}

/// The types of the elements of a tuple; none if it is none. NTuple has their number and the type of all.
std::vector<std::uint64_t> Jld2Reader::element_types(const Jld2Name& tuple) {
  const std::vector<std::uint64_t>& parameters = tuple.parameters;
  if (tuple.name == "Core.NTuple" && parameters.size() == 2) {
    const State count = object(parameters[0]);
    if (!count.is_integer() || count.integer() < 0) source_.fail("an NTuple whose number of elements is none");
    budget_.spend(static_cast<std::uint64_t>(count.integer()));
    return std::vector<std::uint64_t>(static_cast<std::size_t>(count.integer()), parameters[1]);
  }
  budget_.spend(parameters.size());
  return tuple.name == "Core.Tuple" ? parameters : std::vector<std::uint64_t>{};
}

/// The texts of a tuple of symbols.
std::vector<std::string> Jld2Reader::names_in(std::uint64_t address) {
  const State tuple = object(address);
  std::vector<std::string> names;
  if (!tuple.is_list()) return names;
  for (const State& name : tuple.list()) {
    if (!name.is_text()) source_.fail("a NamedTuple has a name that is not text");
    names.push_back(name.text());
  }
  return names;
}

/// The types of the fields without bytes are known by the parameters of tuples.
std::vector<std::uint64_t> Jld2Reader::field_types(const Jld2Name& julia) {
  const bool is_named = julia.name == "Core.NamedTuple" && julia.parameters.size() == 2;
  return element_types(is_named ? type_name(julia.parameters[1]) : julia);
}

/// What a type calls itself: a committed one, or a value of Core.DataType.
const Jld2Name& Jld2Reader::type_name(std::uint64_t address) {
  static const Jld2Name none;
  if (!Jld2File::is_address(address)) return none;
  const auto [found, is_new] = type_names_.try_emplace(address);
  if (is_new) found->second = read_type_name(address);
  budget_.spend(1 + found->second.parameters.size());
  return found->second;
}

Jld2Name Jld2Reader::read_type_name(std::uint64_t address) {
  if (const Jld2Type* const known = types_.committed(address)) return known->julia;
  const std::vector<H5Message>& messages = file_.header(address);
  const H5Message* const type = find(messages, H5Message::kDatatype);
  const H5Message* const place = find(messages, H5Message::kLayout);
  if (type == nullptr || place == nullptr) return {};
  const Jld2Type* const known = known_type(types_.of_message(*type).committed);
  const FileRange data = layout(place->content).data;
  const bool is_type = known != nullptr && known->julia.name == "Core.DataType" && data.size >= 32;
  return is_type ? types_.name_at(data.at) : Jld2Name{};
}

/// A value without bytes, of the type at an address.
State Jld2Reader::absent(std::uint64_t type) {
  const StateBudget::Level level(budget_);
  const Jld2Name& name = type_name(type);
  budget_.spend_text(name.name.size());
  const std::vector<std::uint64_t> types = field_types(name);
  if (name.name == "Core.NamedTuple" && !name.parameters.empty()) {
    State::Record record;
    for (std::string& each : names_in(name.parameters[0])) {
      const std::uint64_t of_field = record.size() < types.size() ? types[record.size()] : 0;
      record.emplace_back(std::move(each), absent(of_field));
    }
    return State(std::move(record));
  }
  State::List list;
  for (const std::uint64_t each : types) list.push_back(absent(each));
  return list.empty() ? typed_nothing(is_tuple(name.name) ? "Core.Tuple" : name.name) : State(std::move(list));
}

}  // namespace

State read_jld2_state(const std::string& path, const std::string& operation) {
  ByteSource source(path, operation + ": " + path);
  return Jld2Reader(source, Checksums::verified).read();
}

State read_jld2_state(std::span<const std::byte> content, const std::string& name, Checksums checksums) {
  ByteSource source(content, name);
  return Jld2Reader(source, checksums).read();
}

}  // namespace sluice::detail
