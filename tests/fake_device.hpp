// A device that is not the host: it keeps bytes and counts what is read from them, and computes nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sluice/error.hpp"
#include "src/device/device_impl.hpp"

namespace sluice::tests {

class FakeDevice final : public detail::DeviceImpl {
 public:
  explicit FakeDevice(int id = 0) : id_(id) {}

  std::string_view backend() const override { return "CUDA"; }
  int id() const override { return id_; }
  std::string name() const override { return "Fake"; }
  bool is_host() const override { return false; }

  detail::Storage* allocate(std::size_t bytes) override {
    ++blocks;
    return new detail::Storage(this, std::malloc(bytes + 1), bytes);
  }
  void free(detail::Storage* storage) noexcept override {
    --blocks;
    std::free(storage->data);
    delete storage;
  }
  void write(detail::Storage& to, std::size_t offset, const void* from, std::size_t bytes) override {
    std::memcpy(static_cast<std::byte*>(to.data) + offset, from, bytes);
  }
  void read(const detail::Storage& from, std::size_t offset, void* to, std::size_t bytes) override {
    bytes_read += bytes;
    std::memcpy(to, static_cast<const std::byte*>(from.data) + offset, bytes);
  }

  void map(const detail::MapCall&) override { refuse(); }
  void reduce(const detail::ReduceCall&) override { refuse(); }
  void softmax(const detail::AxisCall&, detail::SoftmaxKind) override { refuse(); }
  void moments(const detail::AxisCall&, const detail::Operand&, std::int64_t) override { refuse(); }
  void argreduce(const detail::AxisCall&, bool) override { refuse(); }
  void copy(const detail::CopyCall&) override { refuse(); }
  void gather(const detail::IndexCall&) override { refuse(); }
  void scatter_add(const detail::IndexCall&) override { refuse(); }
  void product(const detail::ProductCall&) override { refuse(); }
  void uniform(const detail::Operand&, std::int64_t, RandomKey) override { refuse(); }

  std::atomic<int> blocks = 0;  // allocated and not freed
  std::size_t bytes_read = 0;   // since the start

 private:
  [[noreturn]] static void refuse() { throw Unsupported("FakeDevice computes nothing"); }
  int id_;
};

}  // namespace sluice::tests
