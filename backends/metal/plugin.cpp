// The Metal backend's table: every function opens an autorelease pool.
#include <memory>

#include "backends/common/entries.hpp"
#include "backends/metal/metal_device.hpp"
#include "backends/metal/metal_driver.hpp"
#include "backends/metal/metal_info.hpp"
#include "backends/metal/metal_kernel.hpp"
#include "backends/metal/mps.hpp"
#include "sluice/backend.h"

namespace sluice::metal {
namespace {

struct Backend {
  template <class Body>
  static sluice_status run(const Body& body) noexcept {
    return plugin::run_entry([&] {
      const Pool pool;
      body();
    });
  }
  template <class Body>
  static sluice_status run_on(sluice_device*, const Body& body) noexcept {
    return run(body);
  }

  static const auto& driver() { return metal::driver(); }
  static std::uint64_t handle(sluice_device& device) { return reinterpret_cast<std::uint64_t>(device.handle()); }
  static void describe(sluice_device& device, sluice_device_info& info) { metal::describe(device.handle(), info); }

  static auto compile(sluice_device& device, const sluice_source& source) {
    return std::make_unique<sluice_kernel>(device, source);
  }
  static void multiply(sluice_device& device, const sluice_gemm& gemm) { metal::multiply(device, gemm); }

  // Metal Performance Shaders are the only component.
  static void describe_component(std::uint32_t k, sluice_component& component) {
    plugin::require_only_component(k);
    describe_mps(component);
  }
  static void probe_component(sluice_device& device, std::uint32_t k) {
    plugin::require_only_component(k);
    probe_mps(device);
  }
  static void enable_component(std::uint32_t k) {
    plugin::require_only_component(k);
    enable_mps();
  }
};

constexpr sluice_backend kTable = plugin::Entries<Backend>::table("Metal");

}  // namespace
}  // namespace sluice::metal

extern "C" {
const std::uint32_t sluice_backend_abi = SLUICE_BACKEND_ABI;

const sluice_backend* sluice_backend_open(std::uint32_t host_abi) {
  return host_abi == SLUICE_BACKEND_ABI ? &sluice::metal::kTable : nullptr;
}
}
