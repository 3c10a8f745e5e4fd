// DLPack: tensors handed to other libraries of the same process, and taken from them, without a copy where that can be.
//
// The structs are those of DLPack's stable C interface, 0.8 and 1.x, under our own names: a pointer to the other
// library's DLManagedTensor is one to a dlpack::ManagedTensor after a reinterpret_cast. Indices keep their meaning:
// element (i, j) here is element [i, j] there, by way of strides.
//
//   dlpack::ManagedTensorVersioned* lent = to_dlpack_versioned(x);   // x lives until lent->deleter(lent)
//   Tensor y = from_dlpack(lent);                                    // takes it over
//
// What is taken over without a copy is memory that somebody else may change: a tensor is a value only as long as nobody
// does. The library itself never writes to it.
#pragma once

#include <cstdint>

#include "sluice/tensor.hpp"

namespace sluice::inline v0 {

namespace dlpack {

// Device types.
inline constexpr std::int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kOpenCL = 4, kMetal = 8, kRocm = 10, kRocmHost = 11;
// Codes of element types.
inline constexpr std::uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6;

inline constexpr std::uint32_t kMajorVersion = 1, kMinorVersion = 0;
inline constexpr std::uint64_t kReadOnly = 1;  ///< a flag

struct Device {
  std::int32_t type;
  std::int32_t id;
};
struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: the last dimension is contiguous
  std::uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};
struct ManagedTensorVersioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedTensorVersioned* self);
  std::uint64_t flags;
  Tensor tensor;
};

}  // namespace dlpack

struct DlpackOptions {
  bool reverse =
      false;  ///< take the sizes in reverse order: an array in C order, (batch, features), needs no copy then
};

/// Hands out a tensor of the CPU, of CUDA or of AMDGPU without a copy, marked as read-only; it lives until the deleter
/// is called. What computes it has finished. Throws ArgumentError for an empty handle, Unsupported for another device:
/// move it first, cpu(x).
SLUICE_API dlpack::ManagedTensorVersioned* to_dlpack_versioned(const Tensor& x);
/// The same in the form before 1.0, which cannot say that the elements are not to be written: they are not.
SLUICE_API dlpack::ManagedTensor* to_dlpack(const Tensor& x);

/// Takes over a tensor, and its deleter, which is called when no tensor needs the memory any more. Without a copy where
/// the first dimension is contiguous (any array of one dimension; with `reverse`, any in C order); else the elements
/// are copied, which works in host memory only. Memory of a CUDA or ROCm device is taken over where that backend is
/// functional; what the other library has queued must have finished. Throws, and the caller keeps what it gave:
/// TypeError for element types that there are none for, Unsupported or DeviceError for memory that cannot be reached,
/// ArgumentError for what makes no sense.
SLUICE_API Tensor from_dlpack(dlpack::ManagedTensorVersioned* managed, const DlpackOptions& options = {});
SLUICE_API Tensor from_dlpack(dlpack::ManagedTensor* managed, const DlpackOptions& options = {});

}  // namespace sluice::inline v0
