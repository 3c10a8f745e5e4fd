// What the backend uses of CUDA's driver and of NVRTC, declared by hand: the library is built without CUDA's headers
// and opens both at run time. Types are those of <cuda.h> and <nvrtc.h>, with int for their enums, so
// tests/cuda_prototypes_test.cpp can hold each line to them. The driver's functions have names of our own as well,
// under which backends/streams/ knows them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/streams/driver_function.hpp"

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct cublasContext;
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name that NVRTC gives it.
struct _nvrtcProgram;

namespace sluice::streams {

using DeviceNumber = int;
using DevicePointer = unsigned long long;
using Context = CUctx_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Module = CUmod_st*;
using KernelHandle = CUfunc_st*;

/// What Current puts back.
struct ThreadState {
  Context context = nullptr;
  bool differs = false;
};

// X(our name, CUDA's name, parameters). All return a CUresult.
#define SLUICE_CUDA_FUNCTIONS(X)                                                                         \
  X(init, cuInit, (unsigned))                                                                            \
  X(driver_version, cuDriverGetVersion, (int*))                                                          \
  X(error_name, cuGetErrorName, (int, const char**))                                                     \
  X(error_text, cuGetErrorString, (int, const char**))                                                   \
  X(device_count, cuDeviceGetCount, (int*))                                                              \
  X(device, cuDeviceGet, (DeviceNumber*, int))                                                           \
  X(device_name, cuDeviceGetName, (char*, int, DeviceNumber))                                            \
  X(device_memory, cuDeviceTotalMem_v2, (std::size_t*, DeviceNumber))                                    \
  X(device_attribute, cuDeviceGetAttribute, (int*, int, DeviceNumber))                                   \
  X(device_card, cuDeviceGetPCIBusId, (char*, int, DeviceNumber))                                        \
  X(retain_context, cuDevicePrimaryCtxRetain, (Context*, DeviceNumber))                                  \
  X(current_context, cuCtxGetCurrent, (Context*))                                                        \
  X(set_context, cuCtxSetCurrent, (Context))                                                             \
  X(memory_info, cuMemGetInfo_v2, (std::size_t*, std::size_t*))                                          \
  X(alloc, cuMemAlloc_v2, (DevicePointer*, std::size_t))                                                 \
  X(free, cuMemFree_v2, (DevicePointer))                                                                 \
  X(address_range, cuMemGetAddressRange_v2, (DevicePointer*, std::size_t*, DevicePointer))               \
  X(alloc_host, cuMemHostAlloc, (void**, std::size_t, unsigned))                                         \
  X(free_host, cuMemFreeHost, (void*))                                                                   \
  X(copy_to_device, cuMemcpyHtoDAsync_v2, (DevicePointer, const void*, std::size_t, Stream))             \
  X(copy_to_host, cuMemcpyDtoHAsync_v2, (void*, DevicePointer, std::size_t, Stream))                     \
  X(copy_within, cuMemcpyDtoDAsync_v2, (DevicePointer, DevicePointer, std::size_t, Stream))              \
  X(copy_peer, cuMemcpyPeerAsync, (DevicePointer, Context, DevicePointer, Context, std::size_t, Stream)) \
  X(create_stream, cuStreamCreate, (Stream*, unsigned))                                                  \
  X(wait_for_event, cuStreamWaitEvent, (Stream, Event, unsigned))                                        \
  X(query_stream, cuStreamQuery, (Stream))                                                               \
  X(synchronize_stream, cuStreamSynchronize, (Stream))                                                   \
  X(create_event, cuEventCreate, (Event*, unsigned))                                                     \
  X(record_event, cuEventRecord, (Event, Stream))                                                        \
  X(query_event, cuEventQuery, (Event))                                                                  \
  X(synchronize_event, cuEventSynchronize, (Event))                                                      \
  X(destroy_event, cuEventDestroy_v2, (Event))                                                           \
  X(load_module, cuModuleLoadDataEx, (Module*, const void*, unsigned, int*, void**))                     \
  X(unload_module, cuModuleUnload, (Module))                                                             \
  X(find_kernel, cuModuleGetFunction, (KernelHandle*, Module, const char*))                              \
  X(kernel_attribute, cuFuncGetAttribute, (int*, int, KernelHandle))                                     \
  X(launch, cuLaunchKernel,                                                                              \
    (KernelHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**))

// Of newer drivers; may be missing.
#define SLUICE_CUDA_OPTIONAL_FUNCTIONS(X) \
  X(kernel_parameter, cuFuncGetParamInfo, (KernelHandle, std::size_t, std::size_t*, std::size_t*))

/// The driver's functions.
struct Api {
#define SLUICE_CUDA_FUNCTION(ours, theirs, parameters) DriverFunction<int parameters> ours{#theirs};
  SLUICE_CUDA_FUNCTIONS(SLUICE_CUDA_FUNCTION)
  SLUICE_CUDA_OPTIONAL_FUNCTIONS(SLUICE_CUDA_FUNCTION)
#undef SLUICE_CUDA_FUNCTION
};

// X(our name, CUDA's name, value).
#define SLUICE_CUDA_CONSTANTS(X)                                                  \
  X(kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)            \
  X(kMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8) \
  X(kIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED, 18)                              \
  X(kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)    \
  X(kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)    \
  X(kKernelMaxThreads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                \
  X(kStreamNonBlocking, CU_STREAM_NON_BLOCKING, 1)                                \
  X(kHostPortable, CU_MEMHOSTALLOC_PORTABLE, 1)                                   \
  X(kEventWithoutTime, CU_EVENT_DISABLE_TIMING, 2)                                \
  X(kErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER, 5)                                  \
  X(kErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)

// X(our name, CUDA's name, value): the results that are told apart.
#define SLUICE_CUDA_RESULTS(X)                                       \
  X(kSuccess, CUDA_SUCCESS, 0)                                       \
  X(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY, 2)                       \
  X(kDeinitialized, CUDA_ERROR_DEINITIALIZED, 4)                     \
  X(kStubLibrary, CUDA_ERROR_STUB_LIBRARY, 34)                       \
  X(kNoDevice, CUDA_ERROR_NO_DEVICE, 100)                            \
  X(kInvalidImage, CUDA_ERROR_INVALID_IMAGE, 200)                    \
  X(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU, 209)              \
  X(kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE, 214)            \
  X(kInvalidPtx, CUDA_ERROR_INVALID_PTX, 218)                        \
  X(kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE, 220)      \
  X(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222) \
  X(kNotFound, CUDA_ERROR_NOT_FOUND, 500)                            \
  X(kNotReady, CUDA_ERROR_NOT_READY, 600)                            \
  X(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                \
  X(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT, 702)                  \
  X(kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)       \
  X(kAssert, CUDA_ERROR_ASSERT, 710)                                 \
  X(kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR, 714)       \
  X(kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)        \
  X(kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS, 716)          \
  X(kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)     \
  X(kInvalidPc, CUDA_ERROR_INVALID_PC, 718)                          \
  X(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED, 719)                    \
  X(kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)   \
  X(kUnknown, CUDA_ERROR_UNKNOWN, 999)

#define SLUICE_CUDA_CONSTANT(ours, theirs, value) inline constexpr int ours = value;
SLUICE_CUDA_CONSTANTS(SLUICE_CUDA_CONSTANT)
SLUICE_CUDA_RESULTS(SLUICE_CUDA_CONSTANT)
#undef SLUICE_CUDA_CONSTANT

// ---- NVRTC.

using NvrtcProgram = _nvrtcProgram*;

// X(our name, NVRTC's name, parameters). All return an nvrtcResult.
#define SLUICE_NVRTC_FUNCTIONS(X)                                                           \
  X(version, nvrtcVersion, (int*, int*))                                                    \
  X(architecture_count, nvrtcGetNumSupportedArchs, (int*))                                  \
  X(architectures, nvrtcGetSupportedArchs, (int*))                                          \
  X(create, nvrtcCreateProgram,                                                             \
    (NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*)) \
  X(destroy, nvrtcDestroyProgram, (NvrtcProgram*))                                          \
  X(compile, nvrtcCompileProgram, (NvrtcProgram, int, const char* const*))                  \
  X(log_size, nvrtcGetProgramLogSize, (NvrtcProgram, std::size_t*))                         \
  X(log, nvrtcGetProgramLog, (NvrtcProgram, char*))                                         \
  X(ptx_size, nvrtcGetPTXSize, (NvrtcProgram, std::size_t*))                                \
  X(ptx, nvrtcGetPTX, (NvrtcProgram, char*))                                                \
  X(cubin_size, nvrtcGetCUBINSize, (NvrtcProgram, std::size_t*))                            \
  X(cubin, nvrtcGetCUBIN, (NvrtcProgram, char*))

struct NvrtcApi {
  using Program = NvrtcProgram;
#define SLUICE_NVRTC_FUNCTION(ours, theirs, parameters) DriverFunction<int parameters> ours{#theirs};
  SLUICE_NVRTC_FUNCTIONS(SLUICE_NVRTC_FUNCTION)
#undef SLUICE_NVRTC_FUNCTION
  const char* (*error_text)(int) = nullptr;  // nvrtcGetErrorString
};

// ---- cuBLAS.

using CublasHandle = cublasContext*;

// X(name, result, parameters).
#define SLUICE_CUBLAS_FUNCTIONS(X)                                                                                \
  X(cublasCreate_v2, int, (CublasHandle*))                                                                        \
  X(cublasDestroy_v2, int, (CublasHandle))                                                                        \
  X(cublasSetStream_v2, int, (CublasHandle, Stream))                                                              \
  X(cublasGemmStridedBatchedEx, int,                                                                              \
    (CublasHandle, int, int, int, int, int, const void*, const void*, int, int, long long, const void*, int, int, \
     long long, const void*, void*, int, int, long long, int, int, int))

struct CublasApi {
#define SLUICE_CUBLAS_FUNCTION(name, result, parameters) result(*name) parameters;
  SLUICE_CUBLAS_FUNCTIONS(SLUICE_CUBLAS_FUNCTION)
#undef SLUICE_CUBLAS_FUNCTION
};

// X(our name, cuBLAS's name, value).
#define SLUICE_CUBLAS_CONSTANTS(X)                        \
  X(kCublasNotSupported, CUBLAS_STATUS_NOT_SUPPORTED, 15) \
  X(kCublasAllocFailed, CUBLAS_STATUS_ALLOC_FAILED, 3)    \
  X(kCublasArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH, 8)  \
  X(kCublasNotTransposed, CUBLAS_OP_N, 0)                 \
  X(kCublasTransposed, CUBLAS_OP_T, 1)                    \
  X(kCudaF32, CUDA_R_32F, 0)                              \
  X(kCudaF64, CUDA_R_64F, 1)                              \
  X(kCudaF16, CUDA_R_16F, 2)                              \
  X(kCudaBf16, CUDA_R_16BF, 14)                           \
  X(kCublasCompute32F, CUBLAS_COMPUTE_32F, 68)            \
  X(kCublasComputeTf32, CUBLAS_COMPUTE_32F_FAST_TF32, 77) \
  X(kCublasCompute64F, CUBLAS_COMPUTE_64F, 70)            \
  X(kCublasDefaultAlgorithm, CUBLAS_GEMM_DEFAULT, -1)

#define SLUICE_CUDA_CONSTANT(ours, theirs, value) inline constexpr int ours = value;
SLUICE_CUBLAS_CONSTANTS(SLUICE_CUDA_CONSTANT)
#undef SLUICE_CUDA_CONSTANT

}  // namespace sluice::streams
