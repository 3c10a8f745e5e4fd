// The Metal backend's table: each function opens an autorelease pool, unpacks its arguments and calls the class that
// does the work.
#include <memory>
#include <string>

#include "backends/common/entry.hpp"
#include "backends/common/memory_entries.hpp"
#include "backends/metal/metal_device.hpp"
#include "backends/metal/metal_driver.hpp"
#include "backends/metal/metal_info.hpp"
#include "backends/metal/metal_kernel.hpp"
#include "backends/metal/mps.hpp"
#include "sluice/backend.h"

namespace sluice::metal {
namespace {

using plugin::Failure;
using plugin::give;
using plugin::require_whole;
using plugin::run_entry;

/// The way in for everything that sends messages.
template <class Body>
sluice_status run_in_pool(const Body& body) noexcept {
  return run_entry([&] {
    const Pool pool;
    body();
  });
}

struct Entry {
  template <class Body>
  static sluice_status run(sluice_device*, const Body& body) noexcept {
    return run_in_pool(body);
  }
};

// ---- Devices.

sluice_status device_count(std::uint32_t* count) noexcept {
  const sluice_status status = run_entry([&] { *count = static_cast<std::uint32_t>(driver().devices.size()); });
  if (status == SLUICE_OK && *count == 0) plugin::set_last_error(driver().left_out.c_str());
  return status;
}

sluice_status open(std::uint32_t number, sluice_device** device) noexcept {
  return run_in_pool([&] {
    const auto& devices = driver().devices;
    if (number >= devices.size()) throw Failure(SLUICE_ERROR, "there is no device " + std::to_string(number));
    *device = std::make_unique<sluice_device>(devices[number]).release();
  });
}

sluice_status info(sluice_device* device, sluice_device_info* to) noexcept {
  return run_in_pool([&] {
    sluice_device_info whole{};
    describe(device->handle(), whole);
    give(whole, to);
  });
}

sluice_status native_handle(sluice_device* device, std::uint64_t* handle) noexcept {
  return run_in_pool([&] { *handle = reinterpret_cast<std::uint64_t>(device->handle()); });
}

// ---- Kernels.

sluice_status compile(sluice_device* device, const sluice_source* source, sluice_kernel** kernel) noexcept {
  return run_in_pool([&] {
    require_whole(source, "sluice_source");
    *kernel = std::make_unique<sluice_kernel>(*device, *source).release();
  });
}

sluice_status launch(sluice_device* device, sluice_kernel* kernel, const sluice_launch* launch) noexcept {
  return run_in_pool([&] {
    require_whole(launch, "sluice_launch");
    kernel->launch(*device, *launch);
  });
}

// ---- Metal Performance Shaders, the only component.

void require_component(std::uint32_t k) {
  if (k != 0) throw Failure(SLUICE_UNSUPPORTED, "there is no component " + std::to_string(k));
}

sluice_status component(std::uint32_t k, sluice_component* to) noexcept {
  return run_entry([&] {
    require_component(k);
    sluice_component whole{};
    describe_mps(whole);
    give(whole, to);
  });
}

sluice_status probe(sluice_device* device, std::uint32_t k) noexcept {
  return run_in_pool([&] {
    require_component(k);
    probe_mps(*device);
  });
}

sluice_status enable(std::uint32_t k) noexcept {
  return run_entry([&] {
    require_component(k);
    enable_mps();
  });
}

sluice_status gemm(sluice_device* device, const sluice_gemm* gemm) noexcept {
  return run_in_pool([&] {
    require_whole(gemm, "sluice_gemm");
    multiply(*device, *gemm);
  });
}

constexpr sluice_backend make_table() {
  sluice_backend table{};
  table.size = sizeof table;
  table.name = "Metal";
  table.last_error = plugin::last_error;
  table.device_count = device_count;
  table.open = open;
  table.info = info;
  plugin::MemoryEntries<Entry>::put(table);
  table.compile = compile;
  table.launch = launch;
  table.gemm = gemm;
  table.component = component;
  table.probe = probe;
  table.enable = enable;
  table.native_handle = native_handle;
  return table;
}

constexpr sluice_backend kTable = make_table();

}  // namespace
}  // namespace sluice::metal

extern "C" {
const std::uint32_t sluice_backend_abi = SLUICE_BACKEND_ABI;

const sluice_backend* sluice_backend_open(std::uint32_t host_abi) {
  return host_abi == SLUICE_BACKEND_ABI ? &sluice::metal::kTable : nullptr;
}
}
