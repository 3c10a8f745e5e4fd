// Which devices there are and which one is used, with the reason for every answer.
//
// A backend makes one kind of device usable: CUDA, AMDGPU, Metal or OpenCL, each a plug-in that is found and opened at
// the first question about a GPU, or another one that somebody wrote. None of these functions fails because something
// is missing; `why` and get_device_report() say what and how to mend it. Any thread may call them.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/device.hpp"

struct sluice_backend;

namespace sluice::inline v0 {

/// The backends that the library knows, in the order in which get_device() tries them. Says nothing of this machine.
SLUICE_API const std::array<std::string_view, 5>& supported_devices();

/// Whether the plug-in was opened.
SLUICE_API bool loaded(std::string_view backend);
/// Whether, besides, its driver was found and counts at least one device.
SLUICE_API bool available(std::string_view backend);
/// Whether, besides, a tiny kernel ran on one of them and gave the right numbers.
SLUICE_API bool functional(std::string_view backend);
/// Whether a vendor's library, for example "cuDNN", can be used. Its first call is made by a helper process, so that
/// one that aborts or hangs does no harm; the verdict is kept on disk. Never needed for functional(backend).
SLUICE_API bool functional(std::string_view backend, std::string_view component);
/// Why the answer is no, empty if it is yes.
SLUICE_API std::string why(std::string_view backend);
SLUICE_API std::string why(std::string_view backend, std::string_view component);

/// All usable devices: of each backend in order of preference, then the CPU. A card that two backends see is listed
/// once; processors that OpenCL presents as devices are left out.
SLUICE_API std::vector<Device> devices();
/// The usable devices of one backend, in order of their numbers. Empty if there is none.
SLUICE_API std::vector<Device> devices(std::string_view backend);

/// A device that must be there: get_device(backend, n), or with no name the device that get_device() chooses if that is
/// not the CPU. Throws DeviceError with the reason, for every backend, instead of falling back.
SLUICE_API Device require_device(std::string_view backend, int n = 0);
SLUICE_API Device require_device();

// ---- The wish for a backend.

/// Writes the wish down, for this process and into LocalPreferences.toml (nearest going up from the working folder,
/// else a new one there; table [Sluice]). Takes effect at the next get_device(). Throws ArgumentError for an unknown
/// name, FileError when it cannot be written.
SLUICE_API void set_gpu_backend(std::string_view backend);
/// Removes it again.
SLUICE_API void clear_gpu_backend();
/// The wish in force: of this process, $SLUICE_GPU_BACKEND, LocalPreferences.toml, or the user's preferences.toml.
SLUICE_API std::optional<std::string> gpu_backend();

// ---- Backends that are not found by themselves.

/// Opens a backend now: a file by its absolute path, or a name to look for in the usual folders. Returns the backend's
/// name. Throws DeviceError with the reason.
SLUICE_API std::string load_backend(std::string_view path_or_name);
/// Adds a backend that is linked into the program. Returns its name. Throws DeviceError with the reason.
SLUICE_API std::string register_backend(const sluice_backend* table);

// ---- The whole picture.

struct DeviceReport {
  int id = 0;
  std::string name, kind, architecture, driver, card;  ///< kind: "discrete", "integrated", "CPU" or "other"
  std::uint64_t memory_bytes = 0;                      ///< 0 if unknown
  bool functional = false;
  std::string reason;  ///< why it is not functional
};

struct ComponentReport {
  std::string name, file, version;
  std::string reason;  ///< why the backend does not have it; empty if it was found
};

struct BackendReport {
  std::string name;
  std::string file;  ///< of the plug-in; empty if none was opened
  bool loaded = false, available = false, functional = false;
  bool chosen = false;
  std::string reason;  ///< why it is not functional, or why it was not chosen
  std::vector<DeviceReport> devices;
  std::vector<ComponentReport> components;
};

/// A file or folder that was looked at and not used.
struct RefusedFile {
  std::string path, reason;
};

/// Where compiled kernels are kept between processes: $SLUICE_KERNEL_CACHE, a folder or "off", else the user's cache.
struct KernelCacheReport {
  std::string folder;  ///< empty if they are not kept
  std::string reason;  ///< why they are not kept, or not there
  std::uint64_t kernels = 0, bytes = 0;
};

struct SelectionReport {
  std::vector<BackendReport> backends;  ///< in order of preference, the CPU last
  std::string chosen;                   ///< as get_device() prints: "CUDA device 0: NVIDIA H200"
  std::string reason;                   ///< why that one
  std::optional<std::string> preference;
  std::string preference_source;  ///< where it was found
  std::vector<RefusedFile> refused;
  KernelCacheReport kernel_cache;
};

/// What was found for every backend, and why it was or was not chosen.
SLUICE_API SelectionReport get_device_report();
SLUICE_API std::string to_string(const SelectionReport& report);
SLUICE_API std::ostream& operator<<(std::ostream& out, const SelectionReport& report);

}  // namespace sluice::inline v0
