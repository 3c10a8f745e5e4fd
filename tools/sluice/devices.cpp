// `sluice devices`; main.cpp describes the JSON.
#include <algorithm>
#include <cstdio>

#include "sluice/backends.hpp"
#include "tools/sluice/commands.hpp"
#include "tools/sluice/output.hpp"

namespace sluice::command {
namespace {

Json json_of(const SelectionReport& report) {
  Json devices = Json::array();
  for (const BackendReport& backend : report.backends) {
    for (const DeviceReport& device : backend.devices) {
      devices.push_back({{"backend", backend.name},
                         {"id", device.id},
                         {"name", text_or_null(device.name)},
                         {"kind", text_or_null(device.kind)},
                         {"memory_bytes", device.memory_bytes == 0 ? Json(nullptr) : Json(device.memory_bytes)},
                         {"architecture", text_or_null(device.architecture)},
                         {"driver", text_or_null(device.driver)},
                         {"card", text_or_null(device.card)},
                         {"functional", device.functional},
                         {"reason", text_or_null(device.reason)}});
    }
  }
  return {{"chosen", report.chosen}, {"devices", std::move(devices)}};
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string to_text(const SelectionReport& report) {
  Table table({"BACKEND", "NUMBER", "NAME", "KIND", "MEMORY", "DRIVER", "USABLE"});
  std::string reasons;
  for (const BackendReport& backend : report.backends) {
    for (const DeviceReport& device : backend.devices) {
      table.add({backend.name, std::to_string(device.id), or_dash(device.name), or_dash(device.kind),
                 memory_text(device.memory_bytes), or_dash(device.driver), yes_no(device.functional)});
      if (device.functional) continue;
      reasons += "\n" + backend.name + " device " + std::to_string(device.id) + " cannot be used: " + device.reason;
    }
  }
  const std::string advice = reasons.empty() ? "" : reasons + "\n`sluice doctor` says what to do.\n";
  return table.text() + advice + "\nget_device() gives " + report.chosen + "\n";
}

bool has_gpu(const SelectionReport& report) {
  return std::any_of(report.backends.begin(), report.backends.end(), [](const BackendReport& backend) {
    return backend.name != "CPU" &&
           std::any_of(backend.devices.begin(), backend.devices.end(),
                       [](const DeviceReport& device) { return device.functional && device.kind != "CPU"; });
  });
}

}  // namespace

int show_devices(const DevicesOptions& options) {
  const Messages messages;
  const SelectionReport report = get_device_report();
  messages.print_warnings();
  if (options.json) print(json_of(report));
  else print(to_text(report));
  if (!options.require_gpu || has_gpu(report)) return kFine;
  std::fputs("sluice: only the CPU can be used here; `sluice doctor` says why\n", stderr);
  return kFinding;
}

}  // namespace sluice::command
