// A device behind a backend's table of C functions.
//
// Memory comes from a caching allocator of its own. A mutex guards the submission of work, not the waiting for it. A
// device that was opened before a fork, or that its backend calls lost, throws DeviceLost from then on; what is freed
// on it is forgotten without a call.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <string>

#include "src/device/allocator.hpp"
#include "src/device/device_impl.hpp"
#include "src/device/kernel_cache.hpp"
#include "src/device/kernel_store.hpp"
#include "src/device/plugin_gemm.hpp"
#include "src/device/plugin_table.hpp"
#include "src/device/recent_kernels.hpp"

namespace sluice::detail {

/// What `info` says, as the host keeps it.
struct DeviceFacts {
  std::uint32_t kind = SLUICE_KIND_OTHER;
  std::uint32_t dialect = 0;
  std::uint32_t features = 0;
  std::uint32_t max_group_size = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t local_bytes = 0;
  std::string name, architecture, driver, card;
};

class PluginDevice final : public DeviceImpl {
 public:
  /// Opens device `number`. Throws what the backend's failure stands for. `table` must live for ever.
  PluginDevice(const PluginTable& table, int number);

  std::string_view backend() const override { return table_.name(); }
  int id() const override { return number_; }
  std::string name() const override { return facts_.name; }
  bool is_host() const override { return false; }
  bool has_f64() const override { return (facts_.features & SLUICE_FEATURE_F64) != 0; }
  const DeviceFacts& facts() const { return facts_; }
  /// Whether it may be called: neither lost nor opened before a fork, and the process is not ending.
  bool is_alive() const noexcept;

  Storage* allocate(std::size_t bytes) override;
  void free(Storage* storage) noexcept override;
  void write(Storage& to, std::size_t offset, const void* from, std::size_t bytes) override;
  void read(const Storage& from, std::size_t offset, void* to, std::size_t bytes) override;
  void copy_from_device(Storage& to, const Storage& from, std::size_t from_offset, std::size_t bytes) override;
  std::uint64_t native_handle() override;
  std::size_t made_kernels() const override { return kernels_.made(); }
  CachingAllocator* allocator() override { return is_alive() ? &allocator_ : nullptr; }

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

  /// Memory that somebody else owns, as a block to put into a Storage.
  void* wrap(std::uint64_t address, std::size_t bytes);
  /// Waits for what uses the block and forgets it.
  void unwrap(void* block) noexcept;

  KernelCache& kernels() { return kernels_; }
  /// The kernel `entry` of a text: from the kernels that are kept on disk (kernel_store.hpp), else compiled. Throws
  /// DeviceError with the compiler's log and the text around the place if it does not compile. Kernels live as long as
  /// the process.
  sluice_kernel* compile(const char* text, const char* entry);
  /// How many kernels compile() has had compiled, and how many it has taken from the disk.
  std::uint64_t compiled_kernels() const noexcept { return compiled_; }
  std::uint64_t loaded_kernels() const noexcept { return loaded_; }
  void launch(sluice_kernel* kernel, std::uint32_t groups, std::uint32_t group_size,
              std::span<const sluice_argument> arguments);
  /// Whether the backend multiplies matrices; see plugin_gemm.hpp.
  bool has_gemm() const noexcept { return table_.functions().gemm != nullptr; }
  GemmChoice& gemm_choice() noexcept { return gemm_choice_; }
  /// Whether the backend has queued it; false if it does not have this product.
  bool gemm(const sluice_gemm& gemm);
  /// Asks the backend for its first call into vendor library k, in this very process.
  PluginFailure probe_component(std::uint32_t k);

 private:
  struct Block;
  class Pinned;
  class Operation;

  /// Throws DeviceLost unless the device may be called.
  void check_alive(std::string_view operation) const;
  std::string where(std::string_view operation) const;
  /// What this thread is doing, `name` if it is no operation. Text that lives for ever.
  static std::string_view operation_or(std::string_view name);
  /// Throws what the failure stands for, and remembers a loss.
  void check(const PluginFailure& failure, std::string_view operation);
  /// The first one that is thrown names the last kernels.
  [[noreturn]] void throw_lost(std::string_view operation, std::string_view reason) const;
  /// Calls a function of the table for this device, one call at a time.
  template <class Function, class... Arguments>
  PluginFailure submit(Function function, Arguments... arguments) {
    const std::lock_guard lock(submission_);
    return table_.call(function, device_, arguments...);
  }
  void* allocate_from_backend(std::size_t bytes) noexcept;
  void free_to_backend(void* handle) noexcept;
  KernelKey key_of(const sluice_source& source) const;
  /// Null if none was kept, or the backend does not take it.
  sluice_kernel* load_kept(const KernelKey& key, const char* entry);
  void keep(const KernelKey& key, sluice_kernel* kernel);
  void copy_through_host(Storage& to, const Storage& from, std::size_t from_offset, std::size_t bytes);

  const PluginTable& table_;
  const int number_;
  const int generation_;  // of the process that opened it
  sluice_device* device_ = nullptr;
  DeviceFacts facts_;
  std::mutex submission_;
  std::atomic<bool> lost_{false};
  mutable std::atomic<bool> is_loss_told_{false};
  RecentKernels recent_;
  GemmChoice gemm_choice_;
  CachingAllocator allocator_;
  KernelCache kernels_;
  std::atomic<std::uint64_t> compiled_{0}, loaded_{0};
};

}  // namespace sluice::detail
