// The CPU as a device: interprets programs tile by tile on the thread pool.
#pragma once

#include "src/device/device_impl.hpp"

namespace sluice::detail {

class CpuDevice final : public DeviceImpl {
 public:
  std::string_view backend() const override { return "CPU"; }
  int id() const override { return 0; }
  std::string name() const override;
  bool is_host() const override { return true; }
  CachingAllocator* allocator() override;

  Storage* allocate(std::size_t bytes) override;
  void free(Storage* storage) noexcept override;
  Storage* wrap(std::uint64_t address, std::size_t bytes, std::function<void()> release) override;
  std::uint64_t address(const Storage& storage) override;
  void write(Storage& to, std::size_t offset, const void* from, std::size_t bytes) override;
  void read(const Storage& from, std::size_t offset, void* to, std::size_t bytes) override;

  void map(const MapCall& call) override;
  void reduce(const ReduceCall& call) override;
  void softmax(const AxisCall& call, SoftmaxKind kind) override;
  void moments(const AxisCall& call, const Operand& variance, std::int64_t correction) override;
  void argreduce(const AxisCall& call, bool greatest) override;
  void copy(const CopyCall& call) override;
  void gather(const IndexCall& call) override;
  void scatter_add(const IndexCall& call) override;
  void product(const ProductCall& call) override;
  void uniform(const Operand& output, std::int64_t count, RandomKey key) override;
};

}  // namespace sluice::detail
