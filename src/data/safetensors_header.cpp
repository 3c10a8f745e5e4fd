// Reading the header of a safetensors file: as a stream of JSON events, so that neither depth nor size of a hostile one
// costs memory.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "src/core/utf8.hpp"
#include "src/data/safetensors.hpp"

namespace sluice::detail {
namespace {

using Json = nlohmann::json;

struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr TypeName kTypes[] = {{"F64", f64}, {"F32", f32}, {"F16", f16}, {"BF16", bf16}, {"I64", i64},
                               {"I32", i32}, {"I16", i16}, {"I8", i8},   {"U8", u8},     {"BOOL", boolean}};

/// Types of the format that there is none for here.
struct ForeignType {
  std::string_view name;
  std::uint64_t bits;
};
constexpr ForeignType kForeign[] = {{"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6},
                                    {"F4", 4},      {"U16", 16},    {"U32", 32},    {"U64", 64},    {"C64", 64}};

constexpr std::size_t kMostSizes = 64;  // NumPy's limit; Shape has fewer

/// What the header says of one tensor.
struct Entry {
  std::string name, dtype;
  std::vector<std::uint64_t> shape, offsets;
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

/// Takes the events of a parse. Every function returns true to go on, or throws.
class HeaderEvents final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderEvents(const std::string& file) : file_(file) {}

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(std::int64_t value) override { unexpected(std::to_string(value)); }
  bool number_float(double, const std::string& text) override { unexpected(text.substr(0, 40)); }
  bool binary(Json::binary_t&) override { unexpected("binary data"); }
  bool number_unsigned(std::uint64_t value) override;
  bool string(std::string& value) override;
  bool start_object(std::size_t) override;
  bool key(std::string& name) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    // The position counts from the start of the header, which follows 8 bytes of length; characters count from 1.
    fail(fmt::format("byte {}: the header is not JSON in UTF-8", position + 7));
  }

  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;

 private:
  enum class Place { outside, top, metadata, tensor, shape, offsets, end };

  [[noreturn]] void fail(const std::string& message) const { throw FileError(file_ + ": " + message); }
  [[noreturn]] void unexpected(const std::string& what) const;
  void open_tensor_field(const std::string& name);
  void check_complete() const;

  const std::string& file_;
  Place place_ = Place::outside;
  std::string key_;
  std::set<std::string, std::less<>> names_, keys_;  // of the top level, of the object at hand
};

void HeaderEvents::unexpected(const std::string& what) const {
  switch (place_) {
    case Place::outside: fail("the header is " + what + "; expected an object");
    case Place::metadata: fail("__metadata__ has " + what + " for " + in_quotes(key_) + "; expected a string");
    case Place::top: fail("the header has " + what + " for " + in_quotes(key_) + "; expected an object");
    default: break;
  }
  fail(fmt::format("tensor {} has {} in {}; expected {}", in_quotes(entries.back().name), what, in_quotes(key_),
                   key_ == "dtype" ? "a string" : "a list of integers from 0 on"));
}

bool HeaderEvents::number_unsigned(std::uint64_t value) {
  if (place_ != Place::shape && place_ != Place::offsets) unexpected(std::to_string(value));
  Entry& entry = entries.back();
  auto& list = place_ == Place::shape ? entry.shape : entry.offsets;
  const std::size_t most = place_ == Place::shape ? kMostSizes : 2;
  if (list.size() == most) {
    fail(fmt::format("tensor {}: {} has more than {} numbers", in_quotes(entry.name),
                     place_ == Place::shape ? "shape" : "data_offsets", most));
  }
  list.push_back(value);
  return true;
}

bool HeaderEvents::string(std::string& value) {
  if (place_ == Place::metadata) {
    metadata.emplace(key_, std::move(value));
  } else if (place_ == Place::tensor && key_ == "dtype") {
    entries.back().dtype = value.substr(0, 40);
    entries.back().has_dtype = true;
  } else {
    unexpected("a string");
  }
  return true;
}

bool HeaderEvents::start_object(std::size_t) {
  if (place_ == Place::outside) {
    place_ = Place::top;
  } else if (place_ == Place::top) {
    place_ = key_ == "__metadata__" ? Place::metadata : Place::tensor;
    if (place_ == Place::tensor) entries.emplace_back().name = key_;
  } else {
    unexpected("an object");
  }
  keys_.clear();
  return true;
}

bool HeaderEvents::key(std::string& name) {
  key_ = std::move(name);
  if (key_.find('\0') != std::string::npos) fail("a name contains NUL: " + in_quotes(key_.substr(0, key_.find('\0'))));
  const bool fresh = place_ == Place::top ? names_.insert(key_).second : keys_.insert(key_).second;
  if (!fresh) {
    const std::string where = place_ == Place::top        ? "the header"
                              : place_ == Place::metadata ? "__metadata__"
                                                          : "tensor " + in_quotes(entries.back().name);
    fail("duplicate name " + in_quotes(key_) + " in " + where);
  }
  if (place_ == Place::tensor && key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
    fail("tensor " + in_quotes(entries.back().name) + " has " + in_quotes(key_) +
         "; expected \"dtype\", \"shape\" and \"data_offsets\"");
  }
  return true;
}

bool HeaderEvents::end_object() {
  if (place_ == Place::tensor) check_complete();
  place_ = place_ == Place::top ? Place::end : Place::top;
  return true;
}

bool HeaderEvents::start_array(std::size_t) {
  if (place_ != Place::tensor || key_ == "dtype") unexpected("a list");
  place_ = key_ == "shape" ? Place::shape : Place::offsets;
  (place_ == Place::shape ? entries.back().has_shape : entries.back().has_offsets) = true;
  return true;
}

bool HeaderEvents::end_array() {
  place_ = Place::tensor;
  return true;
}

void HeaderEvents::check_complete() const {
  const Entry& entry = entries.back();
  const char* const missing = !entry.has_dtype                                  ? "\"dtype\""
                              : !entry.has_shape                                ? "\"shape\""
                              : !entry.has_offsets || entry.offsets.size() != 2 ? "two \"data_offsets\""
                                                                                : nullptr;
  if (missing != nullptr) fail("tensor " + in_quotes(entry.name) + " lacks " + missing);
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const TypeName& type : kTypes) {
    if (type.name == name) return type.dtype;
  }
  return std::nullopt;
}

/// Bits of an element; 0 for a type that is not known.
std::uint64_t bits_of(std::string_view type) {
  if (const std::optional<DType> dtype = dtype_named(type)) return 8 * dtype->size();
  for (const ForeignType& each : kForeign) {
    if (each.name == type) return each.bits;
  }
  return 0;
}

/// Bytes of a tensor; nothing if their number, or that of the elements, goes beyond 2^59, or is not whole.
std::optional<std::uint64_t> bytes_of(const Entry& entry, std::uint64_t bits) {
  std::uint64_t product = bits;
  bool is_empty = false;
  for (const std::uint64_t size : entry.shape) {
    is_empty = is_empty || size == 0;
    const std::uint64_t factor = std::max<std::uint64_t>(size, 1);
    if (product > (std::uint64_t{1} << 62) / factor) return std::nullopt;
    product *= factor;
  }
  if (is_empty) return 0;
  return product % 8 == 0 ? std::optional(product / 8) : std::nullopt;
}

StoredTensor checked(Entry& entry, std::uint64_t expected_begin, std::uint64_t data_size, const std::string& file) {
  const auto fail = [&](const std::string& message) {
    throw FileError(fmt::format("{}: tensor {}: {}", file, in_quotes(entry.name), message));
  };
  const std::uint64_t begin = entry.offsets[0], end = entry.offsets[1];
  if (end < begin) fail(fmt::format("data_offsets [{}, {}] end before they begin", begin, end));
  if (end > data_size) fail(fmt::format("data_offsets [{}, {}] go beyond the {} bytes of data", begin, end, data_size));
  if (begin != expected_begin) {
    fail(fmt::format("data_offsets [{}, {}] {}; the tensor before ends at {}", begin, end,
                     begin < expected_begin ? "overlap another tensor" : "leave a gap", expected_begin));
  }
  const std::uint64_t bits = bits_of(entry.dtype);
  if (bits == 0) {
    std::string known;
    for (const TypeName& type : kTypes) known += (known.empty() ? "" : " ") + std::string(type.name);
    fail(fmt::format("element type \"{}\" of the data at offset {} cannot be read; known are {}", entry.dtype, begin,
                     known));
  }
  const std::optional<std::uint64_t> bytes = bytes_of(entry, bits);
  const std::string sizes = fmt::format("shape [{}] of {}", fmt::join(entry.shape, ", "), entry.dtype);
  if (!bytes) fail(sizes + " has too many elements, or no whole number of bytes");
  if (*bytes != end - begin) fail(fmt::format("{} takes {} bytes, data_offsets give {}", sizes, *bytes, end - begin));
  const std::vector<std::int64_t> reversed(entry.shape.rbegin(), entry.shape.rend());
  const std::optional<DType> dtype = dtype_named(entry.dtype);
  const bool has_shape = reversed.size() <= static_cast<std::size_t>(Shape::kMaxRank);
  return {std::move(entry.name),
          std::move(entry.dtype),
          dtype.has_value() && has_shape,
          dtype.value_or(f32),
          has_shape ? Shape(reversed) : Shape(),
          reversed,
          begin,
          end};
}

}  // namespace

std::string_view safetensors_type(DType dtype) {
  const auto* const found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [dtype](const TypeName& type) { return type.dtype == dtype; });
  return found->name;
}

SafetensorsHeader parse_safetensors_header(const std::string& text, std::uint64_t data_size, const std::string& name) {
  if (!text.starts_with('{')) throw FileError(name + ": byte 8: the header does not begin with \"{\"");
  HeaderEvents events(name);
  Json::sax_parse(text, &events);
  std::sort(events.entries.begin(), events.entries.end(),
            [](const Entry& a, const Entry& b) { return a.offsets < b.offsets; });
  SafetensorsHeader header{std::move(events.metadata), {}};
  std::uint64_t end = 0;
  for (Entry& entry : events.entries) {
    header.tensors.push_back(checked(entry, end, data_size, name));
    end = header.tensors.back().end;
  }
  if (end != data_size) {
    throw FileError(fmt::format("{}: {} bytes follow the last tensor, which ends at offset {} of the data", name,
                                data_size - end, end));
  }
  return header;
}

}  // namespace sluice::detail
