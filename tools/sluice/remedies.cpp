#include "tools/sluice/remedies.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "tools/sluice/output.hpp"

namespace sluice::command {
namespace {

struct DriverAdvice {
  std::string_view backend;
  std::string_view install;  // where there is no driver
  std::string_view check;    // a program of the maker that must work first
  std::string_view visible;  // variables that hide devices, separated by spaces
};

constexpr DriverAdvice kAdvice[] = {
    {"CUDA", "install NVIDIA's driver (Debian: nvidia-driver); start a container with --gpus all", "nvidia-smi",
     "CUDA_VISIBLE_DEVICES"},
    {"AMDGPU", "install ROCm's HIP run-time (rocm-hip-runtime)", "rocminfo",
     "HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES"},
    {"OpenCL",
     "install an OpenCL driver: that of the card's maker, intel-opencl-icd, or pocl-opencl-icd for processors",
     "clinfo", ""},
    {"Metal", "update macOS", "system_profiler SPDisplaysDataType", ""},
    {"", "install the driver of this plug-in", "", ""},
};

const DriverAdvice& advice_for(std::string_view backend) {
  const DriverAdvice* at = kAdvice;
  while (!at->backend.empty() && at->backend != backend) ++at;
  return *at;
}

std::string library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&supported_devices), &info) == 0) return "the sluice library's folder";
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  return error ? "the sluice library's folder" : file.parent_path().string();
}

/// Whether a backend for one maker's cards stands on a machine without any.
bool is_pointless(const std::string& backend, const std::optional<std::vector<Card>>& cards) {
  const std::string maker = maker_of(backend);
  return !maker.empty() && cards &&
         std::none_of(cards->begin(), cards->end(), [&](const Card& card) { return card.vendor == maker; });
}

std::string where_to_put_the_file(const std::string& backend) {
#if defined(__APPLE__)
  const std::string ending = ".dylib";
#else
  const std::string ending = ".so";
#endif
  const std::string file = "libsluice-" + lower(backend) + ending;
  return "put Sluice's plug-in " + file + " into " + library_folder() +
         "/sluice, or name its folder in "
         "$SLUICE_BACKEND_PATH";
}

std::string check_first(const DriverAdvice& advice) {
  return advice.check.empty() ? "" : "; `" + std::string(advice.check) + "` must work first";
}

/// The variables that are set and may hide the devices.
std::string hiding_variables(std::string_view names) {
  std::string found;
  while (!names.empty()) {
    const std::string name(names.substr(0, names.find(' ')));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const char* const value = std::getenv(name.c_str());
    if (value != nullptr) found += (found.empty() ? "" : ", ") + name + " (now \"" + value + "\")";
  }
  return found;
}

std::string make_devices_visible(const DriverAdvice& advice) {
  const std::string hiding = hiding_variables(advice.visible);
  if (!hiding.empty()) return "unset or correct " + hiding;
  if (advice.check.empty()) return "see that the device is plugged in, and visible in this container";
  return "if there is a device, `" + std::string(advice.check) + "` must show it; a container needs access to it";
}

}  // namespace

std::string remedy_for(const BackendFinding& backend, const std::optional<std::vector<Card>>& cards) {
  const std::string& name = backend.facts.name;
  const DriverAdvice& advice = advice_for(name);
  switch (backend.trouble) {
    case Trouble::none: return {};
    case Trouble::refused_file: return "see the file under \"not used\"";
    case Trouble::bad_driver: return "update the driver" + check_first(advice);
    case Trouble::bad_device: return remedy_for_device(name);
    case Trouble::crash: return remedy_for_crash(name);
    default: break;
  }
#if !defined(__APPLE__)
  const bool is_absent = backend.trouble == Trouble::no_file || backend.trouble == Trouble::no_driver;
  if (name == "Metal" && is_absent) return "none needed: Metal is a part of macOS only";
#endif
  // Some cards are not on the bus, for example a Jetson's.
  const std::string condition = is_pointless(name, cards) ? "none needed without a card of " + maker_of(name) +
                                                                ", and the PCI bus shows none; else "
                                                          : "";
  if (backend.trouble == Trouble::no_file) return condition + where_to_put_the_file(name);
  if (backend.trouble == Trouble::no_driver) return condition + std::string(advice.install);
  return condition + make_devices_visible(advice);
}

std::string remedy_for_crash(const std::string& backend) {
  return "update the driver" + check_first(advice_for(backend)) +
         "; until then name the other plug-ins in $SLUICE_BACKENDS (a comma list), which leaves this one alone";
}

std::string remedy_for_device(const std::string& backend) {
  return "update the driver" + check_first(advice_for(backend)) +
         "; `sluice backend CPU` leaves the device alone and silences the warning";
}

std::string remedy_for_refusal(const RefusedFile& refused) {
  struct Advice {
    std::string_view words, remedy;
  };
  // The words are the library's own, from src/device/plugin_file.cpp and registry.cpp.
  constexpr Advice kRefusals[] = {
      {"others may write", "close it to others with chmod o-w, or move the plug-in into a folder of yours"},
      {"belongs to another user", "copy it to a folder of yours, or let root own it"},
      {"the loader refuses it", "install the library that the loader misses; ldd lists them all"},
      {"ABI", "install the plug-in that belongs to Sluice " SLUICE_VERSION_STRING},
      {"left out", "name it in $SLUICE_BACKENDS, or unset that variable"},
      {"is loaded already", "none needed: remove one of the two files if the wrong one is used"},
      {"working folder", "move the plug-ins into a folder of their own"},
      {"home folder", "move the plug-ins into a folder of their own"},
      {"not an absolute path", "write the whole path into $SLUICE_BACKEND_PATH"},
      {"link to nowhere", "install the file again"},
      {"does not exist", "correct $SLUICE_BACKEND_PATH"},
  };
  for (const Advice& advice : kRefusals) {
    if (refused.reason.find(advice.words) != std::string::npos) return std::string(advice.remedy);
  }
  return "install it again, whole and for this machine";
}

std::string remedy_for_preference(const std::string& source) {
  if (source.starts_with('$')) return "unset " + source.substr(1) + ", or set it to a backend that is functional";
  return "`sluice backend NAME` with a backend that is functional, or remove the line at " + source;
}

}  // namespace sluice::command
