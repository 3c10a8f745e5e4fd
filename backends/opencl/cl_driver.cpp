#include "backends/opencl/cl_driver.hpp"

#include <algorithm>

#include "backends/common/driver_library.hpp"
#include "backends/common/failure.hpp"
#include "backends/opencl/cl_error.hpp"
#include "backends/opencl/cl_info.hpp"

namespace sluice::opencl {
namespace {

using plugin::Failure;

Api load_api() {
  const plugin::DriverLibrary library({"libOpenCL.so.1", "libOpenCL.so"});
  if (!library.is_open()) throw Failure(SLUICE_UNSUPPORTED, "no OpenCL loader: " + library.reason());
  Api result{};
  std::string missing;
#define SLUICE_CL_FIND(name, type, parameters)                                \
  result.name = reinterpret_cast<decltype(result.name)>(library.find(#name)); \
  if (result.name == nullptr) missing += missing.empty() ? #name : ", " #name;
  SLUICE_CL_FUNCTIONS(SLUICE_CL_FIND)
#undef SLUICE_CL_FIND
  if (!missing.empty()) {
    throw Failure(SLUICE_ERROR, library.file_of("clGetPlatformIDs") + " is older than OpenCL 1.2, it lacks " + missing);
  }
  return result;
}

void note(Driver& driver, const std::string& text) { driver.left_out += (driver.left_out.empty() ? "" : "; ") + text; }

std::vector<cl_platform_id> platforms() {
  cl_uint count = 0;
  const cl_int code = api().clGetPlatformIDs(0, nullptr, &count);
  if (code == kPlatformNotFound || (code == kSuccess && count == 0)) {
    throw Failure(SLUICE_UNSUPPORTED, "no OpenCL platform: a loader is installed, but no vendor's driver for it");
  }
  check(code, "clGetPlatformIDs");
  std::vector<cl_platform_id> result(count);
  check(api().clGetPlatformIDs(count, result.data(), nullptr), "clGetPlatformIDs");
  return result;
}

std::string platform_name(cl_platform_id platform) {
  const std::string name = platform_text(platform, kPlatformName);
  return name.empty() ? "a platform without a name" : name;
}

/// Why a device cannot be used.
const char* problem_of(cl_device_id device) {
  if (device_number<cl_uint>(device, kDeviceAvailable) == 0) return "it is not available";
  if (device_number<cl_uint>(device, kDeviceCompilerAvailable) == 0) return "it has no compiler";
  if (device_number<cl_uint>(device, kDeviceEndianLittle) == 0) return "its byte order differs from the host's";
  return nullptr;
}

void add_devices(Driver& driver, cl_platform_id platform) {
  constexpr cl_int kDeviceNotFound = -1;
  cl_uint count = 0;
  cl_int code = api().clGetDeviceIDs(platform, kDeviceTypeAll, 0, nullptr, &count);
  std::vector<cl_device_id> ids(code == kSuccess ? count : 0);
  if (!ids.empty()) code = api().clGetDeviceIDs(platform, kDeviceTypeAll, count, ids.data(), nullptr);
  if (code == kDeviceNotFound || (code == kSuccess && ids.empty())) {
    return note(driver, platform_name(platform) + " has no device");
  }
  if (code != kSuccess) return note(driver, platform_name(platform) + " fails: clGetDeviceIDs: " + name_of(code));
  for (const cl_device_id id : ids) {
    const char* const problem = problem_of(id);
    if (problem == nullptr) {
      driver.devices.push_back({platform, id});
    } else {
      note(driver, device_text(id, kDeviceName) + " is left out: " + problem);
    }
  }
}

int rank(const FoundDevice& device) {
  const auto type = device_number<cl_ulong>(device.id, kDeviceType);
  if ((type & kDeviceTypeGpu) != 0) return 0;
  return (type & kDeviceTypeCpu) == 0 ? 1 : 2;
}

Driver find_devices() {
  Driver driver;
  for (const cl_platform_id platform : platforms()) add_devices(driver, platform);
  std::stable_sort(driver.devices.begin(), driver.devices.end(),
                   [](const FoundDevice& a, const FoundDevice& b) { return rank(a) < rank(b); });
  return driver;
}

}  // namespace

// Both stay for ever: what the loader started outlives every destructor.
const Api& api() {
  static const Api* const instance = new Api(load_api());
  return *instance;
}

const Driver& driver() {
  static const Driver* const instance = new Driver(find_devices());
  return *instance;
}

}  // namespace sluice::opencl
