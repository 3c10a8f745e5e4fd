// SHA-256 (FIPS 180-4), for names of files that must not meet by chance and for checksums of what they hold. Written
// here because it is the whole need: no library of hashes has to be there, and it reads about 200 MB a second.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::detail {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// Takes text in pieces.
class Sha256 {
 public:
  void add(std::string_view text);
  /// The digest of all that was added; nothing may be added after.
  Sha256Digest finish();

 private:
  void add_block(const unsigned char* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> rest_{};
  std::uint64_t bytes_ = 0;
};

Sha256Digest sha256(std::string_view text);

/// 64 digits.
std::string to_hexadecimal(const Sha256Digest& digest);

}  // namespace sluice::detail
