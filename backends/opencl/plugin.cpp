// The OpenCL backend's table.
#include <memory>

#include "backends/common/entries.hpp"
#include "backends/opencl/cl_device.hpp"
#include "backends/opencl/cl_driver.hpp"
#include "backends/opencl/cl_info.hpp"
#include "backends/opencl/cl_kernel.hpp"
#include "backends/opencl/clblast.hpp"
#include "sluice/backend.h"

namespace sluice::opencl {
namespace {

struct Backend {
  template <class Body>
  static sluice_status run(const Body& body) noexcept {
    return plugin::run_entry(body);
  }
  template <class Body>
  static sluice_status run_on(sluice_device*, const Body& body) noexcept {
    return plugin::run_entry(body);
  }

  static const auto& driver() { return opencl::driver(); }
  static std::uint64_t handle(sluice_device& device) { return reinterpret_cast<std::uint64_t>(device.id()); }
  static void describe(sluice_device& device, sluice_device_info& info) { opencl::describe(device.id(), info); }

  static auto compile(sluice_device& device, const sluice_source& source) {
    return std::make_unique<sluice_kernel>(device, opencl::compile(device, source), source.entry);
  }
  static auto load_binary(sluice_device& device, const void* binary, std::uint64_t bytes, const char* entry) {
    return std::make_unique<sluice_kernel>(device, opencl::load_binary(device, binary, bytes), entry);
  }
  static void multiply(sluice_device& device, const sluice_gemm& gemm) { opencl::multiply(device, gemm); }

  // CLBlast is the only component.
  static void describe_component(std::uint32_t k, sluice_component& component) {
    plugin::require_only_component(k);
    describe_clblast(component);
  }
  static void probe_component(sluice_device& device, std::uint32_t k) {
    plugin::require_only_component(k);
    probe_clblast(device);
  }
  static void enable_component(std::uint32_t k) {
    plugin::require_only_component(k);
    enable_clblast();
  }
};

constexpr sluice_backend make_table() {
  using Entries = plugin::Entries<Backend>;
  sluice_backend table = Entries::table("OpenCL");
  Entries::add_peer_copy(table);
  Entries::add_binaries(table);
  return table;
}

constexpr sluice_backend kTable = make_table();

}  // namespace
}  // namespace sluice::opencl

extern "C" {
const std::uint32_t sluice_backend_abi = SLUICE_BACKEND_ABI;

const sluice_backend* sluice_backend_open(std::uint32_t host_abi) {
  return host_abi == SLUICE_BACKEND_ABI ? &sluice::opencl::kTable : nullptr;
}
}
