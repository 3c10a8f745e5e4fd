#include "tests/simulated/virtual_backend.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulated/virtual_gpu.hpp"

struct sluice_device {
  std::atomic<bool> is_open{false};
  std::atomic<bool> is_busy{false};
};

struct sluice_kernel {
  sluice_device* device;
  virtual_gpu::KernelNumber number;
};

namespace virtual_gpu {
namespace {

// ---- Failures. Inside they are exceptions; a status and a text go out.

struct Failure {
  sluice_status status;
  std::string text;
};

thread_local std::array<char, 512> failure_text{};

sluice_status fail(sluice_status status, const char* text) noexcept {
  std::snprintf(failure_text.data(), failure_text.size(), "%s", text);
  return status;
}

void check(const Result& result) {
  switch (result.code) {
    case Code::ok: return;
    case Code::failed: throw Failure{SLUICE_ERROR, result.text};
    case Code::out_of_memory: throw Failure{SLUICE_OUT_OF_MEMORY, result.text};
    case Code::lost: throw Failure{SLUICE_DEVICE_LOST, result.text};
    case Code::no_driver: throw Failure{SLUICE_UNSUPPORTED, result.text};
    case Code::bad_source: throw Failure{SLUICE_BAD_SOURCE, result.text};
  }
}

void require(bool holds, const char* text) {
  if (!holds) throw Failure{SLUICE_ERROR, text};
}

/// What every function of the table does around its work: nothing comes out of it but a status.
template <class Body>
sluice_status enter(Body body) noexcept {
  failure_text[0] = '\0';
  try {
    body();
    return SLUICE_OK;
  } catch (const Failure& failure) {
    return fail(failure.status, failure.text.c_str());
  } catch (const std::bad_alloc&) {
    return fail(SLUICE_OUT_OF_MEMORY, "the host has no memory left");
  } catch (const std::exception& error) {
    return fail(SLUICE_ERROR, error.what());
  } catch (...) {
    return fail(SLUICE_ERROR, "something unknown was thrown");
  }
}

/// Keeps the thread's current device of the driver: what was current is so again at the end, whatever happens.
class KeepCurrent {
 public:
  KeepCurrent() { check(get_current(found_)); }
  ~KeepCurrent() { static_cast<void>(set_current(found_)); }
  KeepCurrent(const KeepCurrent&) = delete;
  KeepCurrent& operator=(const KeepCurrent&) = delete;

 private:
  int found_ = 0;
};

// ---- Devices.

// They stay open for ever, so a pointer to one is its place here.
std::array<sluice_device, 64> all_devices;

int number_of(const sluice_device* device) { return static_cast<int>(device - all_devices.data()); }

/// Two calls for one device at a time are the host's error, except those that may wait.
class OneCall {
 public:
  explicit OneCall(sluice_device& device) : device_(device) {
    if (!device.is_busy.exchange(true)) return;
    note_overlap();
    throw Failure{SLUICE_ERROR, "the host calls for one device twice at a time"};
  }
  ~OneCall() { device_.is_busy = false; }
  OneCall(const OneCall&) = delete;
  OneCall& operator=(const OneCall&) = delete;

 private:
  sluice_device& device_;
};

/// A call for a device that may come while another one is going on: it waits, or makes kernels.
template <class Body>
sluice_status enter_shared(sluice_device* device, Body body) noexcept {
  return enter([&] {
    require(device != nullptr, "the device is null");
    const KeepCurrent keep;
    if (!identity.forgets_current) check(set_current(number_of(device)));
    body();
  });
}

/// Any other call for a device.
template <class Body>
sluice_status enter_device(sluice_device* device, Body body) noexcept {
  return enter_shared(device, [&] {
    const OneCall one(*device);
    body();
  });
}

template <std::size_t N>
void copy_text(char (&to)[N], const std::string& text) {
  std::snprintf(to, N, "%s", text.c_str());
}

/// Fills in as much of a struct as the host knows.
template <class Struct>
void hand_out(Struct whole, Struct* to) {
  whole.size = to->size;
  std::memcpy(to, &whole, std::min<std::size_t>(to->size, sizeof whole));
}

const char* last_error() { return failure_text.data(); }

sluice_status device_count(uint32_t* count) {
  std::string more;
  const sluice_status status = enter([&] {
    require(count != nullptr, "count is null");
    const KeepCurrent keep;
    int devices = 0;
    check(initialise());
    check(count_devices(devices));
    *count = static_cast<uint32_t>(devices);
    if (devices == 0) more = "no virtual GPU is visible";
  });
  return more.empty() ? status : fail(status, more.c_str());
}

sluice_status open(uint32_t number, sluice_device** device) {
  return enter([&] {
    require(device != nullptr, "device is null");
    const KeepCurrent keep;
    int devices = 0;
    check(count_devices(devices));
    require(number < static_cast<uint32_t>(devices), "there is no device of this number");
    sluice_device& place = all_devices[number];
    require(!place.is_open.exchange(true), "the device is open already; it is opened once per process");
    try {
      check(open_device(static_cast<int>(number)));
    } catch (...) {
      place.is_open = false;
      throw;
    }
    *device = &place;
  });
}

sluice_status info(sluice_device* device, sluice_device_info* info) {
  return enter_device(device, [&] {
    require(info != nullptr, "info is null");
    Properties properties{};
    check(get_properties(properties));
    sluice_device_info whole{};
    const bool is_discrete = properties.kind == Kind::discrete;
    whole.kind = is_discrete                           ? SLUICE_KIND_DISCRETE
                 : properties.kind == Kind::integrated ? SLUICE_KIND_INTEGRATED
                                                       : SLUICE_KIND_CPU;
    whole.dialect = properties.dialect;
    whole.features = (properties.has_f64 ? SLUICE_FEATURE_F64 : 0) | (is_discrete ? 0 : SLUICE_FEATURE_UNIFIED);
    whole.memory_bytes = properties.memory_bytes;
    whole.max_group_size = properties.max_group_size;
    whole.local_bytes = properties.local_bytes;
    copy_text(whole.name, properties.name);
    copy_text(whole.architecture, properties.architecture);
    copy_text(whole.driver, properties.driver);
    copy_text(whole.card, properties.card);
    hand_out(whole, info);
  });
}

sluice_status native_handle(sluice_device* device, uint64_t* handle) {
  return enter_device(device, [&] {
    require(handle != nullptr, "handle is null");
    check(get_native_handle(*handle));
  });
}

sluice_status free_bytes(sluice_device* device, uint64_t* bytes) {
  return enter_device(device, [&] {
    require(bytes != nullptr, "bytes is null");
    check(get_free_bytes(*bytes));
  });
}

// ---- Memory.

sluice_status alloc(sluice_device* device, uint64_t bytes, sluice_memory* memory) {
  return enter_device(device, [&] {
    require(memory != nullptr, "memory is null");
    check(virtual_gpu::alloc(bytes, *memory));
  });
}

sluice_status free(sluice_device* device, sluice_memory memory) {
  return enter_device(device, [&] { check(release(memory)); });
}

sluice_status alloc_host(sluice_device* device, uint64_t bytes, void** memory) {
  return enter_device(device, [&] {
    require(memory != nullptr, "memory is null");
    check(virtual_gpu::alloc_host(bytes, *memory));
  });
}

sluice_status free_host(sluice_device* device, void* memory) {
  return enter_device(device, [&] { check(release_host(memory)); });
}

sluice_status wrap(sluice_device* device, uint64_t address, uint64_t bytes, sluice_memory* memory) {
  return enter_device(device, [&] {
    require(memory != nullptr, "memory is null");
    check(virtual_gpu::wrap(address, bytes, *memory));
  });
}

sluice_status address(sluice_device* device, sluice_memory memory, uint64_t* address) {
  return enter_device(device, [&] {
    require(address != nullptr, "address is null");
    check(get_address(memory, *address));
  });
}

// ---- Copies.

sluice_status write(sluice_device* device, sluice_memory to, uint64_t offset, const void* from, uint64_t bytes) {
  return enter_device(device, [&] {
    require(from != nullptr, "from is null");
    check(virtual_gpu::write(to, offset, from, bytes));
  });
}

sluice_status read(sluice_device* device, sluice_memory from, uint64_t offset, void* to, uint64_t bytes) {
  return enter_shared(device, [&] {
    require(to != nullptr, "to is null");
    check(virtual_gpu::read(from, offset, to, bytes));
  });
}

sluice_status write_async(sluice_device* device, sluice_memory to, uint64_t offset, const void* from, uint64_t bytes,
                          sluice_ticket* ticket) {
  return enter_device(device, [&] {
    require(from != nullptr && ticket != nullptr, "from or ticket is null");
    check(virtual_gpu::write_async(to, offset, from, bytes, *ticket));
  });
}

sluice_status read_async(sluice_device* device, sluice_memory from, uint64_t offset, void* to, uint64_t bytes,
                         sluice_ticket* ticket) {
  return enter_device(device, [&] {
    require(to != nullptr && ticket != nullptr, "to or ticket is null");
    check(virtual_gpu::read_async(from, offset, to, bytes, *ticket));
  });
}

sluice_status wait(sluice_device* device, sluice_ticket ticket) {
  return enter_shared(device, [&] { check(virtual_gpu::wait(ticket)); });
}

sluice_status copy(sluice_device* device, sluice_memory to, uint64_t to_offset, sluice_memory from,
                   uint64_t from_offset, uint64_t bytes) {
  return enter_device(device, [&] { check(virtual_gpu::copy(to, to_offset, from, from_offset, bytes)); });
}

sluice_status peer_copy(sluice_device* to_device, sluice_memory to, uint64_t to_offset, sluice_device* from_device,
                        sluice_memory from, uint64_t from_offset, uint64_t bytes) {
  return enter_device(to_device, [&] {
    require(from_device != nullptr, "the device to copy from is null");
    require(from_device != to_device, "a peer copy is between two devices");
    const OneCall one(*from_device);
    check(virtual_gpu::peer_copy(to, to_offset, number_of(from_device), from, from_offset, bytes));
  });
}

sluice_status sync(sluice_device* device) {
  return enter_device(device, [&] { check(synchronise()); });
}

// ---- Kernels.

/// Kernels are never given back.
sluice_kernel* keep_kernel(sluice_device* device, KernelNumber number) {
  static auto* const kernels = new std::deque<sluice_kernel>;
  static auto* const mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  return &kernels->emplace_back(sluice_kernel{device, number});
}

sluice_status compile(sluice_device* device, const sluice_source* source, sluice_kernel** kernel) {
  return enter_shared(device, [&] {
    require(source != nullptr && source->size >= sizeof *source && kernel != nullptr, "source or kernel is null");
    require(source->text != nullptr && source->entry != nullptr && source->options != nullptr, "a text is null");
    KernelNumber number = 0;
    check(virtual_gpu::compile(source->text, source->entry, number));
    *kernel = keep_kernel(device, number);
  });
}

sluice_status kernel_binary(sluice_kernel* kernel, void* buffer, uint64_t* bytes) {
  return enter_shared(kernel == nullptr ? nullptr : kernel->device, [&] {
    require(bytes != nullptr, "bytes is null");
    std::string binary;
    check(get_binary(kernel->number, binary));
    const uint64_t room = std::exchange(*bytes, binary.size());
    if (buffer == nullptr) return;
    require(room >= binary.size(), "the buffer is too small");
    std::memcpy(buffer, binary.data(), binary.size());
  });
}

sluice_status load_binary(sluice_device* device, const void* binary, uint64_t bytes, const char* entry,
                          sluice_kernel** kernel) {
  return enter_shared(device, [&] {
    require(binary != nullptr && entry != nullptr && kernel != nullptr, "binary, entry or kernel is null");
    KernelNumber number = 0;
    check(virtual_gpu::load_binary(std::string(static_cast<const char*>(binary), bytes), entry, number));
    *kernel = keep_kernel(device, number);
  });
}

sluice_status launch(sluice_device* device, sluice_kernel* kernel, const sluice_launch* launch) {
  return enter_device(device, [&] {
    require(kernel != nullptr && launch != nullptr && launch->size >= sizeof *launch, "kernel or launch is null");
    std::vector<LaunchArgument> arguments;
    for (uint32_t k = 0; k < launch->argument_count; ++k) {
      const sluice_argument& a = launch->arguments[k];
      arguments.push_back({a.memory, a.offset, a.value, a.bytes});
    }
    std::uint64_t groups = 1, group_size = 1;
    for (int axis = 0; axis < 3; ++axis) {
      groups *= launch->groups[axis];
      group_size *= launch->group_size[axis];
    }
    check(virtual_gpu::launch(kernel->number, groups, group_size, arguments));
  });
}

sluice_status gemm(sluice_device* device, const sluice_gemm* gemm) {
  return enter_device(device, [&] {
    require(gemm != nullptr, "gemm is null");
    throw Failure{SLUICE_UNSUPPORTED, "the virtual GPU multiplies no matrices"};
  });
}

// ---- Vendor libraries.

std::atomic<std::uint32_t> enabled{0};

/// Whether vendor library k is there; fails past the last one.
bool has_library(uint32_t k) {
  if (k >= std::size(identity.libraries)) throw Failure{SLUICE_UNSUPPORTED, "there is no such vendor library"};
  return k == 0 || find_setting("DNN") == "1";
}

void require_library(uint32_t k) {
  if (!has_library(k)) throw Failure{SLUICE_UNSUPPORTED, "the vendor library is missing"};
}

sluice_status component(uint32_t k, sluice_component* component) {
  return enter([&] {
    require(component != nullptr, "component is null");
    const bool is_there = has_library(k);
    sluice_component whole{};
    whole.state = is_there ? SLUICE_COMPONENT_FOUND : SLUICE_COMPONENT_MISSING;
    const std::string name = identity.libraries[k];
    const std::string file = "lib" + name + ".so.1";
    copy_text(whole.name, name);
    if (is_there) {
      copy_text(whole.file, "/virtual/" + file);
      copy_text(whole.version, "1.0");
    } else {
      copy_text(whole.reason, file + ": cannot open shared object file: no such file");
    }
    hand_out(whole, component);
  });
}

sluice_status probe(sluice_device* device, uint32_t k) {
  return enter_device(device, [&] {
    require_library(k);
    check(call_library());
  });
}

sluice_status enable(uint32_t k) {
  return enter([&] {
    require_library(k);
    enabled |= 1u << k;
  });
}

}  // namespace

std::uint32_t enabled_libraries() { return enabled; }

constinit const sluice_backend table = {sizeof(sluice_backend),
                                        0,
                                        backend_name,
                                        last_error,
                                        device_count,
                                        open,
                                        info,
                                        alloc,
                                        free,
                                        alloc_host,
                                        free_host,
                                        write,
                                        read,
                                        write_async,
                                        read_async,
                                        wait,
                                        copy,
                                        peer_copy,
                                        compile,
                                        kernel_binary,
                                        load_binary,
                                        launch,
                                        gemm,
                                        component,
                                        probe,
                                        enable,
                                        native_handle,
                                        wrap,
                                        sync,
                                        free_bytes,
                                        address};

}  // namespace virtual_gpu
