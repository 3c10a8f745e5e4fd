#include "src/device/borrowed_memory.hpp"

#include <memory>

#include "sluice/error.hpp"
#include "src/device/plugin_device.hpp"

namespace sluice::detail {
namespace {

/// Who gets the memory back, and what the backend calls it.
struct Loan {
  PluginDevice* device;
  void* block;
  void (*give_back)(void*) noexcept;
  void* lender;
};

void end_loan(void* loan) noexcept {
  const std::unique_ptr<Loan> ended(static_cast<Loan*>(loan));
  ended->device->unwrap(ended->block);
  ended->give_back(ended->lender);
}

}  // namespace

Storage* borrow_memory(DeviceImpl* device, std::uint64_t address, std::size_t bytes, void (*give_back)(void*) noexcept,
                       void* lender) {
  auto* const plugin = dynamic_cast<PluginDevice*>(device);
  if (plugin == nullptr) throw Unsupported("memory of " + short_name(*device) + " cannot be borrowed");
  auto loan = std::make_unique<Loan>(Loan{plugin, nullptr, give_back, lender});
  auto storage = std::make_unique<LentStorage>(device, nullptr, bytes, end_loan, loan.get());
  storage->data = loan->block = plugin->wrap(address, bytes);
  static_cast<void>(loan.release());
  return storage.release();
}

}  // namespace sluice::detail
