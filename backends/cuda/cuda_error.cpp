// CUDA's results: what the driver calls them, and what they mean for the host.
#include <string>

#include "backends/streams/vendor.hpp"

namespace sluice::streams {

std::string describe_code(int code) {
  const char *name = nullptr, *text = nullptr;
  api().error_name.raw(code, &name);
  api().error_text.raw(code, &text);
  std::string result = name != nullptr ? name : "an unknown error";
  result += " (" + std::to_string(code) + ")";
  return text != nullptr ? result + ", " + text : result;
}

// After the errors of the last group the context answers every call with the same error, until the process ends.
sluice_status status_of(int code) noexcept {
  switch (code) {
    case kSuccess: return SLUICE_OK;
    case kOutOfMemory: return SLUICE_OUT_OF_MEMORY;
    case kDeinitialized:
    case kEccUncorrectable:
    case kNvlinkUncorrectable:
    case kIllegalAddress:
    case kLaunchTimeout:
    case kContextIsDestroyed:
    case kAssert:
    case kHardwareStackError:
    case kIllegalInstruction:
    case kMisalignedAddress:
    case kInvalidAddressSpace:
    case kInvalidPc:
    case kLaunchFailed:
    case kUnknown: return SLUICE_DEVICE_LOST;
    default: return SLUICE_ERROR;
  }
}

void check(int code, const char* function) {
  if (code != kSuccess) throw plugin::Failure(status_of(code), std::string(function) + ": " + describe_code(code));
}

}  // namespace sluice::streams
