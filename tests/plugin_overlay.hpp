// A backend's table with functions of a test in some places, and a device behind it that only the test knows.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "kept.hpp"
#include "sluice/backend.h"
#include "src/device/plugin_device.hpp"
#include "src/device/plugin_table.hpp"

namespace sluice::tests {

/// The table of the plug-in in a file.
inline const sluice_backend& table_of(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return *reinterpret_cast<sluice_backend_open_function>(dlsym(library, "sluice_backend_open"))(SLUICE_BACKEND_ABI);
}

/// Device `number` behind a changed copy of a table. Both live for ever, as devices do.
inline detail::PluginDevice& device_behind(const sluice_backend& table, int number = 0) {
  std::uint32_t count = 0;
  if (table.device_count(&count) != SLUICE_OK) throw std::runtime_error(table.last_error());
  const auto* const whole = kept(new detail::PluginTable(&table));
  return *kept(new detail::PluginDevice(*whole, number));
}

}  // namespace sluice::tests
