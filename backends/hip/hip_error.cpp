// HIP's results: what the run-time calls them, and what they mean for the host.
#include <string>

#include "backends/streams/vendor.hpp"

namespace sluice::streams {

std::string describe_code(int code) {
  const char *const name = api().error_name(code), *const text = api().error_text(code);
  std::string result = name != nullptr ? name : "an unknown error";
  result += " (" + std::to_string(code) + ")";
  return text != nullptr && result.find(text) == std::string::npos ? result + ", " + text : result;
}

// The errors of the last group are of work that was queued, and the device does not come back from them. Many of them
// end the process in ROCm's own code before they get here.
sluice_status status_of(int code) noexcept {
  switch (code) {
    case kSuccess: return SLUICE_OK;
    case kOutOfMemory: return SLUICE_OUT_OF_MEMORY;
    case kDeinitialized:
    case kEccUncorrectable:
    case kIllegalAddress:
    case kLaunchTimeout:
    case kContextIsDestroyed:
    case kAssert:
    case kLaunchFailed:
    case kUnknown:
    case kRuntimeOther: return SLUICE_DEVICE_LOST;
    default: return SLUICE_ERROR;
  }
}

void check(int code, const char* function) {
  if (code != kSuccess) throw plugin::Failure(status_of(code), std::string(function) + ": " + describe_code(code));
}

}  // namespace sluice::streams
