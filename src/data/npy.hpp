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
  DType dtype;
  bool is_swapped = false;  ///< the elements are big-endian
  bool is_fortran = false;
  std::vector<std::int64_t> shape;
};

/// The dictionary. Throws FileError "name: ...".
NpyHeader parse_npy_header(const std::string& text, const std::string& name);

/// Fills a span with the next bytes of a file, or throws.
using NextBytes = std::function<void(std::span<std::byte>)>;
/// An array whose file has `size` bytes.
Tensor read_npy_array(const NextBytes& next, std::uint64_t size, const std::string& name, bool reverse);
/// What stands before the elements of `x`.
std::string npy_preamble(const Tensor& x, const std::string& name);

// The rows of the table of formats.
State read_npy_state(const std::string& path);
State read_npz_state(const std::string& path);
void write_npy_file(const std::string& path, const TensorFile& file);
void write_npz_file(const std::string& path, const TensorFile& file);

}  // namespace sluice::detail
