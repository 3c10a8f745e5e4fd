#include "src/device/plugin_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "sluice/error.hpp"

namespace sluice::detail {
namespace {

constexpr std::size_t kLongestName = 32;
constexpr std::size_t kLongestText = 4096;

std::string text_of(const char* text, std::size_t most) {
  return text == nullptr ? std::string() : std::string(text, strnlen(text, most));
}

}  // namespace

PluginTable::PluginTable(const sluice_backend* table) {
  if (table == nullptr) return;
  const std::size_t size = std::min<std::size_t>(table->size, sizeof functions_);
  if (size < offsetof(sluice_backend, write_async)) return;
  std::memcpy(&functions_, table, size);
  name_ = text_of(functions_.name, kLongestName + 1);
}

std::string PluginTable::problem() const {
  if (functions_.size == 0) return "its table is too short";
  const bool named = !name_.empty() && name_.size() <= kLongestName &&
                     std::all_of(name_.begin(), name_.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  if (!named) return "its table has no name, or one with other characters than letters and digits";
  if (name_ == "CPU") return "it calls itself CPU";
  const sluice_backend& f = functions_;
  const bool whole = f.last_error != nullptr && f.device_count != nullptr && f.open != nullptr && f.info != nullptr &&
                     f.alloc != nullptr && f.free != nullptr && f.write != nullptr && f.read != nullptr;
  return whole ? "" : "its table lacks one of last_error, device_count, open, info, alloc, free, write, read";
}

std::string PluginTable::last_error() const {
  std::string text = text_of(functions_.last_error == nullptr ? nullptr : functions_.last_error(), kLongestText);
  return text.empty() ? "the backend gives no reason" : text;
}

void raise(const PluginFailure& failure, std::string_view where) {
  if (failure.status == SLUICE_OK) return;
  const std::string message = fmt::format("{}: {}", where, failure.text);
  switch (failure.status) {
    case SLUICE_OUT_OF_MEMORY: throw OutOfMemory(message);
    case SLUICE_DEVICE_LOST: throw DeviceLost(message);
    case SLUICE_UNSUPPORTED: throw Unsupported(message);
    default: throw DeviceError(message);
  }
}

}  // namespace sluice::detail
