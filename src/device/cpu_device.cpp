#include "src/device/cpu_device.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "src/device/allocator.hpp"
#include "src/device/cpu_copy.hpp"
#include "src/device/cpu_index.hpp"
#include "src/device/cpu_map.hpp"
#include "src/device/cpu_moments.hpp"
#include "src/device/cpu_product.hpp"
#include "src/device/cpu_random.hpp"
#include "src/device/cpu_reduce.hpp"
#include "src/device/cpu_softmax.hpp"
#include "src/device/host_isa.hpp"

namespace sluice::detail {

std::string CpuDevice::name() const {
  switch (host_isa()) {
    case HostIsa::avx512: return "CPU (AVX-512)";
    case HostIsa::avx2: return "CPU (AVX2)";
    case HostIsa::baseline: break;
  }
  return "CPU";
}

CachingAllocator* CpuDevice::allocator() { return &host_allocator(); }

Storage* CpuDevice::allocate(std::size_t bytes) { return allocate_host(this, bytes); }
void CpuDevice::free(Storage* storage) noexcept { free_host(storage); }

Storage* CpuDevice::wrap(std::uint64_t address, std::size_t bytes, std::function<void()> release) {
  return wrap_host(this, reinterpret_cast<void*>(address), bytes, std::move(release));
}
std::uint64_t CpuDevice::address(const Storage& storage) { return reinterpret_cast<std::uint64_t>(storage.data); }

void CpuDevice::write(Storage& to, std::size_t offset, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(static_cast<std::byte*>(to.data) + offset, from, bytes);
}
void CpuDevice::read(const Storage& from, std::size_t offset, void* to, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, static_cast<const std::byte*>(from.data) + offset, bytes);
}

void CpuDevice::map(const MapCall& call) { cpu_map(call); }
void CpuDevice::reduce(const ReduceCall& call) { cpu_reduce(call); }
void CpuDevice::softmax(const AxisCall& call, SoftmaxKind kind) { cpu_softmax(call, kind); }
void CpuDevice::moments(const AxisCall& call, const Operand& variance, std::int64_t correction) {
  cpu_moments(call, variance, correction);
}
void CpuDevice::argreduce(const AxisCall& call, bool greatest) { cpu_argreduce(call, greatest); }
void CpuDevice::copy(const CopyCall& call) { cpu_copy(call); }
void CpuDevice::gather(const IndexCall& call) { cpu_gather(call); }
void CpuDevice::scatter_add(const IndexCall& call) { cpu_scatter_add(call); }
void CpuDevice::product(const ProductCall& call) { cpu_product(call); }
void CpuDevice::uniform(const Operand& output, std::int64_t count, RandomKey key) { cpu_uniform(output, count, key); }

DeviceImpl* cpu_device_impl() {
  static auto* const device = new CpuDevice;
  return device;
}

namespace {
// Made while the library is loaded, so that no fork meets it half made.
[[maybe_unused]] const DeviceImpl* const kMadeAtLoad = cpu_device_impl();
}  // namespace

}  // namespace sluice::detail
