// The table of a backend with streams: what works with a device makes its context current.
#include <memory>

#include "backends/common/entries.hpp"
#include "backends/streams/blas.hpp"
#include "backends/streams/device.hpp"
#include "backends/streams/kernel.hpp"
#include "backends/streams/vendor.hpp"
#include "sluice/backend.h"

namespace sluice::streams {
namespace {

struct Backend {
  template <class Body>
  static sluice_status run(const Body& body) noexcept {
    return plugin::run_entry(body);
  }
  template <class Body>
  static sluice_status run_on(sluice_device* device, const Body& body) noexcept {
    return plugin::run_entry([&] {
      const Current current(device->context());
      body();
    });
  }

  static const auto& driver() { return streams::driver(); }
  static std::uint64_t handle(sluice_device& device) { return static_cast<std::uint64_t>(device.number()); }
  static void describe(sluice_device& device, sluice_device_info& info) { streams::describe(device.number(), info); }

  static auto compile(sluice_device& device, const sluice_source& source) {
    return std::make_unique<sluice_kernel>(device, compile_text(device.number(), source), source.entry);
  }
  static auto load_binary(sluice_device& device, const void* binary, std::uint64_t bytes, const char* entry) {
    return std::make_unique<sluice_kernel>(device, unpack_binary(device.number(), binary, bytes), entry);
  }
  static void multiply(sluice_device& device, const sluice_gemm& gemm) { streams::multiply(device, gemm); }
  static void describe_component(std::uint32_t k, sluice_component& component) {
    streams::describe_component(k, component);
  }
  static void probe_component(sluice_device& device, std::uint32_t k) { streams::probe_component(device, k); }
  static void enable_component(std::uint32_t k) { streams::enable_component(k); }
};

sluice_status wrap(sluice_device* device, std::uint64_t address, std::uint64_t bytes, sluice_memory* memory) noexcept {
  return Backend::run_on(device, [&] { *memory = device->wrap(address, bytes); });
}

sluice_status address(sluice_device* device, sluice_memory memory, std::uint64_t* address) noexcept {
  return Backend::run_on(device, [&] { *address = device->address(memory); });
}

constexpr sluice_backend make_table() {
  using Entries = plugin::Entries<Backend>;
  sluice_backend table = Entries::table(kBackendName);
  Entries::add_peer_copy(table);
  Entries::add_binaries(table);
  table.wrap = wrap;
  table.address = address;
  return table;
}

constexpr sluice_backend kTable = make_table();

}  // namespace
}  // namespace sluice::streams

extern "C" {
const std::uint32_t sluice_backend_abi = SLUICE_BACKEND_ABI;

const sluice_backend* sluice_backend_open(std::uint32_t host_abi) {
  return host_abi == SLUICE_BACKEND_ABI ? &sluice::streams::kTable : nullptr;
}
}
