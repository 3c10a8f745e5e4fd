// The table of a backend: each function unpacks its arguments and calls the device, the kernel, or a function of a
// class `Backend` that says what differs:
//
//   struct Backend {
//     template <class Body> static sluice_status run(const Body& body) noexcept;                          // in
//     run_entry() template <class Body> static sluice_status run_on(sluice_device* device, const Body& body) noexcept;
//     static const Driver& driver();            // has `devices`, and `left_out`, why there are none
//     static std::uint64_t handle(sluice_device& device);
//     static void describe(sluice_device& device, sluice_device_info& info);
//     static std::unique_ptr<sluice_kernel> compile(sluice_device& device, const sluice_source& source);
//     static void multiply(sluice_device& device, const sluice_gemm& gemm);
//     static void describe_component(std::uint32_t k, sluice_component& component);
//     static void probe_component(sluice_device& device, std::uint32_t k);
//     static void enable_component(std::uint32_t k);
//     static std::unique_ptr<sluice_kernel> load_binary(sluice_device&, const void*, std::uint64_t, const char* entry);
//   };
//   constexpr sluice_backend kTable = plugin::Entries<Backend>::table("OpenCL");
//
// sluice_device derives from the backend's class, which has functions alloc, free, alloc_host, free_host, free_bytes,
// write, read, write_async, read_async, wait, copy, sync, and is made of one of the driver's devices; sluice_kernel has
// launch, and binary where there is load_binary.
#pragma once

#include <memory>

#include "backends/common/entry.hpp"

namespace sluice::plugin {

template <class Backend, class Device = sluice_device, class Kernel = sluice_kernel>
struct Entries {
  // ---- Devices.

  static sluice_status device_count(std::uint32_t* count) noexcept {
    const auto& driver = Backend::driver;
    const sluice_status status = run_entry([&] { *count = static_cast<std::uint32_t>(driver().devices.size()); });
    if (status == SLUICE_OK && *count == 0) set_last_error(driver().left_out.c_str());
    return status;
  }
  static sluice_status open(std::uint32_t number, Device** device) noexcept {
    return Backend::run([&] {
      const auto& devices = Backend::driver().devices;
      if (number >= devices.size()) throw Failure(SLUICE_ERROR, "there is no device " + std::to_string(number));
      *device = std::make_unique<Device>(devices[number]).release();
    });
  }
  static sluice_status info(Device* device, sluice_device_info* to) noexcept {
    return Backend::run([&] {
      sluice_device_info whole{};
      Backend::describe(*device, whole);
      give(whole, to);
    });
  }
  static sluice_status native_handle(Device* device, std::uint64_t* handle) noexcept {
    return Backend::run([&] { *handle = Backend::handle(*device); });
  }

  // ---- Memory.

  static sluice_status alloc(Device* device, std::uint64_t bytes, sluice_memory* memory) noexcept {
    return Backend::run_on(device, [&] { *memory = device->alloc(bytes); });
  }
  static sluice_status free(Device* device, sluice_memory memory) noexcept {
    return Backend::run_on(device, [&] { device->free(memory); });
  }
  static sluice_status alloc_host(Device* device, std::uint64_t bytes, void** memory) noexcept {
    return Backend::run_on(device, [&] { *memory = device->alloc_host(bytes); });
  }
  static sluice_status free_host(Device* device, void* memory) noexcept {
    return Backend::run_on(device, [&] { device->free_host(memory); });
  }
  static sluice_status free_bytes(Device* device, std::uint64_t* bytes) noexcept {
    return Backend::run_on(device, [&] { *bytes = device->free_bytes(); });
  }

  static sluice_status write(Device* device, sluice_memory to, std::uint64_t offset, const void* from,
                             std::uint64_t bytes) noexcept {
    return Backend::run_on(device, [&] { device->write({to, offset, bytes}, from); });
  }
  static sluice_status read(Device* device, sluice_memory from, std::uint64_t offset, void* to,
                            std::uint64_t bytes) noexcept {
    return Backend::run_on(device, [&] { device->read({from, offset, bytes}, to); });
  }
  static sluice_status write_async(Device* device, sluice_memory to, std::uint64_t offset, const void* from,
                                   std::uint64_t bytes, sluice_ticket* ticket) noexcept {
    return Backend::run_on(device, [&] { *ticket = device->write_async({to, offset, bytes}, from); });
  }
  static sluice_status read_async(Device* device, sluice_memory from, std::uint64_t offset, void* to,
                                  std::uint64_t bytes, sluice_ticket* ticket) noexcept {
    return Backend::run_on(device, [&] { *ticket = device->read_async({from, offset, bytes}, to); });
  }
  static sluice_status wait(Device* device, sluice_ticket ticket) noexcept {
    return Backend::run_on(device, [&] { device->wait(ticket); });
  }
  static sluice_status copy(Device* device, sluice_memory to, std::uint64_t to_offset, sluice_memory from,
                            std::uint64_t from_offset, std::uint64_t bytes) noexcept {
    return Backend::run_on(device, [&] { device->copy({to, to_offset, bytes}, {from, from_offset, bytes}); });
  }
  static sluice_status sync(Device* device) noexcept {
    return Backend::run_on(device, [&] { device->sync(); });
  }
  /// For backends that copy from one device to another.
  static sluice_status peer_copy(Device* to_device, sluice_memory to, std::uint64_t to_offset, Device* from_device,
                                 sluice_memory from, std::uint64_t from_offset, std::uint64_t bytes) noexcept {
    return Backend::run_on(to_device, [&] {
      to_device->copy_from(*from_device, {to, to_offset, bytes}, {from, from_offset, bytes});
    });
  }

  // ---- Kernels.

  static sluice_status compile(Device* device, const sluice_source* source, Kernel** kernel) noexcept {
    return Backend::run_on(device, [&] {
      require_whole(source, "sluice_source");
      *kernel = Backend::compile(*device, *source).release();
    });
  }
  static sluice_status launch(Device* device, Kernel* kernel, const sluice_launch* launch) noexcept {
    return Backend::run_on(device, [&] {
      require_whole(launch, "sluice_launch");
      kernel->launch(*device, *launch);
    });
  }
  /// For backends whose kernels can be kept.
  static sluice_status kernel_binary(Kernel* kernel, void* buffer, std::uint64_t* bytes) noexcept {
    return run_entry([&] {
      const std::string binary = kernel->binary();
      const bool fits = buffer == nullptr || *bytes >= binary.size();
      *bytes = binary.size();
      if (!fits) throw Failure(SLUICE_ERROR, "a binary of " + std::to_string(binary.size()) + " bytes does not fit");
      if (buffer != nullptr) std::memcpy(buffer, binary.data(), binary.size());
    });
  }
  static sluice_status load_binary(Device* device, const void* binary, std::uint64_t bytes, const char* entry,
                                   Kernel** kernel) noexcept {
    const sluice_status status =
        Backend::run_on(device, [&] { *kernel = Backend::load_binary(*device, binary, bytes, entry).release(); });
    return status == SLUICE_BAD_SOURCE ? SLUICE_ERROR : status;
  }

  // ---- Math libraries.

  static sluice_status gemm(Device* device, const sluice_gemm* gemm) noexcept {
    return Backend::run_on(device, [&] {
      require_whole(gemm, "sluice_gemm");
      Backend::multiply(*device, *gemm);
    });
  }
  static sluice_status component(std::uint32_t k, sluice_component* to) noexcept {
    return Backend::run([&] {
      sluice_component whole{};
      Backend::describe_component(k, whole);
      give(whole, to);
    });
  }
  static sluice_status probe(Device* device, std::uint32_t k) noexcept {
    return Backend::run_on(device, [&] { Backend::probe_component(*device, k); });
  }
  static sluice_status enable(std::uint32_t k) noexcept {
    return Backend::run([&] { Backend::enable_component(k); });
  }

  /// What every backend has.
  static constexpr sluice_backend table(const char* name) {
    sluice_backend table{};
    table.size = sizeof table;
    table.name = name;
    table.last_error = last_error;
    table.device_count = device_count;
    table.open = open;
    table.info = info;
    table.native_handle = native_handle;
    table.alloc = alloc;
    table.free = free;
    table.alloc_host = alloc_host;
    table.free_host = free_host;
    table.free_bytes = free_bytes;
    table.write = write;
    table.read = read;
    table.write_async = write_async;
    table.read_async = read_async;
    table.wait = wait;
    table.copy = copy;
    table.sync = sync;
    table.compile = compile;
    table.launch = launch;
    table.gemm = gemm;
    table.component = component;
    table.probe = probe;
    table.enable = enable;
    return table;
  }
  static constexpr void add_peer_copy(sluice_backend& table) { table.peer_copy = peer_copy; }
  static constexpr void add_binaries(sluice_backend& table) {
    table.kernel_binary = kernel_binary;
    table.load_binary = load_binary;
  }
};

/// For backends with one component: throws unless it is meant.
inline void require_only_component(std::uint32_t k) {
  if (k != 0) throw Failure(SLUICE_UNSUPPORTED, "there is no component " + std::to_string(k));
}

}  // namespace sluice::plugin
