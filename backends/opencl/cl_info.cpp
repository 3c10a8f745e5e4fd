#include "backends/opencl/cl_info.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string_view>

#include "backends/common/text.hpp"

namespace sluice::opencl {
namespace {

using plugin::copy_text;

/// Whether a device's list of extensions, separated by blanks, has `name`.
bool has_extension(const std::string& list, std::string_view name) {
  return (" " + list + " ").find(" " + std::string(name) + " ") != std::string::npos;
}

std::string pci_address(cl_uint domain, cl_uint bus, cl_uint device, cl_uint function) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus & 0xFFU, device & 0x1FU, function & 0x7U);
  return text;
}

/// Where the device sits, empty if no extension says so.
std::string card_of(cl_device_id device, const std::string& extensions) {
  if (has_extension(extensions, "cl_khr_pci_bus_info")) {
    std::array<cl_uint, 4> place{};
    if (api().clGetDeviceInfo(device, kDevicePciBusInfo, sizeof place, place.data(), nullptr) == 0) {
      return pci_address(place[0], place[1], place[2], place[3]);
    }
  }
  if (has_extension(extensions, "cl_nv_device_attribute_query")) {
    cl_uint bus = 0, slot = 0;
    if (api().clGetDeviceInfo(device, kDevicePciBusNv, sizeof bus, &bus, nullptr) == 0 &&
        api().clGetDeviceInfo(device, kDevicePciSlotNv, sizeof slot, &slot, nullptr) == 0) {
      return pci_address(device_number<cl_uint>(device, kDevicePciDomainNv), bus, slot >> 3U, slot);
    }
  }
  if (has_extension(extensions, "cl_amd_device_attribute_query")) {
    // Type (1: PCI Express), padding, then bus, device and function in the last three bytes.
    struct {
      cl_uint type;
      unsigned char unused[17], bus, device, function;
    } place{};
    if (api().clGetDeviceInfo(device, kDeviceTopologyAmd, sizeof place, &place, nullptr) == 0 && place.type == 1) {
      return pci_address(0, place.bus, place.device, place.function);
    }
  }
  return {};
}

std::uint32_t kind_of(cl_device_id device) {
  const auto type = device_number<cl_ulong>(device, kDeviceType);
  if ((type & kDeviceTypeGpu) != 0) {
    return limits_of(device).is_unified ? SLUICE_KIND_INTEGRATED : SLUICE_KIND_DISCRETE;
  }
  return (type & kDeviceTypeCpu) != 0 ? SLUICE_KIND_CPU : SLUICE_KIND_OTHER;
}

template <class T>
std::uint32_t clip(T number) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

std::string device_text(cl_device_id device, cl_uint question) {
  const auto ask = [&](std::size_t bytes, void* to, std::size_t* needed) {
    return api().clGetDeviceInfo(device, question, bytes, to, needed);
  };
  std::string text;
  if (ask_text(ask, text) != 0) text.clear();
  const auto first = std::find_if(text.begin(), text.end(), [](char c) { return c != ' '; });
  return {first, text.end()};
}

std::string platform_text(cl_platform_id platform, cl_uint question) {
  const auto ask = [&](std::size_t bytes, void* to, std::size_t* needed) {
    return api().clGetPlatformInfo(platform, question, bytes, to, needed);
  };
  std::string text;
  if (ask_text(ask, text) != 0) text.clear();
  return text;
}

DeviceLimits limits_of(cl_device_id device) {
  DeviceLimits limits{};
  limits.memory_bytes = device_number<cl_ulong>(device, kDeviceGlobalMemSize);
  limits.block_bytes = device_number<cl_ulong>(device, kDeviceMaxMemAllocSize);
  limits.local_bytes = device_number<cl_ulong>(device, kDeviceLocalMemSize);
  limits.group_size = device_number<std::size_t>(device, kDeviceMaxWorkGroupSize);
  limits.parameter_bytes = device_number<std::size_t>(device, kDeviceMaxParameterSize);
  limits.group_sizes = device_number<std::array<std::size_t, 3>>(device, kDeviceMaxWorkItemSizes);
  limits.is_unified = device_number<cl_uint>(device, kDeviceHostUnifiedMemory) != 0;
  return limits;
}

void describe(cl_device_id device, sluice_device_info& info) {
  const DeviceLimits limits = limits_of(device);
  const std::string extensions = device_text(device, kDeviceExtensions);
  const std::string name = device_text(device, kDeviceName);
  info.kind = kind_of(device);
  info.dialect = SLUICE_DIALECT_OPENCL;
  info.features = (has_extension(extensions, "cl_khr_fp64") ? SLUICE_FEATURE_F64 : 0U) |
                  (limits.is_unified ? SLUICE_FEATURE_UNIFIED : 0U);
  info.memory_bytes = limits.memory_bytes;
  info.max_group_size = clip(limits.group_size);
  info.local_bytes = clip(limits.local_bytes);
  copy_text(info.name, name);
  copy_text(info.architecture, device_text(device, kDeviceVersion) + " " + name);
  copy_text(info.driver, device_text(device, kDriverVersion));
  copy_text(info.card, card_of(device, extensions));
}

}  // namespace sluice::opencl
