#include "tools/sluice/diagnosis.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "sluice/backend.h"
#include "tools/sluice/output.hpp"
#include "tools/sluice/remedies.hpp"
#include "tools/sluice/trial.hpp"

namespace sluice::command {
namespace {

/// Whether a plug-in's driver is missing, does not work, or sees nothing. The report has this as text only, so the
/// plug-in, which the library has opened and found good, is asked again.
Trouble ask_driver(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return Trouble::bad_driver;
  const auto open = reinterpret_cast<sluice_backend_open_function>(dlsym(library, "sluice_backend_open"));
  const sluice_backend* const table = open == nullptr ? nullptr : open(SLUICE_BACKEND_ABI);
  if (table == nullptr) return Trouble::bad_driver;
  std::uint32_t count = 0;
  const sluice_status status = table->device_count(&count);
  if (status == SLUICE_UNSUPPORTED) return Trouble::no_driver;
  return status == SLUICE_OK ? Trouble::no_device : Trouble::bad_driver;
}

/// Whether a file's name says that it is this backend.
bool is_file_of(const std::string& path, const std::string& backend) {
  return std::filesystem::path(path).stem() == "libsluice-" + lower(backend);
}

bool is_left_out(const RefusedFile& refused) { return refused.reason.starts_with("left out"); }

class Doctor {
 public:
  Diagnosis run() {
    crashes_ = leave_out_crashes();
    {
      const Messages messages;
      result_.report = get_device_report();
      for (std::string& text : messages.of(LogLevel::warning)) {
        result_.problems.push_back({"preference", std::move(text), "correct the file"});
      }
    }
    result_.cards = find_cards();
    for (const BackendReport& backend : result_.report.backends) look_at(backend);
    look_at_preference();
    for (const RefusedFile& refused : result_.report.refused) look_at(refused);
    return std::move(result_);
  }

 private:
  void look_at(const BackendReport& backend) {
    BackendFinding finding;
    finding.facts = backend;
    finding.found = backend.loaded || refusal_of(backend.name) != nullptr;
    finding.trouble = trouble_of(finding);
    if (const Crash* const crash = crash_of(backend.name); crash != nullptr) {
      finding.trouble = Trouble::crash;
      finding.facts.loaded = true;
      finding.facts.reason = "its driver " + crash->reason;
    }
    finding.remedy = remedy_for(finding, result_.cards);
    for (const DeviceReport& device : backend.devices) {
      finding.devices.push_back({device, device.functional ? std::string() : remedy_for_device(backend.name)});
      if (device.functional) continue;
      result_.problems.push_back(
          {backend.name + " device " + std::to_string(device.id), device.reason, finding.devices.back().remedy});
    }
    if (finding.trouble == Trouble::bad_driver || finding.trouble == Trouble::crash) {
      result_.problems.push_back({backend.name, finding.facts.reason, finding.remedy});
    }
    for (const ComponentReport& component : backend.components)
      finding.components.push_back(try_out(backend, component));
    result_.backends.push_back(std::move(finding));
  }

  const Crash* crash_of(const std::string& backend) const {
    for (const Crash& crash : crashes_) {
      if (crash.plugin == lower(backend)) return &crash;
    }
    return nullptr;
  }

  const RefusedFile* refusal_of(const std::string& backend) const {
    for (const RefusedFile& refused : result_.report.refused) {
      if (is_file_of(refused.path, backend)) return &refused;
    }
    return nullptr;
  }

  static Trouble trouble_of(const BackendFinding& finding) {
    const BackendReport& backend = finding.facts;
    if (backend.functional) return Trouble::none;
    if (!backend.loaded) return finding.found ? Trouble::refused_file : Trouble::no_file;
    return backend.available ? Trouble::bad_device : ask_driver(backend.file);
  }

  static ComponentFinding try_out(const BackendReport& backend, const ComponentReport& component) {
    ComponentFinding finding{component, false, component.reason};
    if (!component.reason.empty()) return finding;
    finding.reason = backend.functional ? why(backend.name, component.name) : "not tried: no device can be used";
    finding.functional = finding.reason.empty();
    return finding;
  }

  void look_at_preference() {
    if (!result_.report.preference) return;
    const std::string wish = *result_.report.preference == "AMD" ? "AMDGPU" : *result_.report.preference;
    const BackendFinding* wished = nullptr;
    for (const BackendFinding& backend : result_.backends) {
      if (backend.facts.name == wish) wished = &backend;
    }
    result_.is_preference_followed = wished != nullptr && wished->facts.chosen;
    if (result_.is_preference_followed) return;
    const std::string& reason = wished == nullptr ? "there is no backend of that name" : wished->facts.reason;
    result_.problems.push_back(
        {"preference " + *result_.report.preference, reason, remedy_for_preference(result_.report.preference_source)});
  }

  void look_at(const RefusedFile& refused) {
    // Left out by ourselves; what is to be said stands elsewhere, unless no backend is known by that name.
    for (const Crash& crash : crashes_) {
      if (!is_left_out(refused) || !is_file_of(refused.path, crash.plugin)) continue;
      if (!is_known(crash.plugin)) add_unknown_crash(refused.path, crash);
      return;
    }
    result_.refused.push_back({refused, remedy_for_refusal(refused)});
    // A name that leads nowhere, a second file of a loaded backend and a file that the user left out do no harm.
    std::error_code error;
    const bool is_there = std::filesystem::exists(std::filesystem::symlink_status(refused.path, error));
    const bool is_spare = std::any_of(result_.backends.begin(), result_.backends.end(), [&](const auto& backend) {
      return backend.facts.loaded && is_file_of(refused.path, backend.facts.name);
    });
    if (!is_there || is_spare || is_left_out(refused)) return;
    result_.problems.push_back({refused.path, refused.reason, result_.refused.back().remedy});
  }

  bool is_known(const std::string& plugin) const {
    return std::any_of(result_.backends.begin(), result_.backends.end(),
                       [&](const BackendFinding& backend) { return lower(backend.facts.name) == plugin; });
  }

  void add_unknown_crash(const std::string& path, const Crash& crash) {
    const std::string reason = "its driver " + crash.reason, remedy = remedy_for_crash(crash.plugin);
    result_.refused.push_back({{path, reason}, remedy});
    result_.problems.push_back({path, reason, remedy});
  }

  Diagnosis result_;
  std::vector<Crash> crashes_;
};

}  // namespace

Diagnosis make_diagnosis() { return Doctor().run(); }

}  // namespace sluice::command
