#include "backends/opencl/cl_kernel.hpp"

#include <string_view>
#include <utility>

#include "backends/opencl/cl_error.hpp"

namespace sluice::opencl {
namespace {

using plugin::Failure;

/// The size of a scalar or vector type such as "float" or "uint4"; 0 for every other one.
std::size_t bytes_of_type(std::string_view type) {
  constexpr std::pair<std::string_view, std::size_t> kScalars[] = {
      {"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"half", 2},  {"int", 4},
      {"uint", 4}, {"float", 4}, {"long", 8},  {"ulong", 8},  {"double", 8}};
  const std::size_t end = type.find_last_not_of("0123456789");
  if (end == std::string_view::npos) return 0;
  const std::string_view base = type.substr(0, end + 1), lanes = type.substr(end + 1);
  for (const auto& [name, bytes] : kScalars) {
    if (base != name) continue;
    if (lanes.empty()) return bytes;
    for (const auto& [text, count] : {std::pair("2", 2U), {"3", 4U}, {"4", 4U}, {"8", 8U}, {"16", 16U}}) {
      if (lanes == text) return bytes * count;
    }
  }
  return 0;
}

Parameter parameter_of(cl_kernel kernel, cl_uint index) {
  Parameter parameter;
  cl_uint place = 0;
  // A driver need not keep this, least of all in a binary.
  if (api().clGetKernelArgInfo(kernel, index, kKernelArgAddressQualifier, sizeof place, &place, nullptr) != kSuccess) {
    return parameter;
  }
  if (place == kKernelArgAddressGlobal || place == kKernelArgAddressConstant) {
    parameter.place = Parameter::Place::memory;
  } else if (place == kKernelArgAddressPrivate) {
    parameter.place = Parameter::Place::value;
  }
  const auto ask = [&](std::size_t bytes, void* to, std::size_t* needed) {
    return api().clGetKernelArgInfo(kernel, index, kKernelArgTypeName, bytes, to, needed);
  };
  if (ask_text(ask, parameter.type) != kSuccess) parameter.type.clear();
  if (parameter.place == Parameter::Place::value) parameter.bytes = bytes_of_type(parameter.type);
  return parameter;
}

template <class T>
T group_info(cl_kernel kernel, cl_device_id device, cl_uint question) {
  T answer{};
  check(api().clGetKernelWorkGroupInfo(kernel, device, question, sizeof answer, &answer, nullptr),
        "clGetKernelWorkGroupInfo");
  return answer;
}

}  // namespace

LoadedKernel::LoadedKernel(Device& device, Program program, const char* entry)
    : device_(device), program_(std::move(program)), name_(entry) {
  cl_int code = kSuccess;
  kernel_.reset(api().clCreateKernel(program_.get(), entry, &code));
  if (code == kInvalidKernelName) throw Failure(SLUICE_BAD_SOURCE, "the text has no kernel named " + name_);
  check(code, "clCreateKernel");
  cl_uint count = 0;
  check(api().clGetKernelInfo(kernel_.get(), kKernelNumArgs, sizeof count, &count, nullptr), "clGetKernelInfo");
  for (cl_uint i = 0; i < count; ++i) parameters_.push_back(parameter_of(kernel_.get(), i));
  check_limits();
}

// Before any launch: there are drivers that abort the process over too much local memory.
void LoadedKernel::check_limits() {
  const auto local = group_info<cl_ulong>(kernel_.get(), device_.id(), kKernelLocalMemSize);
  if (local > device_.limits().local_bytes) {
    throw Failure(SLUICE_UNSUPPORTED, "kernel " + name_ + " uses " + std::to_string(local) +
                                          " bytes of local memory; a group has " +
                                          std::to_string(device_.limits().local_bytes));
  }
  group_size_ = group_info<std::size_t>(kernel_.get(), device_.id(), kKernelWorkGroupSize);
}

void LoadedKernel::check_group(const sluice_launch& launch) const {
  std::uint64_t items = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint64_t size = launch.group_size[i];
    if (size == 0 || launch.groups[i] == 0) throw Failure(SLUICE_ERROR, "kernel " + name_ + ": an empty grid or group");
    items *= size;
    if (size > device_.limits().group_sizes[i] || items > group_size_) {
      throw Failure(SLUICE_UNSUPPORTED, "kernel " + name_ + ": groups of " + std::to_string(launch.group_size[0]) +
                                            " x " + std::to_string(launch.group_size[1]) + " x " +
                                            std::to_string(launch.group_size[2]) + " items; this kernel has at most " +
                                            std::to_string(group_size_) + " on this device");
    }
  }
}

void LoadedKernel::set_argument(cl_uint index, const sluice_argument& argument) {
  const Parameter& parameter = parameters_[index];
  const auto refuse = [&](sluice_status status, const std::string& text) {
    throw Failure(status, "kernel " + name_ + ": argument " + std::to_string(index) + " " + text);
  };
  if (argument.memory != 0) {
    if (parameter.place == Parameter::Place::value) refuse(SLUICE_ERROR, "is memory, the parameter is a value");
    // A sub-buffer would have to begin at a multiple of 128 bytes or more.
    if (argument.offset != 0) refuse(SLUICE_UNSUPPORTED, "has an offset, which OpenCL cannot add to memory");
    const cl_mem buffer = device_.buffer_of(argument.memory);
    return check(api().clSetKernelArg(kernel_.get(), index, sizeof(cl_mem), &buffer), "clSetKernelArg");
  }
  if (parameter.place == Parameter::Place::memory) refuse(SLUICE_ERROR, "is a value, the parameter is memory");
  if (argument.value == nullptr || argument.bytes == 0) refuse(SLUICE_ERROR, "is neither memory nor a value");
  if (parameter.bytes != 0 && parameter.bytes != argument.bytes) {
    refuse(SLUICE_ERROR,
           "has " + std::to_string(argument.bytes) + " bytes, the parameter has the type " + parameter.type);
  }
  if (argument.bytes > device_.limits().parameter_bytes) {
    refuse(SLUICE_UNSUPPORTED, "has " + std::to_string(argument.bytes) + " bytes, all arguments together at most " +
                                   std::to_string(device_.limits().parameter_bytes));
  }
  check(api().clSetKernelArg(kernel_.get(), index, argument.bytes, argument.value), "clSetKernelArg");
}

void LoadedKernel::launch(Device& device, const sluice_launch& launch) {
  if (&device != &device_) throw Failure(SLUICE_ERROR, "kernel " + name_ + " was compiled for another device");
  check_group(launch);
  if (launch.argument_count != parameters_.size()) {
    throw Failure(SLUICE_ERROR, "kernel " + name_ + " takes " + std::to_string(parameters_.size()) +
                                    " arguments, not " + std::to_string(launch.argument_count));
  }
  std::size_t local[3], global[3];
  cl_uint dimensions = 1;
  for (cl_uint i = 0; i < 3; ++i) {
    local[i] = launch.group_size[i];
    global[i] = local[i] * launch.groups[i];
    if (global[i] > 1) dimensions = i + 1;
  }
  const std::lock_guard guard(lock_);
  for (cl_uint i = 0; i < launch.argument_count; ++i) set_argument(i, launch.arguments[i]);
  check(api().clEnqueueNDRangeKernel(device_.queue(), kernel_.get(), dimensions, nullptr, global, local, 0, nullptr,
                                     nullptr),
        "clEnqueueNDRangeKernel");
  device_.flush();
}

}  // namespace sluice::opencl
