// Bytes to read from a file or from memory, decompressed on the way when they are gzip.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace sluice::detail {

class InputBytes {
 public:
  /// Throws FileError if `path` is no readable file. More than `limit` bytes of content are an error.
  InputBytes(const std::string& path, std::int64_t limit);
  /// `content` must outlive this; `name` stands for the path.
  InputBytes(std::span<const std::byte> content, const std::string& name, std::int64_t limit);
  ~InputBytes();
  InputBytes(const InputBytes&) = delete;
  InputBytes& operator=(const InputBytes&) = delete;

  /// Fills `to`; less only at the end of the content. Throws FileError where gzip data are damaged or cut.
  std::size_t read(std::span<std::byte> to);
  /// Appends up to `count` bytes to `to`, growing it by what is really there. Returns how many.
  template <class Container>
  std::size_t append(Container& to, std::uint64_t count);
  /// Of the content, from its start.
  std::uint64_t position() const { return position_; }

  /// Throws FileError "name: message".
  [[noreturn]] void fail(const std::string& message) const;

 private:
  void start(std::int64_t limit);
  /// More of the stored bytes; false at their end.
  bool refill();
  std::size_t read_stored(std::span<std::byte> to);
  std::size_t read_inflated(std::span<std::byte> to);
  void next_member();

  std::string name_;
  std::ifstream file_;
  std::vector<std::byte> buffer_;       // of the file
  std::span<const std::byte> pending_;  // stored bytes not used yet
  std::uint64_t limit_ = 0, position_ = 0, stored_ = 0;
  bool compressed_ = false, ended_ = false;
  z_stream stream_{};
};

template <class Container>
std::size_t InputBytes::append(Container& to, std::uint64_t count) {
  constexpr std::uint64_t kPiece = 1 << 20;
  const std::size_t before = to.size();
  while (count > 0) {
    const auto piece = static_cast<std::size_t>(count < kPiece ? count : kPiece);
    const std::size_t old = to.size();
    to.resize(old + piece);
    const std::size_t got = read(std::as_writable_bytes(std::span(to).subspan(old)));
    to.resize(old + got);
    if (got < piece) break;
    count -= piece;
  }
  return to.size() - before;
}

}  // namespace sluice::detail
