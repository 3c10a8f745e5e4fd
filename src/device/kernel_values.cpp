#include "src/device/kernel_values.hpp"

#include <bit>
#include <cstring>

namespace sluice::detail {

std::string to_string(const ValueName& name) {
  std::string text = name.word;
  if (name.first >= 0) text += "_" + std::to_string(name.first);
  if (name.second >= 0) text += "_" + std::to_string(name.second);
  return text;
}

void KernelValues::add(ValueName name, const char* type, std::uint32_t size, std::uint64_t bits) {
  members_.push_back({name, type, size, bits});
}

void KernelValues::add_integer(ValueName name, std::int64_t value) {
  add(name, "k_i64", 8, static_cast<std::uint64_t>(value));
}

void KernelValues::add_index(ValueName name, std::int64_t value) {
  add(name, "k_index", is_wide_ ? 8 : 4, static_cast<std::uint64_t>(value));
}

void KernelValues::add_stride(ValueName name, std::int64_t value) {
  add(name, "k_offset", is_wide_ ? 8 : 4, static_cast<std::uint64_t>(value));
}

void KernelValues::add_number(ValueName name, Register type, const Scalar& value) {
  const auto integer = static_cast<std::uint64_t>(value.integer);
  switch (type) {
    case Register::f32: return add(name, "float", 4, std::bit_cast<std::uint32_t>(static_cast<float>(value.floating)));
    case Register::f64: return add(name, "double", 8, std::bit_cast<std::uint64_t>(value.floating));
    case Register::i32: return add(name, "int", 4, integer);
    case Register::i64: return add(name, "k_i64", 8, integer);
  }
}

// Members of 8 bytes come first, and the whole is filled up to a multiple of 8: then every compiler lays it out alike.
std::string KernelValues::text() const {
  std::string text = is_wide_ ? "typedef k_u64 k_index;\ntypedef k_i64 k_offset;\n"
                              : "typedef k_u32 k_index;\ntypedef int k_offset;\n";
  text += "typedef struct {\n";
  std::size_t narrow = 0;
  for (const std::uint32_t size : {8U, 4U}) {
    for (const Member& member : members_) {
      if (member.size != size) continue;
      text += std::string("  ") + member.type + " " + to_string(member.name) + ";\n";
      narrow += size == 4 ? 1 : 0;
    }
  }
  if (narrow % 2 != 0) text += "  int unused;\n";
  return text + "} k_values;\n";
}

std::span<const std::byte> KernelValues::bytes() {
  bytes_.clear();
  bytes_.reserve(8 * members_.size() + 8);
  for (const std::uint32_t size : {8U, 4U}) {
    for (const Member& member : members_) {
      if (member.size != size) continue;
      const auto* const from = reinterpret_cast<const std::byte*>(&member.bits);
      bytes_.insert(bytes_.end(), from, from + size);  // a machine that is not little-endian has no such device
    }
  }
  bytes_.resize((bytes_.size() + 7) / 8 * 8);
  return bytes_;
}

}  // namespace sluice::detail
