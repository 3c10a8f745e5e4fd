// What the backend uses of HIP's run-time, of hipRTC, of the compiler library behind it and of rocBLAS, declared by
// hand: the library is built without ROCm's headers and opens all of them at run time. Types are those of
// <hip/hip_runtime_api.h>, <hip/hiprtc.h> and <rocblas/rocblas.h>, with int for their enums and numbers for addresses
// of the device, which are passed like the pointers that HIP declares; tests/hip_prototypes_test.cpp holds each line to
// them. The functions have names of our own as well, under which backends/streams/ knows them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/streams/driver_function.hpp"

struct ihipStream_t;
struct ihipEvent_t;
struct ihipModule_t;
struct ihipModuleSymbol_t;
// NOLINTBEGIN(bugprone-reserved-identifier): the names that ROCm gives them.
struct _hiprtcProgram;
struct _rocblas_handle;
// NOLINTEND(bugprone-reserved-identifier)

namespace sluice::streams {

using DeviceNumber = int;
using DevicePointer = std::uintptr_t;
using Context = DeviceNumber;  // HIP has one context for each device, and names it by the device's number
using Stream = ihipStream_t*;
using Event = ihipEvent_t*;
using Module = ihipModule_t*;
using KernelHandle = ihipModuleSymbol_t*;

/// What Current puts back.
struct ThreadState {
  DeviceNumber device = 0;
  bool differs = false;
  bool has_error = false;
};

// X(our name, HIP's name, parameters). All return a hipError_t.
#define SLUICE_HIP_FUNCTIONS(X)                                                                           \
  X(runtime_version, hipRuntimeGetVersion, (int*))                                                        \
  X(last_error, hipGetLastError, ())                                                                      \
  X(peek_error, hipPeekAtLastError, ())                                                                   \
  X(device_count, hipGetDeviceCount, (int*))                                                              \
  X(device_name, hipDeviceGetName, (char*, int, DeviceNumber))                                            \
  X(device_memory, hipDeviceTotalMem, (std::size_t*, DeviceNumber))                                       \
  X(device_attribute, hipDeviceGetAttribute, (int*, int, DeviceNumber))                                   \
  X(device_card, hipDeviceGetPCIBusId, (char*, int, DeviceNumber))                                        \
  X(current_device, hipGetDevice, (DeviceNumber*))                                                        \
  X(set_device, hipSetDevice, (DeviceNumber))                                                             \
  X(memory_info, hipMemGetInfo, (std::size_t*, std::size_t*))                                             \
  X(alloc, hipMalloc, (DevicePointer*, std::size_t))                                                      \
  X(free, hipFree, (DevicePointer))                                                                       \
  X(address_range, hipMemGetAddressRange, (DevicePointer*, std::size_t*, DevicePointer))                  \
  X(alloc_host, hipHostMalloc, (void**, std::size_t, unsigned))                                           \
  X(free_host, hipHostFree, (void*))                                                                      \
  X(copy_to_device, hipMemcpyHtoDAsync, (DevicePointer, const void*, std::size_t, Stream))                \
  X(copy_to_host, hipMemcpyDtoHAsync, (void*, DevicePointer, std::size_t, Stream))                        \
  X(copy_within, hipMemcpyDtoDAsync, (DevicePointer, DevicePointer, std::size_t, Stream))                 \
  X(copy_peer, hipMemcpyPeerAsync, (DevicePointer, Context, DevicePointer, Context, std::size_t, Stream)) \
  X(create_stream, hipStreamCreateWithFlags, (Stream*, unsigned))                                         \
  X(wait_for_event, hipStreamWaitEvent, (Stream, Event, unsigned))                                        \
  X(query_stream, hipStreamQuery, (Stream))                                                               \
  X(synchronize_stream, hipStreamSynchronize, (Stream))                                                   \
  X(create_event, hipEventCreateWithFlags, (Event*, unsigned))                                            \
  X(record_event, hipEventRecord, (Event, Stream))                                                        \
  X(query_event, hipEventQuery, (Event))                                                                  \
  X(synchronize_event, hipEventSynchronize, (Event))                                                      \
  X(destroy_event, hipEventDestroy, (Event))                                                              \
  X(load_module, hipModuleLoadData, (Module*, const void*))                                               \
  X(unload_module, hipModuleUnload, (Module))                                                             \
  X(find_kernel, hipModuleGetFunction, (KernelHandle*, Module, const char*))                              \
  X(kernel_attribute, hipFuncGetAttribute, (int*, int, KernelHandle))                                     \
  X(launch, hipModuleLaunchKernel,                                                                        \
    (KernelHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**))

// X(our name, HIP's name): const char* of a hipError_t.
#define SLUICE_HIP_TEXTS(X)      \
  X(error_name, hipGetErrorName) \
  X(error_text, hipGetErrorString)

// The properties of a device, a struct of which only the name of the architecture is used. Its layout changed with
// ROCm 6, and the function's name with it: X(our name, HIP's name, where the architecture stands in the struct). The
// first that names an architecture is taken.
#define SLUICE_HIP_PROPERTIES(X)                         \
  X(properties_r0600, hipGetDevicePropertiesR0600, 1160) \
  X(properties_r0000, hipGetDeviceProperties, 396)

/// Room for either struct, and for one that has grown.
inline constexpr std::size_t kPropertiesBytes = 4096;
inline constexpr std::size_t kArchitectureBytes = 256;

/// The run-time's functions.
struct Api {
#define SLUICE_HIP_FUNCTION(ours, theirs, parameters) DriverFunction<int parameters> ours{#theirs};
  SLUICE_HIP_FUNCTIONS(SLUICE_HIP_FUNCTION)
#undef SLUICE_HIP_FUNCTION
#define SLUICE_HIP_FUNCTION(ours, theirs) const char* (*ours)(int) = nullptr;
  SLUICE_HIP_TEXTS(SLUICE_HIP_FUNCTION)
#undef SLUICE_HIP_FUNCTION
#define SLUICE_HIP_FUNCTION(ours, theirs, place) DriverFunction<int(void*, int)> ours{#theirs};
  SLUICE_HIP_PROPERTIES(SLUICE_HIP_FUNCTION)
#undef SLUICE_HIP_FUNCTION
};

// X(our name, HIP's name, value).
#define SLUICE_HIP_CONSTANTS(X)                                              \
  X(kIntegrated, hipDeviceAttributeIntegrated, 16)                           \
  X(kMaxThreadsPerBlock, hipDeviceAttributeMaxThreadsPerBlock, 56)           \
  X(kMaxSharedMemoryPerBlock, hipDeviceAttributeMaxSharedMemoryPerBlock, 74) \
  X(kKernelMaxThreads, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)          \
  X(kStreamNonBlocking, hipStreamNonBlocking, 1)                             \
  X(kHostPortable, hipHostMallocPortable, 1)                                 \
  X(kEventWithoutTime, hipEventDisableTiming, 2)

// X(our name, HIP's name, value): the results that are told apart.
#define SLUICE_HIP_RESULTS(X)                                   \
  X(kSuccess, hipSuccess, 0)                                    \
  X(kOutOfMemory, hipErrorOutOfMemory, 2)                       \
  X(kNotInitialized, hipErrorNotInitialized, 3)                 \
  X(kDeinitialized, hipErrorDeinitialized, 4)                   \
  X(kInsufficientDriver, hipErrorInsufficientDriver, 35)        \
  X(kNoDevice, hipErrorNoDevice, 100)                           \
  X(kInvalidDevice, hipErrorInvalidDevice, 101)                 \
  X(kInvalidImage, hipErrorInvalidImage, 200)                   \
  X(kNoBinaryForGpu, hipErrorNoBinaryForGpu, 209)               \
  X(kEccUncorrectable, hipErrorECCNotCorrectable, 214)          \
  X(kPeerAccessUnsupported, hipErrorPeerAccessUnsupported, 217) \
  X(kNotFound, hipErrorNotFound, 500)                           \
  X(kNotReady, hipErrorNotReady, 600)                           \
  X(kIllegalAddress, hipErrorIllegalAddress, 700)               \
  X(kLaunchTimeout, hipErrorLaunchTimeOut, 702)                 \
  X(kContextIsDestroyed, hipErrorContextIsDestroyed, 709)       \
  X(kAssert, hipErrorAssert, 710)                               \
  X(kLaunchFailed, hipErrorLaunchFailure, 719)                  \
  X(kUnknown, hipErrorUnknown, 999)                             \
  X(kRuntimeOther, hipErrorRuntimeOther, 1053)

#define SLUICE_HIP_CONSTANT(ours, theirs, value) inline constexpr int ours = value;
SLUICE_HIP_CONSTANTS(SLUICE_HIP_CONSTANT)
SLUICE_HIP_RESULTS(SLUICE_HIP_CONSTANT)
#undef SLUICE_HIP_CONSTANT

// ---- hipRTC.

using HiprtcProgram = _hiprtcProgram*;

// X(our name, hipRTC's name, parameters). All return a hiprtcResult.
#define SLUICE_HIPRTC_FUNCTIONS(X)                                                                            \
  X(create, hiprtcCreateProgram, (HiprtcProgram*, const char*, const char*, int, const char**, const char**)) \
  X(destroy, hiprtcDestroyProgram, (HiprtcProgram*))                                                          \
  X(compile, hiprtcCompileProgram, (HiprtcProgram, int, const char**))                                        \
  X(log_size, hiprtcGetProgramLogSize, (HiprtcProgram, std::size_t*))                                         \
  X(log, hiprtcGetProgramLog, (HiprtcProgram, char*))                                                         \
  X(code_size, hiprtcGetCodeSize, (HiprtcProgram, std::size_t*))                                              \
  X(code, hiprtcGetCode, (HiprtcProgram, char*))

struct HiprtcApi {
  using Program = HiprtcProgram;
#define SLUICE_HIPRTC_FUNCTION(ours, theirs, parameters) DriverFunction<int parameters> ours{#theirs};
  SLUICE_HIPRTC_FUNCTIONS(SLUICE_HIPRTC_FUNCTION)
#undef SLUICE_HIPRTC_FUNCTION
  const char* (*error_text)(int) = nullptr;  // hiprtcGetErrorString
};

// The compiler library behind hipRTC, asked only what it can compile for. X(our name, its name, parameters).
#define SLUICE_COMGR_FUNCTIONS(X)                       \
  X(isa_count, amd_comgr_get_isa_count, (std::size_t*)) \
  X(isa_name, amd_comgr_get_isa_name, (std::size_t, const char**))

// ---- rocBLAS.

using RocblasHandle = _rocblas_handle*;

// X(name, parameters). All return a rocblas_status.
#define SLUICE_ROCBLAS_FUNCTIONS(X)                                                                                   \
  X(rocblas_create_handle, (RocblasHandle*))                                                                          \
  X(rocblas_destroy_handle, (RocblasHandle))                                                                          \
  X(rocblas_set_stream, (RocblasHandle, Stream))                                                                      \
  X(rocblas_set_atomics_mode, (RocblasHandle, int))                                                                   \
  X(rocblas_gemm_strided_batched_ex,                                                                                  \
    (RocblasHandle, int, int, int, int, int, const void*, const void*, int, int, std::int64_t, const void*, int, int, \
     std::int64_t, const void*, const void*, int, int, std::int64_t, void*, int, int, std::int64_t, int, int, int,    \
     std::int32_t, std::uint32_t))

struct RocblasApi {
#define SLUICE_ROCBLAS_FUNCTION(name, parameters) int(*name) parameters = nullptr;
  SLUICE_ROCBLAS_FUNCTIONS(SLUICE_ROCBLAS_FUNCTION)
#undef SLUICE_ROCBLAS_FUNCTION
};

// X(our name, rocBLAS's name, value).
#define SLUICE_ROCBLAS_CONSTANTS(X)                            \
  X(kRocblasNotImplemented, rocblas_status_not_implemented, 2) \
  X(kRocblasMemoryError, rocblas_status_memory_error, 5)       \
  X(kRocblasPerfDegraded, rocblas_status_perf_degraded, 7)     \
  X(kRocblasExcluded, rocblas_status_excluded_from_build, 14)  \
  X(kRocblasArchMismatch, rocblas_status_arch_mismatch, 15)    \
  X(kRocblasNotTransposed, rocblas_operation_none, 111)        \
  X(kRocblasTransposed, rocblas_operation_transpose, 112)      \
  X(kRocblasF16, rocblas_datatype_f16_r, 150)                  \
  X(kRocblasF32, rocblas_datatype_f32_r, 151)                  \
  X(kRocblasF64, rocblas_datatype_f64_r, 152)                  \
  X(kRocblasBf16, rocblas_datatype_bf16_r, 168)                \
  X(kRocblasNoAtomics, rocblas_atomics_not_allowed, 0)         \
  X(kRocblasStandard, rocblas_gemm_algo_standard, 0)

#define SLUICE_HIP_CONSTANT(ours, theirs, value) inline constexpr int ours = value;
SLUICE_ROCBLAS_CONSTANTS(SLUICE_HIP_CONSTANT)
#undef SLUICE_HIP_CONSTANT

}  // namespace sluice::streams
