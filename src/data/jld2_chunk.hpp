// Compressed arrays of JLD2. `compress = true` makes one chunk of an array, and one filter, deflate; shuffle may come
// before it: all first bytes of the elements, then all second ones, which deflates better.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/data/jld2_file.hpp"

namespace sluice::detail {

/// The array that the content of a chunk is.
struct H5Elements {
  std::span<const std::int64_t> sizes;  ///< first dimension first
  std::uint64_t size = 0;               ///< of an element
  std::uint64_t bytes = 0;              ///< of all
};

/// The one chunk of an array.
struct H5Chunk {
  FileRange stored;
  std::uint32_t skipped = 0;  ///< a bit for each filter that was left out
};

/// What the content of a chunk went through on its way to the file, in this order.
struct H5Filters {
  bool is_shuffled = false, is_deflated = false;
};

/// Whether a Layout message leads to chunks.
bool is_chunked(ByteSource& source, FileRange layout);

/// What a Layout message says. Throws FileError for anything but one chunk of the size of the array.
H5Chunk read_chunk_layout(Jld2File& file, FileRange layout, const H5Elements& elements);

/// What a Filters message says, without those that `skipped` has. Throws FileError for all but shuffle and deflate;
/// its message names the filter.
H5Filters read_filters(ByteSource& source, FileRange message, std::uint32_t skipped, const H5Elements& elements);

/// Throws FileError if a chunk cannot hold its content. To be called before memory for this is asked for.
void check_chunk_size(ByteSource& source, FileRange stored, const H5Filters& filters, const H5Elements& elements);

/// Fills `to` with the content of a chunk. Throws FileError where there is less or more, or damage.
void read_chunk(ByteSource& source, FileRange stored, const H5Filters& filters, const H5Elements& elements,
                std::span<std::byte> to);

}  // namespace sluice::detail
