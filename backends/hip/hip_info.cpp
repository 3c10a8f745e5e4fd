#include "backends/hip/hip_info.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <string_view>

#include "backends/common/text.hpp"

namespace sluice::streams {
namespace {

using plugin::Failure;

int attribute(DeviceNumber device, int question) {
  int answer = 0;
  api().device_attribute(&answer, question, device);
  return answer;
}

std::string name_of(DeviceNumber device) {
  char name[256] = "";
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

/// Whether this is "gfx", the number of an architecture, and perhaps features: "gfx90a:sramecc+:xnack-".
bool is_architecture(std::string_view text) {
  if (!text.starts_with("gfx")) return false;
  const std::string_view number = text.substr(3, text.find(':') - 3);
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  const auto is_of_feature = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':' || c == '+' || c == '-';
  };
  return number.size() >= 3 && std::all_of(number.begin(), number.end(), is_digit) &&
         std::all_of(text.begin(), text.end(), is_of_feature);
}

/// The text at `place` of the properties that a function fills; empty if it does not answer.
std::string read_architecture(const DriverFunction<int(void*, int)>& properties, std::size_t place,
                              DeviceNumber device) {
  if (properties.raw == nullptr) return {};
  alignas(16) std::array<char, kPropertiesBytes> bytes{};
  if (properties.raw(bytes.data(), device) != kSuccess) return {};
  const char* const text = bytes.data() + place;
  return std::string(text, strnlen(text, kArchitectureBytes));
}

}  // namespace

std::string architecture_of(DeviceNumber device) {
  std::string found;
#define SLUICE_HIP_READ(ours, theirs, place)              \
  if (found.empty() || !is_architecture(found)) {         \
    found = read_architecture(api().ours, place, device); \
  }
  SLUICE_HIP_PROPERTIES(SLUICE_HIP_READ)
#undef SLUICE_HIP_READ
  if (is_architecture(found)) return found;
  std::string shown;
  for (const char c : found) shown += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
  throw Failure(SLUICE_ERROR, "HIP " + version_text(runtime_version()) + " names no architecture of device " +
                                  std::to_string(device) + " where ROCm 5 and 6 have it (found \"" + shown +
                                  "\"): this backend does not know that version of HIP");
}

int runtime_version() {
  int version = 0;
  api().runtime_version(&version);
  return version;
}

std::string version_text(int version) {
  return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100) + "." +
         std::to_string(version % 100000);
}

std::string identity(DeviceNumber device) {
  return name_of(device) + "\n" + architecture_of(device) + "\n" + version_text(runtime_version());
}

void describe(DeviceNumber device, sluice_device_info& info) {
  std::size_t memory = 0;
  api().device_memory(&memory, device);
  const bool is_integrated = attribute(device, kIntegrated) != 0;
  info.kind = is_integrated ? SLUICE_KIND_INTEGRATED : SLUICE_KIND_DISCRETE;
  info.dialect = SLUICE_DIALECT_HIP;
  info.features = SLUICE_FEATURE_F64 | (is_integrated ? SLUICE_FEATURE_UNIFIED : 0U);
  info.memory_bytes = memory;
  info.max_group_size = static_cast<std::uint32_t>(attribute(device, kMaxThreadsPerBlock));
  info.local_bytes = static_cast<std::uint32_t>(attribute(device, kMaxSharedMemoryPerBlock));
  plugin::copy_text(info.name, name_of(device));
  plugin::copy_text(info.architecture, architecture_of(device));
  plugin::copy_text(info.driver, "HIP " + version_text(runtime_version()));
  plugin::copy_text(info.card, card_of(device));
}

}  // namespace sluice::streams
