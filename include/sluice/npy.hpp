// NumPy's files: .npy, one array, and .npz, several under names.
//
// An array keeps its shape and its indices: what NumPy calls a[i, j] is element (i, j) here, whether the file is in C
// or in Fortran order. Tensors are written in Fortran order, so no element is moved on that way; arrays in C order,
// which NumPy writes by default, are transposed as they are read, unless `reverse` asks for their sizes the other way
// round, as safetensors has them.
//
//   Tensor x = read_npy("images.npy", {.reverse = true});   // (n, 28, 28) in C order as (28, 28, n), batch last
#pragma once

#include <string>

#include "sluice/model.hpp"

namespace sluice::inline v0 {

struct NpyOptions {
  bool reverse = false;                            ///< give every array its sizes in reverse order
  std::int64_t max_bytes = std::int64_t{1} << 32;  ///< of compressed arrays together, after decompression
};

/// An array of the library's element types, of either byte order. Throws FileError; arrays of objects, text, structs
/// and complex numbers are refused by name.
SLUICE_API Tensor read_npy(const std::string& path, const NpyOptions& options = {});
/// Throws TypeError for bf16, which NumPy has not. The file appears whole or not at all.
SLUICE_API void write_npy(const std::string& path, const Tensor& x);

/// The arrays of np.savez or np.savez_compressed in their order; what else is in the archive is passed over. Throws
/// FileError, also for an array that read_npy would refuse: `load` and `inspect` take the others without it.
SLUICE_API NamedTensors read_npz(const std::string& path, const NpyOptions& options = {});
/// Not compressed; of any size. Throws ArgumentError for equal names, TypeError for bf16.
SLUICE_API void write_npz(const std::string& path, const NamedTensors& tensors);

}  // namespace sluice::inline v0
