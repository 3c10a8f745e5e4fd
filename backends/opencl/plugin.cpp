// The OpenCL backend's table: each function unpacks its arguments and calls the class that does the work.
#include <cstring>
#include <memory>
#include <string>

#include "backends/common/entry.hpp"
#include "backends/common/memory_entries.hpp"
#include "backends/opencl/cl_device.hpp"
#include "backends/opencl/cl_driver.hpp"
#include "backends/opencl/cl_info.hpp"
#include "backends/opencl/cl_kernel.hpp"
#include "backends/opencl/clblast.hpp"
#include "sluice/backend.h"

namespace sluice::opencl {
namespace {

using plugin::Failure;
using plugin::give;
using plugin::require_whole;
using plugin::run_entry;

struct Entry {
  template <class Body>
  static sluice_status run(sluice_device*, const Body& body) noexcept {
    return run_entry(body);
  }
};

// ---- Devices.

sluice_status device_count(std::uint32_t* count) noexcept {
  const sluice_status status = run_entry([&] { *count = static_cast<std::uint32_t>(driver().devices.size()); });
  if (status == SLUICE_OK && *count == 0) plugin::set_last_error(driver().left_out.c_str());
  return status;
}

sluice_status open(std::uint32_t number, sluice_device** device) noexcept {
  return run_entry([&] {
    const auto& devices = driver().devices;
    if (number >= devices.size()) throw Failure(SLUICE_ERROR, "there is no device " + std::to_string(number));
    *device = std::make_unique<sluice_device>(devices[number]).release();
  });
}

sluice_status info(sluice_device* device, sluice_device_info* to) noexcept {
  return run_entry([&] {
    sluice_device_info whole{};
    describe(device->id(), whole);
    give(whole, to);
  });
}

sluice_status native_handle(sluice_device* device, std::uint64_t* handle) noexcept {
  return run_entry([&] { *handle = reinterpret_cast<std::uint64_t>(device->id()); });
}

// ---- Copies.

sluice_status peer_copy(sluice_device* to_device, sluice_memory to, std::uint64_t to_offset, sluice_device* from_device,
                        sluice_memory from, std::uint64_t from_offset, std::uint64_t bytes) noexcept {
  return run_entry([&] { to_device->copy_from(*from_device, {to, to_offset, bytes}, {from, from_offset, bytes}); });
}

// ---- Kernels.

sluice_status compile(sluice_device* device, const sluice_source* source, sluice_kernel** kernel) noexcept {
  return run_entry([&] {
    require_whole(source, "sluice_source");
    *kernel = std::make_unique<sluice_kernel>(*device, opencl::compile(*device, *source), source->entry).release();
  });
}

sluice_status kernel_binary(sluice_kernel* kernel, void* buffer, std::uint64_t* bytes) noexcept {
  return run_entry([&] {
    const std::string binary = kernel->binary();
    const bool fits = buffer == nullptr || *bytes >= binary.size();
    *bytes = binary.size();
    if (!fits) throw Failure(SLUICE_ERROR, "a binary of " + std::to_string(binary.size()) + " bytes does not fit");
    if (buffer != nullptr) std::memcpy(buffer, binary.data(), binary.size());
  });
}

sluice_status load_binary(sluice_device* device, const void* binary, std::uint64_t bytes, const char* entry,
                          sluice_kernel** kernel) noexcept {
  const sluice_status status = run_entry([&] {
    *kernel = std::make_unique<sluice_kernel>(*device, opencl::load_binary(*device, binary, bytes), entry).release();
  });
  return status == SLUICE_BAD_SOURCE ? SLUICE_ERROR : status;
}

sluice_status launch(sluice_device* device, sluice_kernel* kernel, const sluice_launch* launch) noexcept {
  return run_entry([&] {
    require_whole(launch, "sluice_launch");
    kernel->launch(*device, *launch);
  });
}

// ---- CLBlast, the only component.

void require_component(std::uint32_t k) {
  if (k != 0) throw Failure(SLUICE_UNSUPPORTED, "there is no component " + std::to_string(k));
}

sluice_status component(std::uint32_t k, sluice_component* to) noexcept {
  return run_entry([&] {
    require_component(k);
    sluice_component whole{};
    describe_clblast(whole);
    give(whole, to);
  });
}

sluice_status probe(sluice_device* device, std::uint32_t k) noexcept {
  return run_entry([&] {
    require_component(k);
    probe_clblast(*device);
  });
}

sluice_status enable(std::uint32_t k) noexcept {
  return run_entry([&] {
    require_component(k);
    enable_clblast();
  });
}

sluice_status gemm(sluice_device* device, const sluice_gemm* gemm) noexcept {
  return run_entry([&] {
    require_whole(gemm, "sluice_gemm");
    multiply(*device, *gemm);
  });
}

constexpr sluice_backend make_table() {
  sluice_backend table{};
  table.size = sizeof table;
  table.name = "OpenCL";
  table.last_error = plugin::last_error;
  table.device_count = device_count;
  table.open = open;
  table.info = info;
  plugin::MemoryEntries<Entry>::put(table);
  table.peer_copy = peer_copy;
  table.compile = compile;
  table.kernel_binary = kernel_binary;
  table.load_binary = load_binary;
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
}  // namespace sluice::opencl

extern "C" {
const std::uint32_t sluice_backend_abi = SLUICE_BACKEND_ABI;

const sluice_backend* sluice_backend_open(std::uint32_t host_abi) {
  return host_abi == SLUICE_BACKEND_ABI ? &sluice::opencl::kTable : nullptr;
}
}
