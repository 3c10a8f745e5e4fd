#include "backends/opencl/cl_error.hpp"

#include <string>

namespace sluice::opencl {

std::string name_of(cl_int code) {
  const char* name = "an unknown error";
  switch (code) {
#define SLUICE_CL_ERROR(theirs, value) \
  case value: name = #theirs; break;
    SLUICE_CL_ERRORS(SLUICE_CL_ERROR)
#undef SLUICE_CL_ERROR
    case kPlatformNotFound: name = "CL_PLATFORM_NOT_FOUND_KHR"; break;
    default: break;
  }
  return std::string(name) + " (" + std::to_string(code) + ")";
}

sluice_status status_of(cl_int code) noexcept {
  switch (code) {
    case -2: return SLUICE_DEVICE_LOST;
    case -4:
    case -5:
    case -6: return SLUICE_OUT_OF_MEMORY;
    default: return SLUICE_ERROR;
  }
}

void check(cl_int code, const char* function) {
  if (code != kSuccess) throw plugin::Failure(status_of(code), std::string(function) + ": " + name_of(code));
}

}  // namespace sluice::opencl
