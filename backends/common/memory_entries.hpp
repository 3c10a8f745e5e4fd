// The functions of a backend's table that are the same for every kind of device: each unpacks its arguments and calls
// the device's own function.
//
//   struct Entry {
//     template <class Body>
//     static sluice_status run(sluice_device* device, const Body& body) noexcept;   // runs it in run_entry()
//   };
//   plugin::MemoryEntries<Entry>::put(table);
//
// sluice_device derives from the backend's class, which has functions of these names: alloc, free, alloc_host,
// free_host, free_bytes, write, read, write_async, read_async, wait, copy, sync.
#pragma once

#include "backends/common/entry.hpp"

namespace sluice::plugin {

template <class Entry, class Device = sluice_device>
struct MemoryEntries {
  static sluice_status alloc(Device* device, std::uint64_t bytes, sluice_memory* memory) noexcept {
    return Entry::run(device, [&] { *memory = device->alloc(bytes); });
  }
  static sluice_status free(Device* device, sluice_memory memory) noexcept {
    return Entry::run(device, [&] { device->free(memory); });
  }
  static sluice_status alloc_host(Device* device, std::uint64_t bytes, void** memory) noexcept {
    return Entry::run(device, [&] { *memory = device->alloc_host(bytes); });
  }
  static sluice_status free_host(Device* device, void* memory) noexcept {
    return Entry::run(device, [&] { device->free_host(memory); });
  }
  static sluice_status free_bytes(Device* device, std::uint64_t* bytes) noexcept {
    return Entry::run(device, [&] { *bytes = device->free_bytes(); });
  }

  static sluice_status write(Device* device, sluice_memory to, std::uint64_t offset, const void* from,
                             std::uint64_t bytes) noexcept {
    return Entry::run(device, [&] { device->write({to, offset, bytes}, from); });
  }
  static sluice_status read(Device* device, sluice_memory from, std::uint64_t offset, void* to,
                            std::uint64_t bytes) noexcept {
    return Entry::run(device, [&] { device->read({from, offset, bytes}, to); });
  }
  static sluice_status write_async(Device* device, sluice_memory to, std::uint64_t offset, const void* from,
                                   std::uint64_t bytes, sluice_ticket* ticket) noexcept {
    return Entry::run(device, [&] { *ticket = device->write_async({to, offset, bytes}, from); });
  }
  static sluice_status read_async(Device* device, sluice_memory from, std::uint64_t offset, void* to,
                                  std::uint64_t bytes, sluice_ticket* ticket) noexcept {
    return Entry::run(device, [&] { *ticket = device->read_async({from, offset, bytes}, to); });
  }
  static sluice_status wait(Device* device, sluice_ticket ticket) noexcept {
    return Entry::run(device, [&] { device->wait(ticket); });
  }
  static sluice_status copy(Device* device, sluice_memory to, std::uint64_t to_offset, sluice_memory from,
                            std::uint64_t from_offset, std::uint64_t bytes) noexcept {
    return Entry::run(device, [&] { device->copy({to, to_offset, bytes}, {from, from_offset, bytes}); });
  }
  static sluice_status sync(Device* device) noexcept {
    return Entry::run(device, [&] { device->sync(); });
  }

  static constexpr void put(sluice_backend& table) {
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
  }
};

}  // namespace sluice::plugin
