// What backends there are: finds their files at the first question about a GPU, opens drivers and devices as far as the
// question needs, and keeps every answer with its reason. Nothing here throws but what says so.
//
//   loaded      its plug-in was opened
//   available   its driver was found and counts at least one device
//   functional  a tiny kernel ran on one of its devices and gave the right numbers
//
// The registry and all it holds live for ever: tensors may outlive everything. One mutex guards it all; it is held
// while a driver starts, so that many threads at their first question see one start. A driver that forks while it
// starts does not hang on it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/device/plugin_device.hpp"
#include "src/device/plugin_file.hpp"

namespace sluice::detail {

/// The backends the library knows by name, in the order of preference, without the CPU.
inline constexpr std::string_view kKnownBackends[] = {"CUDA", "AMDGPU", "Metal", "OpenCL"};

/// One device as far as it was looked at.
struct DeviceRecord {
  PluginDevice* device = nullptr;  ///< null if it could not be opened
  std::string problem;             ///< why it is not usable, empty if it is or was not asked
  bool is_probed = false;
};

/// One backend.
struct BackendRecord {
  std::string name;
  std::string file;                    ///< empty for a registered table
  std::unique_ptr<PluginTable> table;  ///< null: not loaded
  std::string load_problem;            ///< why it is not loaded
  bool is_counted = false;
  bool has_driver = false;     ///< the driver answered, or is there and does not work
  std::string driver_problem;  ///< why there is no device
  std::vector<DeviceRecord> devices;
};

/// A file or folder that was looked at and not used.
struct Refusal {
  std::string path;
  std::string problem;
};

/// The lock on the registry. All that follows is reached through it.
class Registry {
 public:
  enum class Find : std::uint8_t { yes, no };
  /// Waits for others; the first one in a process finds the backends, unless it is told not to.
  explicit Registry(Find find = Find::yes);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// All known backends in the order of preference, then others that were found, by name.
  const std::vector<std::unique_ptr<BackendRecord>>& backends() const;
  /// The one of that name, null if there is none, loaded or known.
  BackendRecord* find(std::string_view name) const;
  const std::vector<Refusal>& refusals() const;
  const std::vector<PluginFolder>& folders() const;

  /// Counts and opens the devices of a backend, once.
  void open_devices(BackendRecord& backend);
  /// Runs the probe on a device, once; whether it may be used.
  bool is_functional(DeviceRecord& device);
  /// Why a backend is not functional: the first reason on the way; empty if it is.
  std::string problem(BackendRecord& backend);
  /// Devices of a backend from the best to the worst: discrete before integrated before others, then by number. CPUs in
  /// the dress of a device come last if `with_cpus`, else not at all. Not probed.
  std::vector<DeviceRecord*> ranked(BackendRecord& backend, bool with_cpus);

  /// The loaded backend of that name in any spelling, else the one in a file of that name in the usual folders; null
  /// with the reason if there is none.
  BackendRecord* find_or_load(std::string_view name, std::string& problem);
  /// Opens the backend in a file. Throws DeviceError with the reason.
  BackendRecord& load_file(const std::string& path);
  /// Adds a table that is part of the program. Throws DeviceError with the reason.
  BackendRecord& add_table(const sluice_backend* table);

 private:
  struct State;
  static State& state();
  void discover();
  /// Takes over an opened file or a table; why not, else.
  std::string adopt(const sluice_backend* table, const std::string& file, BackendRecord** record = nullptr);
  void note_problem(const std::string& path, const std::string& problem);
};

/// The devices opened so far that are alive. Opens nothing and finds nothing.
std::vector<PluginDevice*> opened_devices();

}  // namespace sluice::detail
