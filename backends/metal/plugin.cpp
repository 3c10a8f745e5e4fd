// The Metal backend's table: each function opens an autorelease pool, unpacks its arguments and calls the class that
// does the work.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "backends/common/entry.hpp"
#include "backends/metal/metal_device.hpp"
#include "backends/metal/metal_driver.hpp"
#include "backends/metal/metal_info.hpp"
#include "backends/metal/metal_kernel.hpp"
#include "backends/metal/mps.hpp"
#include "sluice/backend.h"

namespace sluice::metal {
namespace {

using plugin::Failure;
using plugin::run_entry;

/// A struct of the host is at least as long as the part that is read.
template <class T>
void require_whole(const T* given, const char* name) {
  if (given->size < sizeof(T))
    throw Failure(SLUICE_ERROR, std::string(name) + " is too short; it was made for an older ABI");
}

/// Fills as much of the host's struct as it has room for; its size stays.
template <class T>
void give(T whole, T* to) {
  whole.size = to->size;
  std::memcpy(to, &whole, std::min<std::size_t>(to->size, sizeof whole));
}

/// The way in for everything that sends messages.
template <class Body>
sluice_status run_in_pool(const Body& body) noexcept {
  return run_entry([&] {
    const Pool pool;
    body();
  });
}

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

sluice_status sync(sluice_device* device) noexcept {
  return run_in_pool([&] { device->sync(); });
}

// ---- Memory.

sluice_status alloc(sluice_device* device, std::uint64_t bytes, sluice_memory* memory) noexcept {
  return run_in_pool([&] { *memory = device->alloc(bytes); });
}

sluice_status free(sluice_device* device, sluice_memory memory) noexcept {
  return run_in_pool([&] { device->free(memory); });
}

sluice_status alloc_host(sluice_device* device, std::uint64_t bytes, void** memory) noexcept {
  return run_in_pool([&] { *memory = device->alloc_host(bytes); });
}

sluice_status free_host(sluice_device* device, void* memory) noexcept {
  return run_in_pool([&] { device->free_host(memory); });
}

sluice_status free_bytes(sluice_device* device, std::uint64_t* bytes) noexcept {
  return run_in_pool([&] { *bytes = device->free_bytes(); });
}

// ---- Copies.

sluice_status write(sluice_device* device, sluice_memory to, std::uint64_t offset, const void* from,
                    std::uint64_t bytes) noexcept {
  return run_in_pool([&] { device->write({to, offset, bytes}, from); });
}

sluice_status read(sluice_device* device, sluice_memory from, std::uint64_t offset, void* to,
                   std::uint64_t bytes) noexcept {
  return run_in_pool([&] { device->read({from, offset, bytes}, to); });
}

sluice_status write_async(sluice_device* device, sluice_memory to, std::uint64_t offset, const void* from,
                          std::uint64_t bytes, sluice_ticket* ticket) noexcept {
  return run_in_pool([&] { *ticket = device->write_async({to, offset, bytes}, from); });
}

sluice_status read_async(sluice_device* device, sluice_memory from, std::uint64_t offset, void* to, std::uint64_t bytes,
                         sluice_ticket* ticket) noexcept {
  return run_in_pool([&] { *ticket = device->read_async({from, offset, bytes}, to); });
}

sluice_status wait(sluice_device* device, sluice_ticket ticket) noexcept {
  return run_in_pool([&] { device->wait(ticket); });
}

sluice_status copy(sluice_device* device, sluice_memory to, std::uint64_t to_offset, sluice_memory from,
                   std::uint64_t from_offset, std::uint64_t bytes) noexcept {
  return run_in_pool([&] { device->copy({to, to_offset, bytes}, {from, from_offset, bytes}); });
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
  table.alloc = alloc;
  table.free = free;
  table.alloc_host = alloc_host;
  table.free_host = free_host;
  table.write = write;
  table.read = read;
  table.write_async = write_async;
  table.read_async = read_async;
  table.wait = wait;
  table.copy = copy;
  table.compile = compile;
  table.launch = launch;
  table.gemm = gemm;
  table.component = component;
  table.probe = probe;
  table.enable = enable;
  table.native_handle = native_handle;
  table.sync = sync;
  table.free_bytes = free_bytes;
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
