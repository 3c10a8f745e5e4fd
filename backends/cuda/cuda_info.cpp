#include "backends/cuda/cuda_info.hpp"

#include <algorithm>
#include <cctype>

#include "backends/common/text.hpp"

namespace sluice::streams {
namespace {

int attribute(DeviceNumber device, int question) {
  int answer = 0;
  api().device_attribute(&answer, question, device);
  return answer;
}

std::string name_of(DeviceNumber device) {
  char name[128] = "";
  api().device_name(name, sizeof name, device);
  return name;
}

/// "0000:41:00.0", in lower case as other backends write it; empty if unknown.
std::string card_of(DeviceNumber device) {
  char text[32] = "";
  if (api().device_card.raw(text, sizeof text, device) != kSuccess) return {};
  std::string card = text;
  std::transform(card.begin(), card.end(), card.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return card;
}

std::string architecture_of(DeviceNumber device) { return "sm_" + std::to_string(compute_capability(device)); }

}  // namespace

int compute_capability(DeviceNumber device) {
  return 10 * attribute(device, kComputeCapabilityMajor) + attribute(device, kComputeCapabilityMinor);
}

int driver_version() {
  int version = 0;
  api().driver_version(&version);
  return version;
}

std::string driver_version_text() {
  const int version = driver_version();
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string identity(DeviceNumber device) {
  return name_of(device) + "\n" + architecture_of(device) + "\n" + driver_version_text();
}

void describe(DeviceNumber device, sluice_device_info& info) {
  std::size_t memory = 0;
  api().device_memory(&memory, device);
  const bool is_integrated = attribute(device, kIntegrated) != 0;
  info.kind = is_integrated ? SLUICE_KIND_INTEGRATED : SLUICE_KIND_DISCRETE;
  info.dialect = SLUICE_DIALECT_CUDA;
  info.features = SLUICE_FEATURE_F64 | (is_integrated ? SLUICE_FEATURE_UNIFIED : 0U);
  info.memory_bytes = memory;
  info.max_group_size = static_cast<std::uint32_t>(attribute(device, kMaxThreadsPerBlock));
  info.local_bytes = static_cast<std::uint32_t>(attribute(device, kMaxSharedMemoryPerBlock));
  plugin::copy_text(info.name, name_of(device));
  plugin::copy_text(info.architecture, architecture_of(device));
  plugin::copy_text(info.driver, "CUDA " + driver_version_text());
  plugin::copy_text(info.card, card_of(device));
}

}  // namespace sluice::streams
