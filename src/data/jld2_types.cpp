#include "src/data/jld2_types.hpp"
#include "src/core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/data/julia_types.hpp"

namespace sluice::detail {
namespace {

constexpr int kMostDepth = 40;  // compounds within compounds; a Chain within a Chain takes two
constexpr std::uint64_t kMostName = 4096;
constexpr std::uint64_t kName = 32;  // bytes of a Core.DataType: a text and a list, of variable length both
constexpr std::uint64_t kReference = 8, kVariable = 16;

enum H5Class : std::uint8_t {
  kFixed = 0,
  kFloat = 1,
  kString = 3,
  kBitfield = 4,
  kTagged = 5,
  kMembers = 6,
  kPointer = 7,
  kVariableLength = 9
};

/// What Julia calls an IEEE number (or the upper half of one) with these bits; "" if it has none like it.
std::string_view float_name(std::uint64_t size, std::uint32_t places, std::uint32_t bias) {
  // Where the exponent is, its size, where the mantissa is, its size: one byte each.
  constexpr struct {
    std::uint64_t size;
    std::uint32_t places, bias;
    std::string_view name;
  } kFloats[] = {{8, 0x34000b34, 1023, "Core.Float64"},
                 {4, 0x17000817, 127, "Core.Float32"},
                 {2, 0x0a00050a, 15, "Core.Float16"},
                 {2, 0x07000807, 127, "Core.BFloat16"}};
  for (const auto& each : kFloats) {
    if (each.size == size && each.places == places && each.bias == bias) return each.name;
  }
  return {};
}

std::string integer_name(std::uint64_t size, bool is_signed) {
  if (size > 8 || (size & (size - 1)) != 0) return {};
  return fmt::format("Core.{}Int{}", is_signed ? "" : "U", 8 * size);
}

/// The smallest number of bytes that can hold every offset in `size` bytes.
unsigned offset_width(std::uint64_t size) {
  unsigned width = 1;
  while (width < 4 && size >> (8 * width) != 0) ++width;
  return width;
}

}  // namespace

void Jld2Types::need(std::uint64_t at, std::uint64_t end, std::uint64_t size) const {
  if (at > end || size > end - at) source_.fail(at, "a datatype goes beyond its message");
}

H5Type Jld2Types::parse(std::uint64_t& at, std::uint64_t end, int depth) {
  if (depth > kMostDepth) source_.fail(at, "datatypes lie within one another more than 40 deep");
  need(at, end, 8);
  budget_.spend(1);
  const auto head = source_.number<std::uint32_t>(at);
  const std::uint32_t version = (head >> 4) & 15, bits = head >> 8;
  H5Type type;
  type.size = source_.number<std::uint32_t>(at + 4);
  if (version != 3 && version != 1) source_.fail(at, fmt::format("a datatype of version {}", version));
  const auto kind = static_cast<std::uint8_t>(head & 15);
  if (kind == kMembers && version != 3) source_.fail(at, "a compound of version 1; JLD2 writes 3");
  at += 8;
  switch (kind) {
    case kFixed:
    case kFloat:
    case kBitfield: parse_number(type, bits | std::uint32_t{kind} << 24, at, end); break;
    case kString: type.kind = H5Type::kText; break;
    case kTagged: {
      const std::uint64_t tag = ((bits & 0xff) + 7) / 8 * 8;
      need(at, end, tag);
      at += tag;
      break;
    }
    case kMembers: parse_compound(type, bits, at, end, depth); break;
    case kPointer: type.kind = H5Type::kReference; break;
    case kVariableLength:
      type.kind = (bits & 15) == 1 ? H5Type::kVariableText : H5Type::kVariableList;
      type.members.push_back({"", 0, parse(at, end, depth + 1)});
      break;
    default: source_.fail(at - 8, fmt::format("a datatype of class {}, which JLD2 does not write", kind));
  }
  const bool is_wrong = (type.kind == H5Type::kReference && type.size != kReference) ||
                        (!type.members.empty() && type.kind != H5Type::kCompound && type.size != kVariable);
  if (is_wrong) source_.fail(at, fmt::format("a datatype of {} bytes", type.size));
  return type;
}

/// `bits` has the class above the 24 bits of the datatype.
void Jld2Types::parse_number(H5Type& type, std::uint32_t bits, std::uint64_t& at, std::uint64_t end) {
  const std::uint32_t kind = bits >> 24;
  const std::uint64_t taken = kind == kFloat ? 12 : 4;
  need(at, end, taken);
  const bool is_little = (bits & 1) == 0, is_whole = source_.number<std::uint16_t>(at) == 0 &&
                                                     source_.number<std::uint16_t>(at + 2) == 8 * type.size;
  if (is_little && kind == kFloat && is_whole) {
    type.number = float_name(type.size, source_.number<std::uint32_t>(at + 4), source_.number<std::uint32_t>(at + 8));
  } else if (is_little && kind == kFixed && is_whole) {
    type.number = integer_name(type.size, (bits & 8) != 0);
  } else if (kind == kBitfield && type.size == 1) {
    type.number = "Core.Bool";
  }
  if (!type.number.empty()) type.kind = H5Type::kNumber;
  at += taken;
}

void Jld2Types::parse_compound(H5Type& type, std::uint32_t bits, std::uint64_t& at, std::uint64_t end, int depth) {
  type.kind = H5Type::kCompound;
  const unsigned width = offset_width(type.size);
  std::vector<std::string_view> names;
  for (std::uint32_t count = bits & 0xffff; count > 0; --count) {
    H5Member member;
    member.name = source_.text_to_nul(at, end, kMostName);
    if (!is_utf8_name(member.name)) source_.fail(at, "the name of a member is not UTF-8");
    at += member.name.size() + 1;
    need(at, end, width);
    source_.read(at, std::as_writable_bytes(std::span(&member.offset, 1)).first(width));
    at += width;
    member.type = parse(at, end, depth + 1);
    if (member.offset > type.size || member.type.size > type.size - member.offset) {
      source_.fail(at, fmt::format("the member \"{}\" goes beyond its compound of {} bytes", member.name, type.size));
    }
    type.members.push_back(std::move(member));
  }
  names.reserve(type.members.size());
  for (const H5Member& member : type.members) names.push_back(member.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) source_.fail(at, fmt::format("two members are named \"{}\"", *twice));
}

const H5Type& Jld2Types::of_message(const H5Message& message) {
  std::uint64_t at = message.content.at;
  if (!message.is_shared) return inline_.emplace_back(parse(at, message.content.end(), 0));
  // Version 2 or 3 of a shared message; the type in version 3 says that the object is committed.
  if (message.content.size < 10) source_.fail(at, "a shared datatype without an address");
  const auto address = source_.number<std::uint64_t>(at + 2);
  const Jld2Type* const type = committed(address);
  if (type == nullptr) source_.fail(at, fmt::format("there is no datatype at address {}", address));
  return type->layout;
}

const Jld2Type* Jld2Types::committed(std::uint64_t address) {
  const auto [found, is_new] = committed_.try_emplace(address);
  if (is_new) {
    const StateBudget::Level level(budget_);
    found->second = read_committed(address);
  }
  return found->second.get();
}

std::unique_ptr<Jld2Type> Jld2Types::read_committed(std::uint64_t address) {
  const std::vector<H5Message>& messages = file_.header(address);
  auto type = std::make_unique<Jld2Type>();
  bool is_type = false;
  for (const H5Message& message : messages) {
    if (message.type == H5Message::kDataspace) return nullptr;
    if (message.type == H5Message::kDatatype && !message.is_shared) {
      std::uint64_t at = message.content.at;
      type->layout = parse(at, message.content.end(), 0);
      type->layout.committed = address;
      is_type = true;
    }
    if (message.type != H5Message::kAttribute) continue;
    const H5Attribute attribute = file_.attribute(message);
    if (attribute.name == "julia_type" && attribute.data.size >= kName) {
      type->julia = name_at(attribute.data.at);
    } else if (attribute.name == "field_types" || attribute.name == "field_datatypes") {
      type->field_types = addresses(attribute.data);
    } else if (attribute.name == "field_names") {
      const std::uint64_t count = attribute.data.size / kVariable;
      budget_.spend(count);
      for (std::uint64_t i = 0; i < count; ++i) {
        type->field_names.push_back(variable_text(attribute.data.at + i * kVariable));
      }
    }
  }
  return is_type ? std::move(type) : nullptr;
}

std::vector<std::uint64_t> Jld2Types::addresses(FileRange range) {
  std::vector<std::uint64_t> found(static_cast<std::size_t>(range.size / kReference));
  budget_.spend(found.size());
  source_.read(range.at, std::as_writable_bytes(std::span(found)));
  return found;
}

Jld2Name Jld2Types::name_at(std::uint64_t at) {
  Jld2Name name{julia_type_name(variable_text(at)), addresses(variable_list(at + kVariable, kReference))};
  // Julia before 1.10 prints these without their module.
  if (name.name == "Tuple" || name.name == "NTuple" || name.name == "NamedTuple") name.name.insert(0, "Core.");
  return name;
}

FileRange Jld2Types::variable_list(std::uint64_t at, std::uint64_t element_size) {
  const auto count = source_.number<std::uint32_t>(at);
  if (count == 0) return {};
  const FileRange object =
      file_.heap_object(source_.number<std::uint64_t>(at + 4), source_.number<std::uint32_t>(at + 12));
  if (element_size == 0 || count > object.size / element_size) {
    source_.fail(at,
                 fmt::format("{} elements of {} bytes, where {} bytes are stored", count, element_size, object.size));
  }
  return {object.at, count * element_size};
}

std::string Jld2Types::variable_text(std::uint64_t at) {
  const FileRange range = variable_list(at, 1);
  budget_.spend_text(range.size);
  std::string text = source_.text(range.at, range.size);
  if (!is_utf8_name(text)) source_.fail(range.at, "a text that is not UTF-8");
  return text;
}

}  // namespace sluice::detail
