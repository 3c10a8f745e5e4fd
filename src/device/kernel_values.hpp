// The struct of numbers that a kernel takes: its definition for the kernel's text and its bytes for a launch come from
// one list, so that they cannot differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/core/typed_program.hpp"

namespace sluice::detail {

/// The name of a member: a word, and up to two numbers that follow it.
struct ValueName {
  const char* word;
  int first = -1, second = -1;
};
std::string to_string(const ValueName& name);

class KernelValues {
 public:
  /// `is_wide` makes indices 64 bits wide.
  explicit KernelValues(bool is_wide) : is_wide_(is_wide) { members_.reserve(16); }

  bool is_wide() const { return is_wide_; }

  void add_integer(ValueName name, std::int64_t value);
  /// A count or size: unsigned in the kernel.
  void add_index(ValueName name, std::int64_t value);
  /// A stride: signed in the kernel.
  void add_stride(ValueName name, std::int64_t value);
  /// A number rounded to a register.
  void add_number(ValueName name, Register type, const Scalar& value);

  /// "typedef struct { ... } k_values;" and the types k_index and k_offset.
  std::string text() const;
  /// The members' values, valid until the next one is added.
  std::span<const std::byte> bytes();

 private:
  struct Member {
    ValueName name;
    const char* type;
    std::uint32_t size;
    std::uint64_t bits;
  };
  void add(ValueName name, const char* type, std::uint32_t size, std::uint64_t bits);

  bool is_wide_;
  std::vector<Member> members_;
  std::vector<std::byte> bytes_;
};

}  // namespace sluice::detail
