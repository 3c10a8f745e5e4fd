// Bob Jenkins's hash "lookup3" (hashlittle, public domain, 2006), with which HDF5 protects its metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::detail {

/// The hash of bytes that come in pieces, with the seed 0. All pieces but the last have a multiple of 12 bytes.
class Lookup3 {
 public:
  /// `length` is that of all pieces together.
  explicit Lookup3(std::uint64_t length);

  void add(std::span<const std::byte> piece);
  std::uint32_t value() const { return c_; }

 private:
  void mix();
  void finish();

  std::uint64_t left_;
  std::uint32_t a_, b_, c_;
};

}  // namespace sluice::detail
