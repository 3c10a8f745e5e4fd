// Questions to OpenCL about a device.
#pragma once

#include <array>
#include <string>

#include "backends/opencl/cl_api.hpp"
#include "sluice/backend.h"

namespace sluice::opencl {

/// Text that a clGet...Info function gives, or what it says instead; `ask(bytes, to, needed)` calls it.
template <class Ask>
cl_int ask_text(const Ask& ask, std::string& text) {
  std::size_t bytes = 0;
  cl_int code = ask(0, nullptr, &bytes);
  if (code != 0) return code;
  text.assign(bytes, '\0');
  if (bytes != 0) code = ask(bytes, text.data(), nullptr);
  text.resize(text.find('\0') == std::string::npos ? bytes : text.find('\0'));
  return code;
}

/// A text of a device, empty if it has none.
std::string device_text(cl_device_id device, cl_uint question);

/// A text of a platform, empty if it has none.
std::string platform_text(cl_platform_id platform, cl_uint question);

/// A number of a device, all zeros if it does not know. T has the size that OpenCL says.
template <class T>
T device_number(cl_device_id device, cl_uint question) {
  T answer{};
  if (api().clGetDeviceInfo(device, question, sizeof answer, &answer, nullptr) != 0) return T{};
  return answer;
}

struct DeviceLimits {
  std::uint64_t memory_bytes, block_bytes, local_bytes;
  std::size_t group_size, parameter_bytes;
  std::array<std::size_t, 3> group_sizes;
  bool is_unified;  ///< device and host share physical memory
};
DeviceLimits limits_of(cl_device_id device);

/// All of `info` but its size.
void describe(cl_device_id device, sluice_device_info& info);

}  // namespace sluice::opencl
