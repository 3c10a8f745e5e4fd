// IDX: two zero bytes, a type, the number of sizes, the sizes and the elements, all big-endian, last dimension fastest.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "sluice/readers.hpp"
#include "src/data/input_bytes.hpp"

namespace sluice::inline v0 {
namespace {

using detail::InputBytes;

std::optional<DType> dtype_of_code(std::uint8_t code) {
  switch (code) {
    case 0x08: return u8;
    case 0x09: return i8;
    case 0x0B: return i16;
    case 0x0C: return i32;
    case 0x0D: return f32;
    case 0x0E: return f64;
    default: return std::nullopt;
  }
}

struct Heading {
  DType dtype;
  Shape shape;
};

/// Sizes of the file, reversed.
Shape read_shape(InputBytes& input, std::size_t rank, DType dtype, std::uint64_t limit) {
  std::vector<std::uint8_t> bytes;
  if (input.append(bytes, 4 * rank) < 4 * rank) {
    input.fail(fmt::format("ends at byte {}, within its {} sizes", input.position(), rank));
  }
  std::vector<std::int64_t> sizes(rank);
  std::uint64_t total = dtype.size();
  bool fits = true;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::uint8_t* const b = bytes.data() + 4 * i;
    const std::uint64_t size = std::uint64_t{b[0]} << 24 | std::uint64_t{b[1]} << 16 | std::uint64_t{b[2]} << 8 | b[3];
    sizes[rank - 1 - i] = static_cast<std::int64_t>(size);
    // A size of 0 makes an empty tensor, but the others must still be sensible.
    fits = fits && total <= limit / std::max<std::uint64_t>(size, 1);
    if (fits) total *= std::max<std::uint64_t>(size, 1);
  }
  if (!fits) {
    input.fail(
        fmt::format("its sizes, {} (first in the file last), ask for more than {} bytes, the limit; raise "
                    "max_bytes if that is right",
                    fmt::join(sizes, " x "), limit));
  }
  return Shape(sizes);
}

Heading read_heading(InputBytes& input, std::uint64_t limit) {
  std::array<std::uint8_t, 4> magic{};
  const std::size_t got = input.read(std::as_writable_bytes(std::span(magic)));
  if (got < 4) input.fail(fmt::format("has {} bytes; an IDX file begins with four: 0, 0, type, number of sizes", got));
  if (magic[0] != 0 || magic[1] != 0) {
    input.fail(fmt::format("begins with the bytes {} {}; an IDX file begins with 0 0", magic[0], magic[1]));
  }
  const std::optional<DType> dtype = dtype_of_code(magic[2]);
  if (!dtype) {
    input.fail(
        fmt::format("byte 2, the element type, is 0x{:02x}; IDX has 0x08, 0x09, 0x0b, 0x0c, 0x0d and 0x0e", magic[2]));
  }
  if (magic[3] > Shape::kMaxRank) {
    input.fail(fmt::format("byte 3 says {} dimensions; at most {} are possible", magic[3], Shape::kMaxRank));
  }
  return {*dtype, read_shape(input, magic[3], *dtype, limit)};
}

Tensor read(InputBytes& input, const IdxOptions& options) {
  const auto [dtype, shape] =
      read_heading(input, static_cast<std::uint64_t>(std::max<std::int64_t>(options.max_bytes, 0)));
  const std::uint64_t start = input.position();
  const auto expected = static_cast<std::uint64_t>(shape.numel()) * dtype.size();
  std::vector<std::byte> bytes;
  if (input.append(bytes, expected) < expected) {
    input.fail(fmt::format("ends at byte {}; its sizes ask for {} bytes of elements from byte {} on", input.position(),
                           expected, start));
  }
  std::byte extra{};
  if (input.read(std::span(&extra, 1)) > 0) {
    input.fail(fmt::format("goes on after byte {}, where its elements end", start + expected));
  }
  if constexpr (std::endian::native == std::endian::little) {
    const auto size = static_cast<std::ptrdiff_t>(dtype.size());
    for (auto at = bytes.begin(); size > 1 && at != bytes.end(); at += size) std::reverse(at, at + size);
  }
  return from_bytes(bytes.data(), bytes.size(), shape, dtype);
}

/// The limit counts elements; the heading comes on top.
std::int64_t with_heading(std::int64_t limit) {
  constexpr std::int64_t kHeading = 4 + 4 * Shape::kMaxRank;
  return std::min(limit, std::numeric_limits<std::int64_t>::max() - kHeading) + kHeading;
}

}  // namespace

Tensor read_idx(const std::string& path, const IdxOptions& options) {
  InputBytes input(path, with_heading(options.max_bytes));
  return read(input, options);
}

Tensor parse_idx(std::span<const std::byte> content, const std::string& name, const IdxOptions& options) {
  InputBytes input(content, name, with_heading(options.max_bytes));
  return read(input, options);
}

}  // namespace sluice::inline v0
