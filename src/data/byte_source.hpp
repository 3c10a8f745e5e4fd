// The bytes of a file, or of memory, read at any place. A file is never held whole: what is not asked for costs
// nothing, however large the file says it is, and a file that shrinks meanwhile is an error and no signal, as with
// mmap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/error.hpp"

namespace sluice::detail {

class ByteSource {
 public:
  /// Throws FileError "name: ..." if `path` is no ordinary file that can be read.
  ByteSource(const std::string& path, std::string name);
  /// `content` must outlive this.
  ByteSource(std::span<const std::byte> content, std::string name);
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  std::uint64_t size() const { return size_; }

  /// Fills `to` with the bytes from `at` on. Throws FileError if they are not all there.
  void read(std::uint64_t at, std::span<std::byte> to);
  /// A little-endian number.
  template <class T>
  T number(std::uint64_t at) {
    T value;
    read(at, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  /// `count` bytes as text. The caller has checked that so many are wanted.
  std::string text(std::uint64_t at, std::uint64_t count);
  /// The text up to the next NUL, which must come before `end` and within `most` bytes. Throws FileError otherwise.
  std::string text_to_nul(std::uint64_t at, std::uint64_t end, std::uint64_t most);

  /// Throws FileError "name: byte 12: message".
  [[noreturn]] void fail(std::uint64_t at, const std::string& message) const;
  /// Throws FileError "name: message".
  [[noreturn]] void fail(const std::string& message) const;

 private:
  /// Makes the window begin at `at`.
  void refill(std::uint64_t at);

  std::string name_;
  std::ifstream file_;
  std::vector<std::byte> buffer_;
  std::span<const std::byte> window_;  // what of the bytes is at hand
  std::uint64_t window_at_ = 0, size_ = 0;
};

}  // namespace sluice::detail
