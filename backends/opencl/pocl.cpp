#include "backends/opencl/pocl.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "backends/common/failure.hpp"
#include "backends/opencl/cl_info.hpp"

namespace sluice::opencl {
namespace {

bool is_program(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

bool is_in_path(const char* program) {
  const char* const value = std::getenv("PATH");
  std::string_view folders = value == nullptr ? "" : value;
  while (!folders.empty()) {
    const std::size_t end = folders.find(':');
    const std::string folder(folders.substr(0, end));
    if (!folder.empty() && is_program(folder + "/" + program)) return true;
    folders.remove_prefix(end == std::string_view::npos ? folders.size() : end + 1);
  }
  return false;
}

}  // namespace

bool needs_linker(const FoundDevice& device) {
  return platform_text(device.platform, kPlatformName) == "Portable Computing Language" &&
         (device_number<cl_ulong>(device.id, kDeviceType) & kDeviceTypeCpu) != 0;
}

void require_linker() {
  if (is_in_path("ld")) return;
  throw plugin::Failure(SLUICE_ERROR,
                        "PoCL's compiler needs the linker ld, which is in no folder of $PATH: install binutils, or add "
                        "the folder of ld to $PATH");
}

}  // namespace sluice::opencl
