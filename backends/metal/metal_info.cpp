#include "backends/metal/metal_info.hpp"

#include "backends/common/text.hpp"

namespace sluice::metal {
namespace {

// What every Mac allows; a kernel's own limit is known once it is compiled.
constexpr std::uint32_t kGroupSize = 1024;

/// "apple8" or "mac2": the newest family of GPUs that the device belongs to.
std::string family_of(id device) {
  constexpr NSInteger kNewest = kFamilyApple1 + 30;
  for (NSInteger family = kNewest; family >= kFamilyApple1; --family) {
    if (send().supports_family(device, family) != 0) return "apple" + std::to_string(family - kFamilyApple1 + 1);
  }
  for (const NSInteger family : {kFamilyMac2, kFamilyMac1}) {
    if (send().supports_family(device, family) != 0) return "mac" + std::to_string(family - kFamilyMac1 + 1);
  }
  return "unknown";
}

}  // namespace

bool is_unified(id device) { return send().has_unified_memory(device) != 0; }

void describe(id device, sluice_device_info& info) {
  const bool unified = is_unified(device);
  info.kind = unified ? SLUICE_KIND_INTEGRATED : SLUICE_KIND_DISCRETE;
  info.dialect = SLUICE_DIALECT_METAL;
  info.features = unified ? SLUICE_FEATURE_UNIFIED : 0U;
  info.memory_bytes = send().working_set_bytes(device);
  info.max_group_size = kGroupSize;
  info.local_bytes = static_cast<std::uint32_t>(send().threadgroup_bytes(device));
  plugin::copy_text(info.name, text_of(send().name(device)));
  plugin::copy_text(info.architecture, family_of(device));
  const id process = send().process_info(class_named("NSProcessInfo"));
  plugin::copy_text(info.driver, "macOS " + text_of(send().system_version(process)));
}

}  // namespace sluice::metal
