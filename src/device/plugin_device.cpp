#include "src/device/plugin_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "sluice/error.hpp"
#include "src/core/warn.hpp"
#include "src/device/plugin_columns.hpp"
#include "src/device/plugin_copy.hpp"
#include "src/device/plugin_index.hpp"
#include "src/device/plugin_map.hpp"
#include "src/device/plugin_product.hpp"
#include "src/device/plugin_random.hpp"
#include "src/device/plugin_reduce.hpp"
#include "src/device/process_state.hpp"

namespace sluice::detail {
namespace {

constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

// Why the allocator got no memory, for the thread that asked.
thread_local PluginFailure last_allocation;

// Text that lives for ever.
constinit thread_local std::string_view current_operation;

sluice_memory memory_of(const Storage& storage) { return reinterpret_cast<sluice_memory>(storage.data); }

template <std::size_t N>
std::string text_of(const char (&text)[N]) {
  return std::string(text, strnlen(text, N));
}

}  // namespace

struct PluginDevice::Block {
  Storage storage;
  CachingAllocator::Block* block;  // null where there is no memory, or somebody else's
  std::function<void()> release = {};
};

PluginDevice::PluginDevice(const PluginTable& table, int number)
    : table_(table),
      number_(number),
      generation_(fork_generation()),
      allocator_(fmt::format("{} device {}", table.name(), number),
                 {[this](std::size_t bytes) { return allocate_from_backend(bytes); },
                  [this](void* handle, std::size_t) { free_to_backend(handle); },
                  [this]() -> std::size_t {
                    std::uint64_t bytes = 0;
                    submit(&sluice_backend::free_bytes, &bytes);
                    return bytes;
                  }}) {
  check(table_.call(&sluice_backend::open, static_cast<std::uint32_t>(number), &device_), "open");
  if (device_ == nullptr) throw DeviceError(where("open") + ": the backend gave no device");
  sluice_device_info info{};
  info.size = sizeof info;
  check(submit(&sluice_backend::info, &info), "info");
  facts_ = {info.kind,
            info.dialect,
            info.features,
            info.max_group_size,
            info.memory_bytes,
            info.local_bytes,
            text_of(info.name),
            text_of(info.architecture),
            text_of(info.driver),
            text_of(info.card)};
}

// ---- Calls.

std::string PluginDevice::where(std::string_view operation) const {
  return fmt::format("{}: {} device {}", operation, table_.name(), number_);
}

bool PluginDevice::is_alive() const noexcept { return !lost_ && generation_ == fork_generation() && !is_exiting(); }

void PluginDevice::check_alive(std::string_view operation) const {
  if (is_alive()) return;
  if (is_exiting() && !is_exiting_thread()) wait_for_end();
  if (!is_exiting() && lost_) throw_lost(operation, "the device was lost");
  const char* const why = is_exiting() ? "the process is ending"
                                       : "the process was forked after the device was opened, which no driver "
                                         "survives; use the CPU here, or fork before the first use of a GPU";
  throw DeviceLost(fmt::format("{}: {}", where(operation), why));
}

void PluginDevice::check(const PluginFailure& failure, std::string_view operation) {
  if (failure.status == SLUICE_OK) return;
  if (failure.status != SLUICE_DEVICE_LOST) return raise(failure, where(operation));
  lost_ = true;
  throw_lost(operation, failure.text);
}

void PluginDevice::throw_lost(std::string_view operation, std::string_view reason) const {
  std::string kernels;
  if (!is_loss_told_.exchange(true)) kernels = recent_.text();
  if (!kernels.empty())
    kernels = fmt::format(". The last kernels it was given, any of which may be at fault: {}", kernels);
  throw DeviceLost(fmt::format("{}: {}; its tensors are lost, so start the process again or go on with the CPU{}",
                               where(operation), reason, kernels));
}

/// What this thread has a device do, for the messages of what it calls. Throws DeviceLost unless the device is alive.
class PluginDevice::Operation {
 public:
  Operation(const PluginDevice& device, std::string_view name) {
    device.check_alive(name);
    former_ = std::exchange(current_operation, name);
  }
  ~Operation() { current_operation = former_; }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

 private:
  std::string_view former_;
};

std::string_view PluginDevice::operation_or(std::string_view name) {
  return current_operation.empty() ? name : current_operation;
}

// ---- Memory.

void* PluginDevice::allocate_from_backend(std::size_t bytes) noexcept {
  sluice_memory memory = 0;
  last_allocation = submit(&sluice_backend::alloc, bytes, &memory);
  return last_allocation.status == SLUICE_OK ? reinterpret_cast<void*>(memory) : nullptr;
}

void PluginDevice::free_to_backend(void* handle) noexcept {
  if (!is_alive()) return;
  const PluginFailure failure = submit(&sluice_backend::free, reinterpret_cast<sluice_memory>(handle));
  if (failure.status == SLUICE_DEVICE_LOST) lost_ = true;
}

Storage* PluginDevice::allocate(std::size_t bytes) {
  check_alive("allocate");
  if (bytes == 0) return &(new Block{Storage(this, nullptr, 0), nullptr})->storage;
  last_allocation = {};
  try {
    CachingAllocator::Block* const block = allocator_.allocate(bytes);
    return &(new Block{Storage(this, block->handle, bytes), block})->storage;
  } catch (const OutOfMemory& error) {
    if (last_allocation.status == SLUICE_OK) throw;
    if (last_allocation.status != SLUICE_OUT_OF_MEMORY) check(last_allocation, "allocate");
    throw OutOfMemory(fmt::format("{} ({}: {})", error.what(), table_.name(), last_allocation.text));
  }
}

// After a fork the allocator's lock may be held for ever by a thread that is not here.
void PluginDevice::free(Storage* storage) noexcept {
  const std::unique_ptr<Block> block(reinterpret_cast<Block*>(storage));
  if (block->block != nullptr) {
    if (is_alive()) allocator_.free(block->block);
    else CachingAllocator::forget(block->block);
  } else if (block->storage.data != nullptr) {
    unwrap(*block);
  }
}

Storage* PluginDevice::wrap(std::uint64_t address, std::size_t bytes, std::function<void()> release) {
  check_alive("wrap_memory");
  sluice_memory memory = 0;
  check(submit(&sluice_backend::wrap, address, std::uint64_t{bytes}, &memory), "wrap_memory");
  auto* const block = new Block{Storage(this, reinterpret_cast<void*>(memory), bytes), nullptr, std::move(release)};
  block->storage.lent = true;
  return &block->storage;
}

// The owner may do anything with its memory once it has it back, so no work may be left that uses it.
void PluginDevice::unwrap(Block& block) noexcept {
  if (is_alive()) {
    if (submit(&sluice_backend::sync).status == SLUICE_DEVICE_LOST) lost_ = true;
    free_to_backend(block.storage.data);
  }
  const bool is_own_process = generation_ == fork_generation() && !is_exiting();
  if (block.release && is_own_process) call_release(block.release);
}

std::uint64_t PluginDevice::address(const Storage& storage) {
  check_alive("memory_address");
  std::uint64_t address = 0;
  check(submit(&sluice_backend::address, memory_of(storage), &address), "memory_address");
  check(submit(&sluice_backend::sync), "memory_address");
  return address;
}

// ---- Copies.

void PluginDevice::write(Storage& to, std::size_t offset, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check_alive("write");
  check(submit(&sluice_backend::write, memory_of(to), offset, from, bytes), "write");
}

void PluginDevice::read(const Storage& from, std::size_t offset, void* to, std::size_t bytes) {
  if (bytes == 0) return;
  check_alive("read");
  check(table_.call(&sluice_backend::read, device_, memory_of(from), offset, to, bytes), "read");
}

void PluginDevice::copy_from_device(Storage& to, const Storage& from, std::size_t from_offset, std::size_t bytes) {
  auto* const other = dynamic_cast<PluginDevice*>(from.device);
  if (other == nullptr) return DeviceImpl::copy_from_device(to, from, from_offset, bytes);
  check_alive("copy");
  other->check_alive("copy");
  if (&other->table_ == &table_) {
    PluginFailure failure;
    {
      const std::scoped_lock both(submission_, other->submission_);
      failure = table_.call(&sluice_backend::peer_copy, device_, memory_of(to), std::uint64_t{0}, other->device_,
                            memory_of(from), from_offset, bytes);
    }
    if (failure.status != SLUICE_UNSUPPORTED) return check(failure, "copy");
  }
  copy_through_host(to, from, from_offset, bytes);
}

/// Host memory that this device reaches at full speed, or any where there is none.
class PluginDevice::Pinned {
 public:
  Pinned(PluginDevice& device, std::size_t bytes) : device_(device) {
    if (device.submit(&sluice_backend::alloc_host, bytes, &memory_).status == SLUICE_OK) return;
    memory_ = nullptr;
    fallback_.reset(new std::byte[bytes]);
  }
  ~Pinned() {
    settle();
    if (memory_ != nullptr && device_.is_alive()) device_.submit(&sluice_backend::free_host, memory_);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  void* data() const { return memory_ != nullptr ? memory_ : fallback_.get(); }

  /// Starts writing the first `bytes`; they stay untouched until settle().
  PluginFailure write(const Storage& to, std::size_t offset, std::size_t bytes) {
    if (memory_ == nullptr) return write_now(to, offset, bytes);
    PluginFailure failure = device_.submit(&sluice_backend::write_async, memory_of(to), offset,
                                           static_cast<const void*>(memory_), bytes, &ticket_);
    if (failure.status == SLUICE_UNSUPPORTED) return write_now(to, offset, bytes);
    is_pending_ = failure.status == SLUICE_OK;
    return failure;
  }
  PluginFailure settle() {
    if (!std::exchange(is_pending_, false) || !device_.is_alive()) return {};
    return device_.table_.call(&sluice_backend::wait, device_.device_, ticket_);
  }

 private:
  PluginFailure write_now(const Storage& to, std::size_t offset, std::size_t bytes) {
    return device_.submit(&sluice_backend::write, memory_of(to), offset, static_cast<const void*>(data()), bytes);
  }

  PluginDevice& device_;
  void* memory_ = nullptr;
  std::unique_ptr<std::byte[]> fallback_;
  sluice_ticket ticket_ = 0;
  bool is_pending_ = false;
};

// In pieces through two buffers: one is read into while the other is being written.
void PluginDevice::copy_through_host(Storage& to, const Storage& from, std::size_t from_offset, std::size_t bytes) {
  const std::size_t piece = std::min(bytes, kStagingBytes);
  std::array<Pinned, 2> buffers{Pinned(*this, piece), Pinned(*this, piece)};
  std::size_t turn = 0;
  for (std::size_t done = 0; done < bytes; done += piece, turn = 1 - turn) {
    const std::size_t count = std::min(piece, bytes - done);
    check(buffers[turn].settle(), "copy");
    from.device->read(from, from_offset + done, buffers[turn].data(), count);
    check(buffers[turn].write(to, done, count), "copy");
  }
  for (Pinned& buffer : buffers) check(buffer.settle(), "copy");
}

// ---- Operations.

void PluginDevice::map(const MapCall& call) {
  const Operation operation(*this, "map");
  plugin_map(*this, call);
}

void PluginDevice::reduce(const ReduceCall& call) {
  const Operation operation(*this, "reduce");
  plugin_reduce(*this, call);
}

void PluginDevice::copy(const CopyCall& call) {
  const Operation operation(*this, "copy");
  plugin_copy(*this, call);
}

void PluginDevice::softmax(const AxisCall& call, SoftmaxKind kind) {
  const Operation operation(*this, "softmax");
  plugin_softmax(*this, call, kind);
}

void PluginDevice::moments(const AxisCall& call, const Operand& variance, std::int64_t correction) {
  const Operation operation(*this, "var");
  plugin_moments(*this, call, variance, correction);
}

void PluginDevice::argreduce(const AxisCall& call, bool greatest) {
  const Operation operation(*this, greatest ? "argmax" : "argmin");
  plugin_argreduce(*this, call, greatest);
}

void PluginDevice::gather(const IndexCall& call) {
  const Operation operation(*this, "gather");
  plugin_gather(*this, call);
}

void PluginDevice::scatter_add(const IndexCall& call) {
  const Operation operation(*this, "scatter_add");
  plugin_scatter_add(*this, call);
}

void PluginDevice::product(const ProductCall& call) {
  const Operation operation(*this, "matmul");
  plugin_product(*this, call);
}

void PluginDevice::uniform(const Operand& output, std::int64_t count, RandomKey key) {
  const Operation operation(*this, "rand");
  plugin_uniform(*this, output, count, key);
}

// ---- The rest.

std::uint64_t PluginDevice::native_handle() {
  check_alive("native_handle");
  std::uint64_t handle = 0;
  check(submit(&sluice_backend::native_handle, &handle), "native_handle");
  return handle;
}

void PluginDevice::launch(sluice_kernel* kernel, std::uint32_t groups, std::uint32_t group_size,
                          std::span<const sluice_argument> arguments) {
  const std::string_view operation = operation_or("launch");
  check_alive(operation);
  recent_.note_launch(kernel, operation);
  const sluice_launch launch{sizeof launch,
                             static_cast<std::uint32_t>(arguments.size()),
                             {groups, 1, 1},
                             {group_size, 1, 1},
                             arguments.data()};
  check(submit(&sluice_backend::launch, kernel, &launch), operation);
}

bool PluginDevice::gemm(const sluice_gemm& gemm) {
  const std::string_view operation = operation_or("gemm");
  check_alive(operation);
  const PluginFailure failure = submit(&sluice_backend::gemm, &gemm);
  if (failure.status == SLUICE_UNSUPPORTED) {
    debug_once(fmt::format("gemm {} {}", table_.name(), failure.text),
               fmt::format("{}: {}; Sluice's own kernel is used", where(operation), failure.text));
    return false;
  }
  check(failure, operation);
  return true;
}

PluginFailure PluginDevice::probe_component(std::uint32_t k) { return submit(&sluice_backend::probe, k); }

}  // namespace sluice::detail
