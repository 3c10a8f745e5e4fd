#include "src/device/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <thread>

#include "sluice/error.hpp"
#include "src/device/device_probe.hpp"
#include "src/device/environment.hpp"
#include "src/device/fork_safe.hpp"
#include "src/device/process_state.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace sluice::detail {
namespace {

// A mutex that knows its owner, because a driver may fork in a thread that holds it.
class ForkSafeLock {
 public:
  void lock() {
    mutex_.lock();
    owner_ = std::this_thread::get_id();
  }
  void unlock() {
    owner_ = std::thread::id();
    mutex_.unlock();
  }
  bool is_mine() const { return owner_.load() == std::this_thread::get_id(); }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_;
};

ForkSafeLock& registry_lock() {
  static auto* const lock = new ForkSafeLock;
  return *lock;
}

thread_local bool held_for_fork = false;

void before_fork() {
  held_for_fork = !registry_lock().is_mine();
  if (held_for_fork) registry_lock().lock();
}
void after_fork() {
  if (held_for_fork) registry_lock().unlock();
}

#if defined(__unix__) || defined(__APPLE__)
// At load, so that no fork goes unseen.
[[maybe_unused]] const int kWatched = [] {
  watch_forks();
  return pthread_atfork(before_fork, after_fork, after_fork);
}();
#endif

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// Whether $SLUICE_BACKENDS, a comma list, lets a backend in.
bool is_wanted(std::string_view name) {
  const std::optional<std::string> list = environment("SLUICE_BACKENDS");
  if (!list) return true;
  return fmt::format(",{},", lower(*list)).find(fmt::format(",{},", lower(name))) != std::string::npos;
}

}  // namespace

struct Registry::State {
  bool is_discovered = false;
  std::vector<std::unique_ptr<BackendRecord>> backends;
  std::vector<Refusal> refusals;
  std::vector<PluginFolder> folders;
};

Registry::State& Registry::state() {
  static auto* const instance = new State;
  return *instance;
}

Registry::Registry(Find find) {
  registry_lock().lock();
  if (find == Find::yes && !state().is_discovered) discover();
}

Registry::~Registry() { registry_lock().unlock(); }

const std::vector<std::unique_ptr<BackendRecord>>& Registry::backends() const { return state().backends; }
const std::vector<Refusal>& Registry::refusals() const { return state().refusals; }
const std::vector<PluginFolder>& Registry::folders() const { return state().folders; }

BackendRecord* Registry::find(std::string_view name) const {
  for (const auto& backend : state().backends) {
    if (backend->name == name) return backend.get();
  }
  return nullptr;
}

std::vector<PluginDevice*> opened_devices() {
  const Registry registry(Registry::Find::no);
  std::vector<PluginDevice*> result;
  for (const auto& backend : registry.backends()) {
    for (const DeviceRecord& record : backend->devices) {
      if (record.device != nullptr && record.device->is_alive()) result.push_back(record.device);
    }
  }
  return result;
}

// ---- Finding.

void Registry::discover() {
  State& s = state();
  s.is_discovered = true;
  for (const std::string_view name : kKnownBackends) {
    s.backends.push_back(std::make_unique<BackendRecord>());
    s.backends.back()->name = name;
  }
  s.folders = plugin_folders();
  for (PluginFolder& folder : s.folders) {
    if (!folder.problem.empty()) continue;
    for (const std::string& path : plugin_files(folder.path, folder.problem)) {
      if (!is_wanted(plugin_name(path))) {
        note_problem(path, "left out: $SLUICE_BACKENDS does not name it");
        continue;
      }
      const OpenedPlugin plugin = open_plugin(path);
      const std::string problem = plugin.table == nullptr ? plugin.problem : adopt(plugin.table, path);
      if (!problem.empty()) note_problem(path, problem);
    }
  }
  std::string searched;
  for (const PluginFolder& folder : s.folders) searched += (searched.empty() ? "" : ", ") + folder.path;
  for (const auto& backend : s.backends) {
    if (backend->table != nullptr || !backend->load_problem.empty()) continue;
    backend->load_problem =
        fmt::format("no file {} in {}", plugin_file_name(backend->name), searched.empty() ? "any folder" : searched);
  }
}

// The backend that such a file would be keeps the reason as well.
void Registry::note_problem(const std::string& path, const std::string& problem) {
  state().refusals.push_back({path, problem});
  for (const auto& backend : state().backends) {
    if (lower(backend->name) != plugin_name(path) || backend->table != nullptr) continue;
    backend->load_problem += fmt::format("{}{}: {}", backend->load_problem.empty() ? "" : "; ", path, problem);
  }
}

std::string Registry::adopt(const sluice_backend* table, const std::string& file, BackendRecord** record) {
  auto copy = std::make_unique<PluginTable>(table);
  if (std::string problem = copy->problem(); !problem.empty()) return "refused: " + problem;
  BackendRecord* backend = find(copy->name());
  if (backend == nullptr) {
    auto& all = state().backends;
    const auto others = all.begin() + std::size(kKnownBackends);
    const auto place = std::find_if(others, all.end(), [&](const auto& b) { return b->name > copy->name(); });
    backend = all.insert(place, std::make_unique<BackendRecord>())->get();
    backend->name = copy->name();
  }
  if (record != nullptr) *record = backend;
  if (backend->table != nullptr)
    return fmt::format("not used: {} is loaded already, from {}", backend->name, backend->file);
  backend->table = std::move(copy);
  backend->file = file;
  backend->load_problem.clear();
  return {};
}

// The usual folders were searched at the first question, so a file that appeared since is looked for again.
BackendRecord* Registry::find_or_load(std::string_view name, std::string& problem) {
  for (const auto& backend : state().backends) {
    if (lower(backend->name) == lower(name) && backend->table != nullptr) return backend.get();
  }
  problem = fmt::format("no file {} in the folders that are searched", plugin_file_name(name));
  for (PluginFolder& folder : state().folders) {
    if (!folder.problem.empty()) continue;
    for (const std::string& path : plugin_files(folder.path, folder.problem)) {
      if (plugin_name(path) != lower(name)) continue;
      const OpenedPlugin plugin = open_plugin(path);
      BackendRecord* record = nullptr;
      problem = plugin.table == nullptr ? plugin.problem : adopt(plugin.table, path, &record);
      if (problem.empty()) return record;
      problem = fmt::format("{}: {}", path, problem);
    }
  }
  return nullptr;
}

BackendRecord& Registry::load_file(const std::string& path) {
  for (const auto& backend : state().backends) {
    if (backend->file == path && backend->table != nullptr) return *backend;
  }
  const OpenedPlugin plugin = open_plugin(path);
  BackendRecord* record = nullptr;
  const std::string problem = plugin.table == nullptr ? plugin.problem : adopt(plugin.table, path, &record);
  if (problem.empty()) return *record;
  note_problem(path, problem);
  throw DeviceError(fmt::format("load_backend: {}: {}", path, problem));
}

BackendRecord& Registry::add_table(const sluice_backend* table) {
  BackendRecord* record = nullptr;
  const std::string problem = adopt(table, "", &record);
  if (problem.empty()) return *record;
  throw DeviceError("register_backend: " + problem);
}

// ---- Opening.

void Registry::open_devices(BackendRecord& backend) {
  if (backend.table == nullptr || backend.is_counted) return;
  backend.is_counted = true;
  std::uint32_t count = 0;
  const PluginFailure failure = backend.table->call(&sluice_backend::device_count, &count);
  watch_process();
  backend.has_driver = failure.status != SLUICE_UNSUPPORTED;
  if (failure.status != SLUICE_OK) {
    backend.driver_problem = failure.text;
    return;
  }
  if (count == 0) {
    const char* const said = backend.table->functions().last_error();
    const std::string more = said == nullptr || *said == '\0' ? "" : fmt::format(": {}", backend.table->last_error());
    backend.driver_problem = "its driver sees no device" + more;
  }
  backend.devices.resize(std::min(count, 1024U));
  for (std::size_t i = 0; i < backend.devices.size(); ++i) {
    DeviceRecord& record = backend.devices[i];
    try {
      record.device = new PluginDevice(*backend.table, static_cast<int>(i));
    } catch (const std::exception& error) {
      record.problem = error.what();
      record.is_probed = true;
    }
  }
}

bool Registry::is_functional(DeviceRecord& device) {
  if (!device.is_probed) {
    device.is_probed = true;
    device.problem = probe_device(*device.device);
  }
  return device.device != nullptr && device.problem.empty() && device.device->is_alive();
}

std::string Registry::problem(BackendRecord& backend) {
  if (backend.table == nullptr) return backend.load_problem;
  open_devices(backend);
  if (backend.devices.empty()) return backend.driver_problem;
  for (DeviceRecord& device : backend.devices) {
    if (is_functional(device)) return {};
  }
  const DeviceRecord& first = backend.devices.front();
  if (!first.problem.empty()) return first.problem;
  return fmt::format("{} device 0 was lost, or opened before this process was forked", backend.name);
}

std::vector<DeviceRecord*> Registry::ranked(BackendRecord& backend, bool with_cpus) {
  open_devices(backend);
  std::vector<DeviceRecord*> result;
  for (const std::uint32_t kind : {SLUICE_KIND_DISCRETE, SLUICE_KIND_INTEGRATED, SLUICE_KIND_OTHER, SLUICE_KIND_CPU}) {
    if (kind == SLUICE_KIND_CPU && !with_cpus) continue;
    for (DeviceRecord& record : backend.devices) {
      if (record.device != nullptr && std::min(record.device->facts().kind, SLUICE_KIND_CPU) == kind) {
        result.push_back(&record);
      }
    }
  }
  return result;
}

}  // namespace sluice::detail
