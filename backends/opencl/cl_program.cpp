// Programs: from text, to a binary and back. What the driver calls a binary is wrapped, because drivers crash on broken
// or foreign ones instead of refusing them.
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "backends/common/text.hpp"
#include "backends/opencl/cl_error.hpp"
#include "backends/opencl/cl_kernel.hpp"

namespace sluice::opencl {
namespace {

using plugin::Failure;

constexpr std::size_t kLongestLog = 3900;
constexpr char kMagic[8] = {'S', 'l', 'u', 'i', 'c', 'e', 'C', '1'};

/// In front of the driver's bytes.
struct BinaryHeader {
  char magic[8];
  std::uint64_t device;  // which device and driver
  std::uint64_t bytes;
  std::uint64_t content;
};

// FNV-1a, against damage and not against malice.
std::uint64_t hash(std::string_view text) {
  std::uint64_t result = 14695981039346656037U;
  for (const char c : text) result = (result ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return result;
}

std::uint64_t identity(cl_device_id device) {
  return hash(device_text(device, kDeviceName) + "\n" + device_text(device, kDeviceVersion) + "\n" +
              device_text(device, kDriverVersion));
}

std::string build_log(cl_program program, cl_device_id device) {
  const auto ask = [&](std::size_t bytes, void* to, std::size_t* needed) {
    return api().clGetProgramBuildInfo(program, device, kProgramBuildLog, bytes, to, needed);
  };
  std::string log;
  if (ask_text(ask, log) != kSuccess || log.find_first_not_of(" \n") == std::string::npos) return "no log";
  return std::string(plugin::cut(log, kLongestLog));
}

cl_int build(cl_program program, cl_device_id device, const std::string& options) {
  return api().clBuildProgram(program, 1, &device, options.c_str(), nullptr, nullptr);
}

}  // namespace

Program compile(Device& device, const sluice_source& source) {
  device.check_compiler();
  const char* text = source.text;
  cl_int code = kSuccess;
  Program program(api().clCreateProgramWithSource(device.context(), 1, &text, nullptr, &code));
  check(code, "clCreateProgramWithSource");
  // The types of parameters are kept, because drivers do not check arguments.
  const cl_int built =
      build(program.get(), device.id(), std::string("-cl-std=CL1.2 -cl-kernel-arg-info ") + source.options);
  if (built == kBuildProgramFailure || built == kInvalidBuildOptions) {
    throw Failure(SLUICE_BAD_SOURCE, name_of(built) + "\n" + build_log(program.get(), device.id()));
  }
  check(built, "clBuildProgram");
  return program;
}

std::string LoadedKernel::binary() const {
  std::size_t bytes = 0;
  check(api().clGetProgramInfo(program_.get(), kProgramBinarySizes, sizeof bytes, &bytes, nullptr), "clGetProgramInfo");
  if (bytes == 0) throw Failure(SLUICE_UNSUPPORTED, "this driver gives no binaries");
  std::string content(bytes, '\0');
  char* to = content.data();
  check(api().clGetProgramInfo(program_.get(), kProgramBinaries, sizeof to, &to, nullptr), "clGetProgramInfo");
  BinaryHeader header{{}, identity(device_.id()), bytes, hash(content)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + content;
}

Program load_binary(Device& device, const void* binary, std::uint64_t bytes) {
  device.check_compiler();
  BinaryHeader header{};
  if (bytes < sizeof header) throw Failure(SLUICE_ERROR, "not a kernel binary: too short");
  std::memcpy(&header, binary, sizeof header);
  const std::string_view content(static_cast<const char*>(binary) + sizeof header, bytes - sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) throw Failure(SLUICE_ERROR, "not a kernel binary");
  if (header.device != identity(device.id())) {
    throw Failure(SLUICE_ERROR, "a kernel binary of another device or another version of its driver");
  }
  if (header.bytes != content.size() || header.content != hash(content)) {
    throw Failure(SLUICE_ERROR, "a damaged kernel binary");
  }
  const cl_device_id id = device.id();
  const std::size_t size = content.size();
  const auto* data = reinterpret_cast<const unsigned char*>(content.data());
  cl_int status = kSuccess, code = kSuccess;
  Program program(api().clCreateProgramWithBinary(device.context(), 1, &id, &size, &data, &status, &code));
  check(code, "clCreateProgramWithBinary");
  check(status, "clCreateProgramWithBinary");
  check(build(program.get(), id, ""), "clBuildProgram");
  return program;
}

}  // namespace sluice::opencl
