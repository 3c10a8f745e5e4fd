// Deflated data of a known size: the entries of zip archives, the compressed arrays of JLD2 files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace sluice::detail {

/// Whether `stored` bytes of deflate can inflate to `size`: what cannot be true is refused before memory is asked for.
constexpr bool can_inflate(std::uint64_t stored, std::uint64_t size) {
  constexpr std::uint64_t kMostRatio = 1032;  // a match of 258 bytes takes two bits at least
  return size / kMostRatio <= stored;
}

/// Inflates from start to end. What is wrong with the data is returned, since callers know how to name the place; it is
/// empty if nothing is.
class Inflater {
 public:
  /// What encloses the deflated data.
  enum class Wrapping : std::uint8_t { none, zlib };
  /// Fills `to` with the compressed bytes from `at` on, counted from their start.
  using Fetch = std::function<void(std::uint64_t at, std::span<std::byte> to)>;

  /// Of `stored` compressed bytes. Throws std::bad_alloc.
  Inflater(Wrapping wrapping, std::uint64_t stored, Fetch fetch);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills `to` with the content that comes next.
  std::string read(std::span<std::byte> to);
  /// To be called when all content has been read: whether it and the compressed bytes end here, and the checksum fits.
  std::string finish();

 private:
  struct Stream;
  void refill();
  std::string step(std::span<std::byte>& to);

  Fetch fetch_;
  std::uint64_t stored_ = 0, used_ = 0;
  std::unique_ptr<Stream> stream_;
};

}  // namespace sluice::detail
