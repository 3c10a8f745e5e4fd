#include "backends/opencl/cl_device.hpp"

#include <string>
#include <utility>

#include "backends/common/text.hpp"
#include "backends/opencl/cl_error.hpp"
#include "backends/opencl/pocl.hpp"

namespace sluice::opencl {
namespace {

using plugin::Failure;
using plugin::in_units;

Context make_context(const FoundDevice& found) {
  const std::intptr_t properties[] = {kContextPlatform, reinterpret_cast<std::intptr_t>(found.platform), 0};
  cl_int code = kSuccess;
  Context context(api().clCreateContext(properties, 1, &found.id, nullptr, nullptr, &code));
  check(code, "clCreateContext");
  return context;
}

Buffer make_buffer(cl_context context, cl_ulong flags, std::uint64_t bytes) {
  cl_int code = kSuccess;
  Buffer buffer(api().clCreateBuffer(context, flags, bytes, nullptr, &code));
  check(code, "clCreateBuffer");
  return buffer;
}

sluice_memory number_of(cl_mem buffer) { return reinterpret_cast<sluice_memory>(buffer); }

}  // namespace

Device::Device(const FoundDevice& found)
    : id_(found.id),
      limits_(limits_of(found.id)),
      needs_linker_(sluice::opencl::needs_linker(found)),
      context_(make_context(found)) {
  cl_int code = kSuccess;
  queue_ = api().clCreateCommandQueue(context_.get(), id_, 0, &code);
  check(code, "clCreateCommandQueue");
}

void Device::check_compiler() const {
  if (needs_linker_) require_linker();
}

// ---- Memory.

void Device::check_room(std::uint64_t bytes) {
  if (limits_.block_bytes != 0 && bytes > limits_.block_bytes) {
    throw Failure(SLUICE_OUT_OF_MEMORY, "a block of " + in_units(bytes) + " was asked for, and the largest that " +
                                            "OpenCL gives on this device has " + in_units(limits_.block_bytes));
  }
  const std::lock_guard guard(lock_);
  if (limits_.memory_bytes == 0 || bytes <= limits_.memory_bytes - used_bytes_) return;
  throw Failure(SLUICE_OUT_OF_MEMORY, in_units(bytes) + " were asked for, and " + in_units(used_bytes_) + " of the " +
                                          in_units(limits_.memory_bytes) + " of this device are in use");
}

// Without this many drivers allocate at the first use only, where nobody can free memory and try again.
void Device::make_real(cl_mem buffer) {
  check(api().clEnqueueMigrateMemObjects(queue_, 1, &buffer, kMigrateContentUndefined, 0, nullptr, nullptr),
        "clEnqueueMigrateMemObjects");
}

sluice_memory Device::alloc(std::uint64_t bytes) {
  if (bytes == 0) throw Failure(SLUICE_ERROR, "a block of 0 bytes");
  check_room(bytes);
  Buffer buffer = make_buffer(context_.get(), kMemReadWrite, bytes);
  make_real(buffer.get());
  const std::lock_guard guard(lock_);
  blocks_.emplace(number_of(buffer.get()), bytes);
  used_bytes_ += bytes;
  return number_of(buffer.release());
}

// OpenCL keeps the memory itself until the queue has passed its last use.
void Device::free(sluice_memory memory) {
  const Buffer buffer(buffer_of(memory));
  const std::lock_guard guard(lock_);
  const auto found = blocks_.find(memory);
  used_bytes_ -= found->second;
  blocks_.erase(found);
}

std::uint64_t Device::free_bytes() {
  const std::lock_guard guard(lock_);
  return limits_.memory_bytes > used_bytes_ ? limits_.memory_bytes - used_bytes_ : 0;
}

// A buffer that stays mapped; drivers place it where the device copies from at full speed.
void* Device::alloc_host(std::uint64_t bytes) {
  if (bytes == 0) throw Failure(SLUICE_ERROR, "a block of 0 bytes");
  Buffer buffer = make_buffer(context_.get(), kMemReadWrite | kMemAllocHostPtr, bytes);
  cl_int code = kSuccess;
  void* const memory =
      api().clEnqueueMapBuffer(queue_, buffer.get(), 1, kMapRead | kMapWrite, 0, bytes, 0, nullptr, nullptr, &code);
  check(code, "clEnqueueMapBuffer");
  const std::lock_guard guard(lock_);
  host_blocks_.emplace(memory, std::move(buffer));
  return memory;
}

void Device::free_host(void* memory) {
  Buffer buffer;
  {
    const std::lock_guard guard(lock_);
    const auto found = host_blocks_.find(memory);
    if (found == host_blocks_.end()) throw Failure(SLUICE_ERROR, "free_host: not host memory of this device");
    buffer = std::move(found->second);
    host_blocks_.erase(found);
  }
  check(api().clEnqueueUnmapMemObject(queue_, buffer.get(), memory, 0, nullptr, nullptr), "clEnqueueUnmapMemObject");
  sync();
}

cl_mem Device::buffer_of(sluice_memory memory) { return buffer_of(Range{memory, 0, 0}); }

cl_mem Device::buffer_of(const Range& range) {
  const std::lock_guard guard(lock_);
  const auto found = blocks_.find(range.memory);
  if (found == blocks_.end()) throw Failure(SLUICE_ERROR, "not a block of this device, or one that was freed");
  if (range.offset > found->second || range.bytes > found->second - range.offset) {
    throw Failure(SLUICE_ERROR, std::to_string(range.bytes) + " bytes at " + std::to_string(range.offset) +
                                    " are outside of a block of " + std::to_string(found->second));
  }
  return reinterpret_cast<cl_mem>(range.memory);
}

// ---- Copies.

void Device::write(const Range& to, const void* from) {
  const cl_mem buffer = buffer_of(to);
  if (to.bytes == 0) return;
  check(api().clEnqueueWriteBuffer(queue_, buffer, 1, to.offset, to.bytes, from, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
}

void Device::read(const Range& from, void* to) {
  const cl_mem buffer = buffer_of(from);
  if (from.bytes == 0) return;
  check(api().clEnqueueReadBuffer(queue_, buffer, 1, from.offset, from.bytes, to, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
}

sluice_ticket Device::write_async(const Range& to, const void* from) {
  cl_event event = nullptr;
  check(api().clEnqueueWriteBuffer(queue_, buffer_of(to), 0, to.offset, to.bytes, from, 0, nullptr, &event),
        "clEnqueueWriteBuffer");
  Event owned(event);
  flush();
  return tickets_.add(std::move(owned));
}

sluice_ticket Device::read_async(const Range& from, void* to) {
  cl_event event = nullptr;
  check(api().clEnqueueReadBuffer(queue_, buffer_of(from), 0, from.offset, from.bytes, to, 0, nullptr, &event),
        "clEnqueueReadBuffer");
  Event owned(event);
  flush();
  return tickets_.add(std::move(owned));
}

void Device::copy(const Range& to, const Range& from) {
  const cl_mem source = buffer_of(from), target = buffer_of(to);
  if (to.bytes == 0) return;
  check(api().clEnqueueCopyBuffer(queue_, source, target, from.offset, to.offset, to.bytes, 0, nullptr, nullptr),
        "clEnqueueCopyBuffer");
  flush();
}

void Device::copy_from(Device& source, const Range& to, const Range& from) {
  if (&source == this) return copy(to, from);
  if (!source.limits_.is_unified) {
    throw Failure(SLUICE_UNSUPPORTED, "OpenCL does not copy between devices of different contexts");
  }
  const cl_mem buffer = source.buffer_of(from);
  buffer_of(to);
  if (to.bytes == 0) return;
  cl_int code = kSuccess;
  void* const mapped =
      api().clEnqueueMapBuffer(source.queue_, buffer, 1, kMapRead, from.offset, from.bytes, 0, nullptr, nullptr, &code);
  check(code, "clEnqueueMapBuffer");
  const cl_int written =
      api().clEnqueueWriteBuffer(queue_, buffer_of(to), 1, to.offset, to.bytes, mapped, 0, nullptr, nullptr);
  code = api().clEnqueueUnmapMemObject(source.queue_, buffer, mapped, 0, nullptr, nullptr);
  check(written, "clEnqueueWriteBuffer");
  check(code, "clEnqueueUnmapMemObject");
  source.flush();
}

void Device::sync() { check(api().clFinish(queue_), "clFinish"); }
void Device::flush() { check(api().clFlush(queue_), "clFlush"); }

}  // namespace sluice::opencl
