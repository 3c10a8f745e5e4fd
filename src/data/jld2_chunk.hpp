// Compressed arrays of JLD2. `compress = true` makes one chunk of an array, and one filter, deflate; shuffle may come
// before it: all first bytes of the elements, then all second ones, which deflates better.
#pragma once

#include <cstdint>
#include <span>

#include "sluice/dtype.hpp"
#include "sluice/tensor.hpp"
#include "src/data/jld2_file.hpp"

namespace sluice::detail {

/// Whether a Layout message leads to chunks.
bool is_chunked(ByteSource& source, FileRange layout);

/// Reads the compressed arrays of a file.
class Jld2Chunks {
 public:
  explicit Jld2Chunks(Jld2File& file) : file_(file), source_(file.source()) {}

  /// The array that lies in one chunk, as its Layout message says, and went through the filters of a Filters message if
  /// there is one. Sizes are first dimension first; elements have `element` bytes in the file. Throws FileError for any
  /// other number of chunks, any filter but shuffle and deflate, and content that is not just what the array takes.
  Tensor read(FileRange layout, const H5Message* filters, DType dtype, std::span<const std::int64_t> sizes,
              std::uint64_t element);

 private:
  void spend(std::uint64_t bytes);

  Jld2File& file_;
  ByteSource& source_;
  std::uint64_t inflated_ = 0;  // bytes of all arrays so far
};

}  // namespace sluice::detail
