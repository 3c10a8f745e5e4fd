// CUDA's driver: opened, started, and its devices. The library comes with the kernel module, so a machine without an
// NVIDIA GPU has none.
#include <string>

#include "backends/common/driver_library.hpp"
#include "backends/streams/vendor.hpp"

namespace sluice::streams {
namespace {

using plugin::DriverLibrary;
using plugin::Failure;

// The first whose NVRTC can list architectures and make cubins.
constexpr int kLeastVersion = 11020;

const DriverLibrary& library() {
  static const auto* const instance = new DriverLibrary({"libcuda.so.1"});
  return *instance;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Api load_api() {
  if (!library().is_open()) throw Failure(SLUICE_UNSUPPORTED, "no CUDA driver: " + library().reason());
  Api result{};
  FunctionFinder finder(library());
#define SLUICE_CUDA_FIND(ours, theirs, parameters) finder.find(result.ours);
  SLUICE_CUDA_FUNCTIONS(SLUICE_CUDA_FIND)
#undef SLUICE_CUDA_FIND
  if (!finder.missing().empty()) {
    throw Failure(SLUICE_ERROR, library().file_of("cuInit") + " is too old: it lacks " + finder.missing() +
                                    "; install a newer NVIDIA driver");
  }
#define SLUICE_CUDA_FIND(ours, theirs, parameters) finder.find_optional(result.ours.raw, #theirs);
  SLUICE_CUDA_OPTIONAL_FUNCTIONS(SLUICE_CUDA_FIND)
#undef SLUICE_CUDA_FIND
  return result;
}

/// What to do about a driver that does not start.
std::string advice_for(int code) {
  switch (code) {
    case kStubLibrary:
      return "; " + library().file_of("cuInit") +
             " is the toolkit's stub for linking, not a driver: take its folder out of $LD_LIBRARY_PATH, or install "
             "the "
             "NVIDIA driver";
    case kSystemDriverMismatch: return "; the kernel module is of another version than the driver: restart the machine";
    case kUnknown: return "; the kernel module may not be loaded: `nvidia-smi` says more";
    default: return "";
  }
}

void check_version() {
  int version = 0;
  api().driver_version(&version);
  if (version >= kLeastVersion) return;
  throw Failure(SLUICE_ERROR, "the NVIDIA driver is too old: it is of CUDA " + version_text(version) + ", at least " +
                                  version_text(kLeastVersion) + " is needed; install a newer driver");
}

Driver start() {
  Driver driver;
  const int code = api().init.raw(0);
  if (code == kNoDevice) {
    driver.left_out = "the NVIDIA driver sees no GPU; $CUDA_VISIBLE_DEVICES may hide it";
    return driver;
  }
  if (code != kSuccess) throw Failure(SLUICE_ERROR, "cuInit: " + describe_code(code) + advice_for(code));
  check_version();
  int count = 0;
  api().device_count(&count);
  for (int k = 0; k < count; ++k) {
    DeviceNumber device = 0;
    api().device(&device, k);
    driver.devices.push_back(device);
  }
  if (count == 0) driver.left_out = "the NVIDIA driver sees no GPU";
  return driver;
}

}  // namespace

const char kBackendName[] = "CUDA";

// Both stay for ever: what the driver started outlives every destructor.
const Api& api() {
  static const Api* const instance = new Api(load_api());
  return *instance;
}

const Driver& driver() {
  static const Driver* const instance = new Driver(start());
  return *instance;
}

std::optional<std::vector<std::size_t>> parameters_of(KernelHandle kernel) {
  if (api().kernel_parameter.raw == nullptr) return std::nullopt;
  std::vector<std::size_t> sizes;
  std::size_t offset = 0, bytes = 0;
  while (api().kernel_parameter.raw(kernel, sizes.size(), &offset, &bytes) == kSuccess) sizes.push_back(bytes);
  return sizes;
}

// The primary context, which the vendor's own libraries and the user's code share.
Context context_of(DeviceNumber device) {
  Context context = nullptr;
  api().retain_context(&context, device);
  return context;
}

// ---- The current context. Another library of the process, cuBLAS or the user's, may have chosen one.

Current::Current(Context context) {
  api().current_context(&before_.context);
  before_.differs = before_.context != context;
  if (before_.differs) api().set_context(context);
}

// A refusal would leave the thread's owner with another device than theirs, so it is tried again.
Current::~Current() {
  if (before_.differs && api().set_context.raw(before_.context) != kSuccess) api().set_context.raw(before_.context);
}

}  // namespace sluice::streams
