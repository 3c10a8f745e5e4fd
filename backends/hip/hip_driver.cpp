// HIP's run-time: opened, started, and its devices. Debian and others have it on machines without an AMD GPU too.
#include <unistd.h>

#include <cerrno>
#include <string>

#include "backends/hip/hip_info.hpp"

namespace sluice::streams {
namespace {

using plugin::DriverLibrary;
using plugin::Failure;

// The first with every function that is used.
constexpr int kLeastVersion = 50000000;

Api load_api() {
  if (!hip_library().is_open()) throw Failure(SLUICE_UNSUPPORTED, "no HIP run-time: " + hip_library().reason());
  Api result{};
  FunctionFinder finder(hip_library());
#define SLUICE_HIP_FIND(ours, theirs, parameters) finder.find(result.ours);
  SLUICE_HIP_FUNCTIONS(SLUICE_HIP_FIND)
#undef SLUICE_HIP_FIND
#define SLUICE_HIP_FIND(ours, theirs) finder.find(result.ours, #theirs);
  SLUICE_HIP_TEXTS(SLUICE_HIP_FIND)
#undef SLUICE_HIP_FIND
  if (!finder.missing().empty()) {
    throw Failure(SLUICE_ERROR, hip_library().file_of("hipGetDeviceCount") + " is too old: it lacks " +
                                    finder.missing() + "; install ROCm 5 or newer");
  }
#define SLUICE_HIP_FIND(ours, theirs, place) finder.find_optional(result.ours.raw, #theirs);
  SLUICE_HIP_PROPERTIES(SLUICE_HIP_FIND)
#undef SLUICE_HIP_FIND
  return result;
}

/// Why HIP may see no GPU: it talks to them through this file.
std::string about_the_kernel_module() {
  if (access("/dev/kfd", R_OK | W_OK) == 0) return "$HIP_VISIBLE_DEVICES or $ROCR_VISIBLE_DEVICES may hide it";
  if (errno == ENOENT) return "there is no /dev/kfd, so the kernel module amdgpu is not loaded";
  return "this user may not open /dev/kfd: add it to the group render";
}

std::string advice_for(int code) {
  if (code == kInsufficientDriver) return "; update the kernel module amdgpu to that of this ROCm";
  return "; `rocminfo` says more";
}

Driver start() {
  Driver driver;
  int count = 0;
  const int code = api().device_count.raw(&count);
  api().last_error.raw();
  if (code == kNoDevice || code == kInvalidDevice || (code == kSuccess && count == 0)) {
    driver.left_out = "HIP sees no GPU: " + about_the_kernel_module();
    return driver;
  }
  if (code != kSuccess) {
    throw Failure(SLUICE_ERROR, std::string(api().device_count.name) + ": " + describe_code(code) + advice_for(code));
  }
  if (const int version = runtime_version(); version < kLeastVersion) {
    throw Failure(SLUICE_ERROR, "the HIP run-time is too old: it is " + version_text(version) + ", at least " +
                                    version_text(kLeastVersion) + " is needed; install ROCm 5 or newer");
  }
  for (int k = 0; k < count; ++k) driver.devices.push_back(k);
  return driver;
}

}  // namespace

const char kBackendName[] = "AMDGPU";

// All stay for ever: what the run-time started outlives every destructor.
const DriverLibrary& hip_library() {
  static const auto* const instance =
      new DriverLibrary({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"});
  return *instance;
}

const Api& api() {
  static const Api* const instance = new Api(load_api());
  return *instance;
}

const Driver& driver() {
  static const Driver* const instance = new Driver(start());
  return *instance;
}

// HIP has no such question.
std::optional<std::vector<std::size_t>> parameters_of(KernelHandle) { return std::nullopt; }

Context context_of(DeviceNumber device) { return device; }

// ---- The current device. Another library of the process, rocBLAS or the user's, may have chosen one. HIP also keeps
// the last error of a thread until somebody asks, and "not ready" is one: rocBLAS or the user would take ours for
// theirs.

Current::Current(Context device) {
  before_.has_error = api().peek_error.raw() != kSuccess;
  api().current_device(&before_.device);
  before_.differs = before_.device != device;
  if (before_.differs) api().set_device(device);
}

// A refusal would leave the thread's owner with another device than theirs, so it is tried again.
Current::~Current() {
  if (before_.differs && api().set_device.raw(before_.device) != kSuccess) api().set_device.raw(before_.device);
  if (!before_.has_error) api().last_error.raw();
}

}  // namespace sluice::streams
