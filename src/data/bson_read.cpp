// From the elements of a BSON file to a tree: the tagged documents of BSON.jl.
#include <fmt/format.h>

#include <array>
#include <set>
#include <unordered_map>
#include <vector>

#include "src/core/utf8.hpp"
#include "src/data/bson.hpp"
#include "src/data/julia_tensor.hpp"
#include "src/data/julia_types.hpp"
#include "src/data/state_budget.hpp"

namespace sluice::detail {
namespace {

constexpr std::string_view kReferences = "_backrefs";
constexpr std::size_t kMostTagged = 8;      // elements of a tagged document; Julia writes five at most
constexpr std::size_t kMostTypeParts = 16;  // modules within modules
constexpr std::uint64_t kMostTypePart = 256;
constexpr int kMostTypeSteps = 16;  // references and variables on the way to a type's name

/// A document with a tag.
struct Tagged {
  std::string tag;
  std::uint64_t at = 0;
  std::vector<BsonElement> elements;

  const BsonElement* find(std::string_view key) const {
    for (const BsonElement& element : elements) {
      if (element.key == key) return &element;
    }
    return nullptr;
  }
};

/// A type as far as it is looked at: its parameters stay in the file.
struct JuliaType {
  std::string name;
  std::optional<BsonElement> parameters;
};

/// One reading. Every function that makes a State has paid for it.
class BsonReader {
 public:
  explicit BsonReader(ByteSource& source) : source_(source), budget_(source) {}

  State read() {
    check_bson(source_);
    const BsonElement whole{BsonElement::kDocument, "", 0, source_.size(), source_.size()};
    find_references(whole);
    return record(whole, kReferences);
  }

 private:
  State value(const BsonElement& element);
  State document(const BsonElement& element);
  State tagged(const Tagged& tagged);
  State record(const BsonElement& element, std::string_view without = {});
  State::List list(const BsonElement& element);
  State tuple(const Tagged& tagged);
  State structure(const Tagged& tagged);
  State dictionary(const Tagged& tagged, const std::string& type);
  State named_tuple(const JuliaType& type, State::List fields, std::uint64_t at);
  State scalar(const std::string& type, const BsonElement& data);
  State array(const Tagged& tagged);
  State tensor(DType dtype, std::span<const std::int64_t> sizes, const BsonElement& data);
  State text(const BsonElement& element);
  State nothing(std::string type);
  State reference(const Tagged& tagged);

  void find_references(const BsonElement& whole);
  std::optional<Tagged> tagged_document(const BsonElement& element);
  const BsonElement& part(const Tagged& tagged, std::string_view key, std::uint8_t type);
  std::int64_t integer(const BsonElement& element);
  std::size_t reference_number(const Tagged& tagged);
  BsonElement referred(std::size_t number) const;
  JuliaType type_of(const BsonElement& element);
  std::string type_name(const BsonElement& parts);
  std::vector<std::int64_t> sizes_of(const BsonElement& element);

  struct Place {
    std::uint64_t at, end;
    std::uint8_t type;
  };

  ByteSource& source_;
  StateBudget budget_;
  std::vector<Place> references_;
  std::set<std::size_t> open_;                      // references that are being followed
  std::unordered_map<std::uint64_t, Tensor> read_;  // arrays by where their data are
};

void BsonReader::find_references(const BsonElement& whole) {
  BsonDocument document(source_, whole.at, whole.end);
  while (const std::optional<BsonElement> element = document.next()) {
    if (element->key != kReferences) continue;
    if (element->type != BsonElement::kList) source_.fail(element->at, "_backrefs is not a list");
    BsonDocument entries(source_, element->at, element->end);
    while (const std::optional<BsonElement> entry = entries.next()) {
      budget_.spend(1);
      references_.push_back({entry->at, entry->end, entry->type});
    }
  }
}

State BsonReader::value(const BsonElement& element) {
  const StateBudget::Level level(budget_);
  switch (element.type) {
    case BsonElement::kDocument: return document(element);
    case BsonElement::kList: return State(list(element));
    case BsonElement::kText: return text(element);
    case BsonElement::kBinary: {
      const std::int64_t count = static_cast<std::int64_t>(element.end - element.at);
      return tensor(u8, std::span(&count, 1), element);
    }
    default: break;
  }
  budget_.spend(1);
  switch (element.type) {
    case BsonElement::kDouble: return State(source_.number<double>(element.at));
    case BsonElement::kBool: return State(source_.number<std::uint8_t>(element.at) == 1);
    case BsonElement::kNothing: return State();
    default: return State(integer(element));
  }
}

State BsonReader::text(const BsonElement& element) {
  budget_.spend_text(element.end - element.at);
  std::string text = source_.text(element.at, element.end - element.at);
  if (!is_utf8_name(text)) source_.fail(element.at, "a text that is not UTF-8");
  return State(std::move(text));
}

State BsonReader::nothing(std::string type) {
  budget_.spend_text(type.size());
  return State().set_type(std::move(type));
}

State BsonReader::document(const BsonElement& element) {
  const std::optional<Tagged> found = tagged_document(element);
  return found ? tagged(*found) : record(element);
}

/// The document, if it has a tag that is text.
std::optional<Tagged> BsonReader::tagged_document(const BsonElement& element) {
  BsonDocument document(source_, element.at, element.end);
  Tagged found;
  found.at = element.at;
  bool is_tagged = false, is_long = false;
  while (std::optional<BsonElement> each = document.next()) {
    budget_.spend(each->key.size() / 64);
    if (each->key == "tag" && each->type == BsonElement::kText) {
      if (each->end - each->at > kMostTypePart) source_.fail(each->at, "a tag of more than 256 bytes");
      found.tag = source_.text(each->at, each->end - each->at);
      is_tagged = true;
    }
    is_long = is_long || found.elements.size() == kMostTagged;
    if (!is_long) found.elements.push_back(*std::move(each));
  }
  if (!is_tagged) return std::nullopt;
  if (is_long) source_.fail(element.at, "a document with a tag has more than 8 elements");
  return found;
}

State BsonReader::tagged(const Tagged& tagged) {
  if (tagged.tag == "array") return array(tagged);
  if (tagged.tag == "struct") return structure(tagged);
  if (tagged.tag == "tuple") return tuple(tagged);
  if (tagged.tag == "symbol") return text(part(tagged, "name", BsonElement::kText)).set_type("Core.Symbol");
  if (tagged.tag == "backref") return reference(tagged);
  // Types and code as values: their content is nothing that a model here could use.
  constexpr std::array<std::array<std::string_view, 2>, 6> kOpaque{{{"datatype", "Core.DataType"},
                                                                    {"unionall", "Core.UnionAll"},
                                                                    {"svec", "Core.SimpleVector"},
                                                                    {"ref", "Core.Module"},
                                                                    {"jl_anonymous", "Core.Function"},
                                                                    {"jl_bottom_type", "Core.TypeofBottom"}}};
  for (const auto& [tag, type] : kOpaque) {
    if (tag == tagged.tag) return nothing(std::string(type));
  }
  source_.fail(tagged.at, fmt::format("the tag {} is not one of BSON.jl", in_quotes(tagged.tag)));
}

const BsonElement& BsonReader::part(const Tagged& tagged, std::string_view key, std::uint8_t type) {
  const BsonElement* const found = tagged.find(key);
  if (found == nullptr) source_.fail(tagged.at, fmt::format("the {} has no \"{}\"", tagged.tag, key));
  if (found->type != type) {
    source_.fail(found->at, fmt::format("\"{}\" of the {} has the element type 0x{:02x}; expected 0x{:02x}", key,
                                        tagged.tag, found->type, type));
  }
  return *found;
}

State BsonReader::record(const BsonElement& element, std::string_view without) {
  budget_.spend(1);
  State::Record record;
  BsonDocument document(source_, element.at, element.end);
  while (std::optional<BsonElement> each = document.next()) {
    if (!without.empty() && each->key == without) continue;
    budget_.spend_text(each->key.size());
    State child = value(*each);
    record.emplace_back(std::move(each->key), std::move(child));
  }
  return State(std::move(record));
}

State::List BsonReader::list(const BsonElement& element) {
  budget_.spend(1);
  State::List list;
  BsonDocument document(source_, element.at, element.end);
  while (const std::optional<BsonElement> each = document.next()) list.push_back(value(*each));
  return list;
}

State BsonReader::tuple(const Tagged& tagged) {
  State::List members = list(part(tagged, "data", BsonElement::kList));
  return members.empty() ? nothing("Core.Tuple") : State(std::move(members));
}

State BsonReader::structure(const Tagged& tagged) {
  const JuliaType type = type_of(part(tagged, "type", BsonElement::kDocument));
  const BsonElement* const data = tagged.find("data");
  if (data != nullptr && data->type == BsonElement::kBinary) return scalar(type.name, *data);
  budget_.spend_text(type.name.size());
  if (type.name == "Base.Dict" || type.name == "Base.IdDict") return dictionary(tagged, type.name);
  State::List fields = list(part(tagged, "data", BsonElement::kList));
  if (type.name == "Core.NamedTuple") return named_tuple(type, std::move(fields), tagged.at);
  if (fields.empty()) return State().set_type(type.name);
  const std::span<const std::string_view> names = flux_fields(type.name, fields.size());
  if (names.empty()) return State(std::move(fields)).set_type(type.name);
  State::Record record;
  for (std::size_t i = 0; i < names.size(); ++i) record.emplace_back(names[i], std::move(fields[i]));
  return State(std::move(record)).set_type(type.name);
}

/// A list of keys and one of values.
State BsonReader::dictionary(const Tagged& tagged, const std::string& type) {
  const BsonElement& data = part(tagged, "data", BsonElement::kList);
  BsonDocument document(source_, data.at, data.end);
  const std::optional<BsonElement> keys = document.next(), values = document.next();
  const bool is_known = keys && values && keys->type == BsonElement::kList && values->type == BsonElement::kList;
  return is_known ? julia_dictionary(list(*keys), list(*values), type) : nothing(type);
}

State BsonReader::named_tuple(const JuliaType& type, State::List fields, std::uint64_t at) {
  std::optional<BsonElement> first;
  if (type.parameters) first = BsonDocument(source_, type.parameters->at, type.parameters->end).next();
  const State names = first ? value(*first) : State();
  if (names.size() != fields.size() || (!names.is_list() && !names.is_nothing())) {
    source_.fail(at, fmt::format("a NamedTuple of {} values has {} names", fields.size(), names.size()));
  }
  State::Record record;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!names.list()[i].is_text()) source_.fail(at, "a NamedTuple has a name that is not text");
    record.emplace_back(names.list()[i].text(), std::move(fields[i]));
  }
  if (const std::optional<std::string> name = repeated_name(record)) {
    source_.fail(at, fmt::format("a NamedTuple has two members \"{}\"", name->substr(0, 200)));
  }
  return State(std::move(record));
}

State BsonReader::scalar(const std::string& type, const BsonElement& data) {
  std::array<std::byte, 8> bytes{};
  const std::uint64_t size = data.end - data.at;
  const std::span<std::byte> used = std::span(bytes).first(std::min<std::size_t>(bytes.size(), size));
  source_.read(data.at, used);
  const std::optional<State> known = size > bytes.size() ? std::nullopt : julia_scalar(type, used);
  budget_.spend(1);
  return known ? *known : nothing(type);
}

State BsonReader::array(const Tagged& tagged) {
  const JuliaType type = type_of(part(tagged, "type", BsonElement::kDocument));
  const std::vector<std::int64_t> sizes = sizes_of(part(tagged, "size", BsonElement::kList));
  const BsonElement* const data = tagged.find("data");
  if (data != nullptr && data->type == BsonElement::kBinary) {
    const std::optional<DType> dtype = dtype_of_julia(type.name);
    return dtype ? tensor(*dtype, sizes, *data) : nothing("Core.Array{" + type.name + "}");
  }
  State::List elements = list(part(tagged, "data", BsonElement::kList));
  const std::optional<std::uint64_t> count = array_bytes(sizes, 1);
  if (!count || *count != elements.size()) {
    source_.fail(tagged.at,
                 fmt::format("an array of size ({}) has {} elements", fmt::join(sizes, ", "), elements.size()));
  }
  return State(std::move(elements));
}

State BsonReader::tensor(DType dtype, std::span<const std::int64_t> sizes, const BsonElement& data) {
  budget_.spend(StateBudget::kTensor);
  if (const std::string wrong = wrong_size(dtype, sizes, data.end - data.at); !wrong.empty()) {
    source_.fail(data.at, wrong);
  }
  Tensor& tensor = read_[data.at];
  if (!tensor) tensor = read_julia_tensor(source_, data.at, dtype, Shape(sizes));
  return State(tensor);
}

std::vector<std::int64_t> BsonReader::sizes_of(const BsonElement& element) {
  std::vector<std::int64_t> sizes;
  BsonDocument document(source_, element.at, element.end);
  while (const std::optional<BsonElement> each = document.next()) {
    if (sizes.size() == Shape::kMaxRank) source_.fail(element.at, "an array of more than 8 dimensions");
    sizes.push_back(integer(*each));
    if (sizes.back() < 0) source_.fail(each->at, fmt::format("an array has the size {}", sizes.back()));
  }
  return sizes;
}

std::int64_t BsonReader::integer(const BsonElement& element) {
  if (element.type == BsonElement::kInt64) return source_.number<std::int64_t>(element.at);
  if (element.type == BsonElement::kInt32) return source_.number<std::int32_t>(element.at);
  source_.fail(element.at, fmt::format("expected an integer, found the element type 0x{:02x}", element.type));
}

std::size_t BsonReader::reference_number(const Tagged& tagged) {
  const BsonElement* const found = tagged.find("ref");
  if (found == nullptr) source_.fail(tagged.at, "the backref has no \"ref\"");
  const std::int64_t number = integer(*found);
  if (number < 1 || static_cast<std::uint64_t>(number) > references_.size()) {
    source_.fail(found->at,
                 fmt::format("the reference {} is not among the {} of _backrefs", number, references_.size()));
  }
  return static_cast<std::size_t>(number) - 1;
}

BsonElement BsonReader::referred(std::size_t number) const {
  const Place& place = references_[number];
  return {place.type, "", place.at, place.end, place.end};
}

State BsonReader::reference(const Tagged& tagged) {
  const std::size_t number = reference_number(tagged);
  if (!open_.insert(number).second) {
    source_.fail(tagged.at, fmt::format("the value {} of _backrefs contains itself", number + 1));
  }
  State state = value(referred(number));
  open_.erase(number);
  return state;
}

JuliaType BsonReader::type_of(const BsonElement& element) {
  BsonElement place = element;
  for (int step = 0; step < kMostTypeSteps && place.type == BsonElement::kDocument; ++step) {
    budget_.spend(step == 0 ? 0 : 1);
    const std::optional<Tagged> type = tagged_document(place);
    if (!type) break;
    if (type->tag == "datatype") {
      const BsonElement* const parameters = type->find("params");
      const bool has_list = parameters != nullptr && parameters->type == BsonElement::kList;
      return {type_name(part(*type, "name", BsonElement::kList)), has_list ? std::optional(*parameters) : std::nullopt};
    }
    if (type->tag == "jl_bottom_type") return {"Union{}", std::nullopt};
    if (type->tag == "unionall") {
      place = part(*type, "body", BsonElement::kDocument);
    } else if (type->tag == "backref") {
      place = referred(reference_number(*type));
    } else {
      break;
    }
  }
  source_.fail(element.at, "expected a type");
}

std::string BsonReader::type_name(const BsonElement& parts) {
  std::string path;
  std::size_t count = 0;
  BsonDocument document(source_, parts.at, parts.end);
  while (const std::optional<BsonElement> each = document.next()) {
    if (each->type != BsonElement::kText || each->end - each->at > kMostTypePart || ++count > kMostTypeParts) {
      source_.fail(each->at, "the name of a type has at most 16 parts, texts of at most 256 bytes");
    }
    const std::string text = source_.text(each->at, each->end - each->at);
    if (!is_utf8_name(text)) source_.fail(each->at, "the name of a type is not UTF-8");
    path += (path.empty() ? "" : ".") + text;
  }
  budget_.spend(path.size() / 64);
  return julia_type_name(path);
}

}  // namespace

State read_bson_state(const std::string& path, const std::string& operation) {
  ByteSource source(path, operation + ": " + path);
  return BsonReader(source).read();
}

State read_bson_state(std::span<const std::byte> content, const std::string& name) {
  ByteSource source(content, name);
  return BsonReader(source).read();
}

}  // namespace sluice::detail
