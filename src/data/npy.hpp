// The .npy format: a preamble, a Python dictionary as text, the elements.
//
//   "\x93NUMPY" version length {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sluice/npy.hpp"
#include "src/data/formats.hpp"

namespace sluice::detail {

struct NpyHeader {
  std::string type;     ///< NumPy's name, "<f4", or "struct"
  std::string refusal;  ///< why elements of that type are not read; empty: they are `dtype`
  DType dtype;
  bool is_swapped = false;  ///< the elements are big-endian
  bool is_fortran = false;
  std::vector<std::int64_t> shape;
};

/// The dictionary. Throws FileError "name: ...".
NpyHeader parse_npy_header(const std::string& text, const std::string& name);

/// Fills a span with the next bytes of a file, or throws.
using NextBytes = std::function<void(std::span<std::byte>)>;
/// Reads up to the elements; `size`, that of the file, becomes the bytes that are left.
NpyHeader read_npy_header(const NextBytes& next, std::uint64_t& size, const std::string& name);
/// Throws FileError unless the elements of the header's array take `size` bytes, as far as their type is known.
void check_npy_size(const NpyHeader& header, std::uint64_t size, const std::string& name);
/// An array whose file has `size` bytes.
Tensor read_npy_array(const NextBytes& next, std::uint64_t size, const std::string& name, bool reverse);
/// What the file of one array says of it, checked; `bytes` becomes those of its elements.
NpyHeader read_npy_file_header(const std::string& path, const std::string& operation, std::uint64_t& bytes);
/// What stands before the elements of `x`. Throws TypeError for a type that NumPy has not.
std::string npy_preamble(const Tensor& x, const std::string& name);

// A row of the table of formats.
State read_npy_state(const std::string& path, const std::string& operation);
void write_npy_file(const std::string& path, const std::string& operation, const TensorFile& file);

}  // namespace sluice::detail
