// What the backend uses of OpenCL 1.2, declared by hand: the library is built without OpenCL's headers and opens
// OpenCL's loader at run time. Types are those of <CL/cl.h>, so tests/opencl_prototypes_test.cpp can hold each line to
// it.
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN(bugprone-reserved-identifier): the names that OpenCL gives its objects.
struct _cl_platform_id;
struct _cl_device_id;
struct _cl_context;
struct _cl_command_queue;
struct _cl_mem;
struct _cl_program;
struct _cl_kernel;
struct _cl_event;

namespace sluice::opencl {

using cl_int = std::int32_t;
using cl_uint = std::uint32_t;
using cl_ulong = std::uint64_t;
using cl_platform_id = _cl_platform_id*;
using cl_device_id = _cl_device_id*;
using cl_context = _cl_context*;
using cl_command_queue = _cl_command_queue*;
using cl_mem = _cl_mem*;
using cl_program = _cl_program*;
using cl_kernel = _cl_kernel*;
using cl_event = _cl_event*;
// NOLINTEND(bugprone-reserved-identifier)

// X(our name, type, OpenCL's name, value).
#define SLUICE_CL_CONSTANTS(X)                                                           \
  X(kDriverVersion, cl_uint, CL_DRIVER_VERSION, 0x102D)                                  \
  X(kPlatformName, cl_uint, CL_PLATFORM_NAME, 0x0902)                                    \
  X(kDeviceTypeCpu, cl_ulong, CL_DEVICE_TYPE_CPU, 1 << 1)                                \
  X(kDeviceTypeGpu, cl_ulong, CL_DEVICE_TYPE_GPU, 1 << 2)                                \
  X(kDeviceTypeAccelerator, cl_ulong, CL_DEVICE_TYPE_ACCELERATOR, 1 << 3)                \
  X(kDeviceTypeAll, cl_ulong, CL_DEVICE_TYPE_ALL, 0xFFFFFFFF)                            \
  X(kDeviceType, cl_uint, CL_DEVICE_TYPE, 0x1000)                                        \
  X(kDeviceMaxWorkGroupSize, cl_uint, CL_DEVICE_MAX_WORK_GROUP_SIZE, 0x1004)             \
  X(kDeviceMaxWorkItemSizes, cl_uint, CL_DEVICE_MAX_WORK_ITEM_SIZES, 0x1005)             \
  X(kDeviceMaxMemAllocSize, cl_uint, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0x1010)               \
  X(kDeviceMaxParameterSize, cl_uint, CL_DEVICE_MAX_PARAMETER_SIZE, 0x1017)              \
  X(kDeviceGlobalMemSize, cl_uint, CL_DEVICE_GLOBAL_MEM_SIZE, 0x101F)                    \
  X(kDeviceLocalMemSize, cl_uint, CL_DEVICE_LOCAL_MEM_SIZE, 0x1023)                      \
  X(kDeviceEndianLittle, cl_uint, CL_DEVICE_ENDIAN_LITTLE, 0x1026)                       \
  X(kDeviceAvailable, cl_uint, CL_DEVICE_AVAILABLE, 0x1027)                              \
  X(kDeviceCompilerAvailable, cl_uint, CL_DEVICE_COMPILER_AVAILABLE, 0x1028)             \
  X(kDeviceName, cl_uint, CL_DEVICE_NAME, 0x102B)                                        \
  X(kDeviceVersion, cl_uint, CL_DEVICE_VERSION, 0x102F)                                  \
  X(kDeviceExtensions, cl_uint, CL_DEVICE_EXTENSIONS, 0x1030)                            \
  X(kDeviceHostUnifiedMemory, cl_uint, CL_DEVICE_HOST_UNIFIED_MEMORY, 0x1035)            \
  X(kContextPlatform, std::intptr_t, CL_CONTEXT_PLATFORM, 0x1084)                        \
  X(kMemReadWrite, cl_ulong, CL_MEM_READ_WRITE, 1 << 0)                                  \
  X(kMemAllocHostPtr, cl_ulong, CL_MEM_ALLOC_HOST_PTR, 1 << 4)                           \
  X(kMigrateContentUndefined, cl_ulong, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 1 << 1) \
  X(kMapRead, cl_ulong, CL_MAP_READ, 1 << 0)                                             \
  X(kMapWrite, cl_ulong, CL_MAP_WRITE, 1 << 1)                                           \
  X(kProgramBinarySizes, cl_uint, CL_PROGRAM_BINARY_SIZES, 0x1165)                       \
  X(kProgramBinaries, cl_uint, CL_PROGRAM_BINARIES, 0x1166)                              \
  X(kProgramBuildLog, cl_uint, CL_PROGRAM_BUILD_LOG, 0x1183)                             \
  X(kKernelNumArgs, cl_uint, CL_KERNEL_NUM_ARGS, 0x1191)                                 \
  X(kKernelArgAddressQualifier, cl_uint, CL_KERNEL_ARG_ADDRESS_QUALIFIER, 0x1196)        \
  X(kKernelArgTypeName, cl_uint, CL_KERNEL_ARG_TYPE_NAME, 0x1198)                        \
  X(kKernelArgAddressGlobal, cl_uint, CL_KERNEL_ARG_ADDRESS_GLOBAL, 0x119B)              \
  X(kKernelArgAddressConstant, cl_uint, CL_KERNEL_ARG_ADDRESS_CONSTANT, 0x119D)          \
  X(kKernelArgAddressPrivate, cl_uint, CL_KERNEL_ARG_ADDRESS_PRIVATE, 0x119E)            \
  X(kKernelWorkGroupSize, cl_uint, CL_KERNEL_WORK_GROUP_SIZE, 0x11B0)                    \
  X(kKernelLocalMemSize, cl_uint, CL_KERNEL_LOCAL_MEM_SIZE, 0x11B2)                      \
  X(kEventCommandExecutionStatus, cl_uint, CL_EVENT_COMMAND_EXECUTION_STATUS, 0x11D3)    \
  X(kComplete, cl_int, CL_COMPLETE, 0)

#define SLUICE_CL_CONSTANT(ours, type, theirs, value) inline constexpr type ours = value;
SLUICE_CL_CONSTANTS(SLUICE_CL_CONSTANT)
#undef SLUICE_CL_CONSTANT

// Of extensions, whose headers are not everywhere.
inline constexpr cl_uint kDevicePciBusInfo = 0x410F;  // cl_khr_pci_bus_info
inline constexpr cl_uint kDevicePciBusNv = 0x4008;    // cl_nv_device_attribute_query
inline constexpr cl_uint kDevicePciSlotNv = 0x4009;
inline constexpr cl_uint kDevicePciDomainNv = 0x400A;
inline constexpr cl_uint kDeviceTopologyAmd = 0x4037;  // cl_amd_device_attribute_query

using BuildCallback = void (*)(cl_program, void*);
using ContextCallback = void (*)(const char*, const void*, std::size_t, void*);

// X(name, result, parameters).
#define SLUICE_CL_FUNCTIONS(X)                                                                                       \
  X(clGetPlatformIDs, cl_int, (cl_uint, cl_platform_id*, cl_uint*))                                                  \
  X(clGetPlatformInfo, cl_int, (cl_platform_id, cl_uint, std::size_t, void*, std::size_t*))                          \
  X(clGetDeviceIDs, cl_int, (cl_platform_id, cl_ulong, cl_uint, cl_device_id*, cl_uint*))                            \
  X(clGetDeviceInfo, cl_int, (cl_device_id, cl_uint, std::size_t, void*, std::size_t*))                              \
  X(clCreateContext, cl_context,                                                                                     \
    (const std::intptr_t*, cl_uint, const cl_device_id*, ContextCallback, void*, cl_int*))                           \
  X(clReleaseContext, cl_int, (cl_context))                                                                          \
  X(clCreateCommandQueue, cl_command_queue, (cl_context, cl_device_id, cl_ulong, cl_int*))                           \
  X(clCreateBuffer, cl_mem, (cl_context, cl_ulong, std::size_t, void*, cl_int*))                                     \
  X(clReleaseMemObject, cl_int, (cl_mem))                                                                            \
  X(clEnqueueMigrateMemObjects, cl_int,                                                                              \
    (cl_command_queue, cl_uint, const cl_mem*, cl_ulong, cl_uint, const cl_event*, cl_event*))                       \
  X(clEnqueueWriteBuffer, cl_int,                                                                                    \
    (cl_command_queue, cl_mem, cl_uint, std::size_t, std::size_t, const void*, cl_uint, const cl_event*, cl_event*)) \
  X(clEnqueueReadBuffer, cl_int,                                                                                     \
    (cl_command_queue, cl_mem, cl_uint, std::size_t, std::size_t, void*, cl_uint, const cl_event*, cl_event*))       \
  X(clEnqueueCopyBuffer, cl_int,                                                                                     \
    (cl_command_queue, cl_mem, cl_mem, std::size_t, std::size_t, std::size_t, cl_uint, const cl_event*, cl_event*))  \
  X(clEnqueueMapBuffer, void*,                                                                                       \
    (cl_command_queue, cl_mem, cl_uint, cl_ulong, std::size_t, std::size_t, cl_uint, const cl_event*, cl_event*,     \
     cl_int*))                                                                                                       \
  X(clEnqueueUnmapMemObject, cl_int, (cl_command_queue, cl_mem, void*, cl_uint, const cl_event*, cl_event*))         \
  X(clWaitForEvents, cl_int, (cl_uint, const cl_event*))                                                             \
  X(clGetEventInfo, cl_int, (cl_event, cl_uint, std::size_t, void*, std::size_t*))                                   \
  X(clRetainEvent, cl_int, (cl_event))                                                                               \
  X(clReleaseEvent, cl_int, (cl_event))                                                                              \
  X(clFlush, cl_int, (cl_command_queue))                                                                             \
  X(clFinish, cl_int, (cl_command_queue))                                                                            \
  X(clCreateProgramWithSource, cl_program, (cl_context, cl_uint, const char**, const std::size_t*, cl_int*))         \
  X(clCreateProgramWithBinary, cl_program,                                                                           \
    (cl_context, cl_uint, const cl_device_id*, const std::size_t*, const unsigned char**, cl_int*, cl_int*))         \
  X(clReleaseProgram, cl_int, (cl_program))                                                                          \
  X(clBuildProgram, cl_int, (cl_program, cl_uint, const cl_device_id*, const char*, BuildCallback, void*))           \
  X(clGetProgramInfo, cl_int, (cl_program, cl_uint, std::size_t, void*, std::size_t*))                               \
  X(clGetProgramBuildInfo, cl_int, (cl_program, cl_device_id, cl_uint, std::size_t, void*, std::size_t*))            \
  X(clCreateKernel, cl_kernel, (cl_program, const char*, cl_int*))                                                   \
  X(clReleaseKernel, cl_int, (cl_kernel))                                                                            \
  X(clSetKernelArg, cl_int, (cl_kernel, cl_uint, std::size_t, const void*))                                          \
  X(clGetKernelInfo, cl_int, (cl_kernel, cl_uint, std::size_t, void*, std::size_t*))                                 \
  X(clGetKernelArgInfo, cl_int, (cl_kernel, cl_uint, cl_uint, std::size_t, void*, std::size_t*))                     \
  X(clGetKernelWorkGroupInfo, cl_int, (cl_kernel, cl_device_id, cl_uint, std::size_t, void*, std::size_t*))          \
  X(clEnqueueNDRangeKernel, cl_int,                                                                                  \
    (cl_command_queue, cl_kernel, cl_uint, const std::size_t*, const std::size_t*, const std::size_t*, cl_uint,      \
     const cl_event*, cl_event*))

struct Api {
#define SLUICE_CL_FUNCTION(name, result, parameters) result(*name) parameters;
  SLUICE_CL_FUNCTIONS(SLUICE_CL_FUNCTION)
#undef SLUICE_CL_FUNCTION
};

/// OpenCL's functions. Opens the loader at the first call; throws Failure if there is none.
const Api& api();

}  // namespace sluice::opencl
