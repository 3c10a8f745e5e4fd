#include "src/data/lookup3.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace sluice::detail {

constexpr std::size_t kBlock = 12;

Lookup3::Lookup3(std::uint64_t length) : left_(length) {
  a_ = b_ = c_ = 0xdeadbeef + static_cast<std::uint32_t>(length);
}

void Lookup3::mix() {
  a_ -= c_, a_ ^= std::rotl(c_, 4), c_ += b_;
  b_ -= a_, b_ ^= std::rotl(a_, 6), a_ += c_;
  c_ -= b_, c_ ^= std::rotl(b_, 8), b_ += a_;
  a_ -= c_, a_ ^= std::rotl(c_, 16), c_ += b_;
  b_ -= a_, b_ ^= std::rotl(a_, 19), a_ += c_;
  c_ -= b_, c_ ^= std::rotl(b_, 4), b_ += a_;
}

void Lookup3::finish() {
  c_ ^= b_, c_ -= std::rotl(b_, 14);
  a_ ^= c_, a_ -= std::rotl(c_, 11);
  b_ ^= a_, b_ -= std::rotl(a_, 25);
  c_ ^= b_, c_ -= std::rotl(b_, 16);
  a_ ^= c_, a_ -= std::rotl(c_, 4);
  b_ ^= a_, b_ -= std::rotl(a_, 14);
  c_ ^= b_, c_ -= std::rotl(b_, 24);
}

void Lookup3::add(std::span<const std::byte> piece) {
  while (!piece.empty()) {
    std::array<std::uint32_t, 3> words{};
    const std::size_t count = piece.size() < kBlock ? piece.size() : kBlock;
    std::memcpy(words.data(), piece.data(), count);
    a_ += words[0];
    b_ += words[1];
    c_ += words[2];
    const bool is_last = left_ <= kBlock;
    is_last ? finish() : mix();
    left_ -= count;
    piece = piece.subspan(count);
  }
}

}  // namespace sluice::detail
