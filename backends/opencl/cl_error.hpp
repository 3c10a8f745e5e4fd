// OpenCL's error codes: their names, and what they mean for the host.
#pragma once

#include "backends/common/failure.hpp"
#include "backends/opencl/cl_api.hpp"

// X(name, code).
#define SLUICE_CL_ERRORS(X)                            \
  X(CL_DEVICE_NOT_FOUND, -1)                           \
  X(CL_DEVICE_NOT_AVAILABLE, -2)                       \
  X(CL_COMPILER_NOT_AVAILABLE, -3)                     \
  X(CL_MEM_OBJECT_ALLOCATION_FAILURE, -4)              \
  X(CL_OUT_OF_RESOURCES, -5)                           \
  X(CL_OUT_OF_HOST_MEMORY, -6)                         \
  X(CL_PROFILING_INFO_NOT_AVAILABLE, -7)               \
  X(CL_MEM_COPY_OVERLAP, -8)                           \
  X(CL_BUILD_PROGRAM_FAILURE, -11)                     \
  X(CL_MAP_FAILURE, -12)                               \
  X(CL_MISALIGNED_SUB_BUFFER_OFFSET, -13)              \
  X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14) \
  X(CL_COMPILE_PROGRAM_FAILURE, -15)                   \
  X(CL_LINKER_NOT_AVAILABLE, -16)                      \
  X(CL_LINK_PROGRAM_FAILURE, -17)                      \
  X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE, -19)             \
  X(CL_INVALID_VALUE, -30)                             \
  X(CL_INVALID_DEVICE_TYPE, -31)                       \
  X(CL_INVALID_PLATFORM, -32)                          \
  X(CL_INVALID_DEVICE, -33)                            \
  X(CL_INVALID_CONTEXT, -34)                           \
  X(CL_INVALID_QUEUE_PROPERTIES, -35)                  \
  X(CL_INVALID_COMMAND_QUEUE, -36)                     \
  X(CL_INVALID_HOST_PTR, -37)                          \
  X(CL_INVALID_MEM_OBJECT, -38)                        \
  X(CL_INVALID_BINARY, -42)                            \
  X(CL_INVALID_BUILD_OPTIONS, -43)                     \
  X(CL_INVALID_PROGRAM, -44)                           \
  X(CL_INVALID_PROGRAM_EXECUTABLE, -45)                \
  X(CL_INVALID_KERNEL_NAME, -46)                       \
  X(CL_INVALID_KERNEL_DEFINITION, -47)                 \
  X(CL_INVALID_KERNEL, -48)                            \
  X(CL_INVALID_ARG_INDEX, -49)                         \
  X(CL_INVALID_ARG_VALUE, -50)                         \
  X(CL_INVALID_ARG_SIZE, -51)                          \
  X(CL_INVALID_KERNEL_ARGS, -52)                       \
  X(CL_INVALID_WORK_DIMENSION, -53)                    \
  X(CL_INVALID_WORK_GROUP_SIZE, -54)                   \
  X(CL_INVALID_WORK_ITEM_SIZE, -55)                    \
  X(CL_INVALID_GLOBAL_OFFSET, -56)                     \
  X(CL_INVALID_EVENT_WAIT_LIST, -57)                   \
  X(CL_INVALID_EVENT, -58)                             \
  X(CL_INVALID_OPERATION, -59)                         \
  X(CL_INVALID_BUFFER_SIZE, -61)                       \
  X(CL_INVALID_GLOBAL_WORK_SIZE, -63)

namespace sluice::opencl {

inline constexpr cl_int kSuccess = 0;
inline constexpr cl_int kExecStatusErrorForEventsInWaitList = -14;
inline constexpr cl_int kBuildProgramFailure = -11;
inline constexpr cl_int kInvalidBuildOptions = -43;
inline constexpr cl_int kInvalidKernelName = -46;
inline constexpr cl_int kPlatformNotFound = -1001;  // the loader's own, not in cl.h

/// "CL_OUT_OF_RESOURCES (-5)".
std::string name_of(cl_int code);
/// What a code means for the host; of a build, use SLUICE_BAD_SOURCE where the text is at fault.
sluice_status status_of(cl_int code) noexcept;

/// Throws Failure "clFinish: CL_OUT_OF_RESOURCES (-5)" unless `code` is success.
void check(cl_int code, const char* function);

}  // namespace sluice::opencl
