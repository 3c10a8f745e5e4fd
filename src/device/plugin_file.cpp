#include "src/device/plugin_file.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "src/device/elf_file.hpp"
#include "src/device/environment.hpp"

namespace sluice::detail {
namespace {

namespace fs = std::filesystem;

#if defined(__APPLE__)
constexpr std::string_view kSuffix = ".dylib";
#else
constexpr std::string_view kSuffix = ".so";
#endif
constexpr std::string_view kPrefix = "libsluice-";

std::string canonical(const std::string& path) {
  std::error_code error;
  const fs::path result = fs::canonical(path, error);
  return error ? std::string() : result.string();
}

/// Why a folder of $SLUICE_BACKEND_PATH is not searched.
std::string folder_problem(const std::string& entry) {
  if (entry.empty() || entry.front() != '/') return "refused: not an absolute path";
  const std::string real = canonical(entry);
  if (real.empty()) return "does not exist";
  std::error_code error;
  const fs::path working = fs::current_path(error);
  if (!error && real == canonical(working.string())) return "refused: it is the working folder";
  const std::optional<std::string> home = environment("HOME");
  if (home && !home->empty() && real == canonical(*home)) return "refused: it is the home folder";
  return distrust(real);
}

void add_environment_folders(std::vector<PluginFolder>& folders) {
  const std::optional<std::string> list = environment("SLUICE_BACKEND_PATH");
  if (!list || list->empty()) return;
  std::string_view rest = *list;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string entry(rest.substr(0, colon));
    folders.push_back({entry, folder_problem(entry)});
    if (colon == std::string_view::npos) return;
    rest.remove_prefix(colon + 1);
  }
}

const char* loader_message() {
  const char* const message = dlerror();
  return message != nullptr ? message : "the loader gives no reason";
}

}  // namespace

std::string distrust(const std::string& path) {
  for (fs::path at = path; !at.empty(); at = at.parent_path()) {
    struct stat status {};
    if (stat(at.c_str(), &status) != 0) return fmt::format("{}: {}", at.string(), std::strerror(errno));
    const bool is_parent = at != path;
    const bool others_write = (status.st_mode & S_IWOTH) != 0;
    // In a folder like /tmp others may add files, but neither remove nor replace ours.
    if (others_write && !(is_parent && (status.st_mode & S_ISVTX) != 0)) {
      return fmt::format("refused: others may write {}; chmod o-w it", at.string());
    }
    if (!is_parent && status.st_uid != 0 && status.st_uid != geteuid()) {
      return fmt::format("refused: {} belongs to another user", at.string());
    }
    if (at == at.root_path()) break;
  }
  return {};
}

std::string file_of(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return {};
  std::string file = canonical(info.dli_fname);
  // The name of a program is what its caller made of it; the kernel knows better.
  const std::string program = canonical("/proc/self/exe");
  if (file.empty() || fs::path(file).filename() == fs::path(program).filename()) file = program;
  return file;
}

std::string file_state(const std::string& file) {
  struct stat status {};
  if (file.empty() || stat(file.c_str(), &status) != 0) return file + " (no file)";
#if defined(__APPLE__)
  const timespec& time = status.st_mtimespec;
#else
  const timespec& time = status.st_mtim;
#endif
  return fmt::format("{} ({} bytes, {}.{:09})", file, status.st_size, static_cast<std::int64_t>(time.tv_sec),
                     static_cast<std::int64_t>(time.tv_nsec));
}

std::string own_folder() {
  const std::string file = file_of(reinterpret_cast<const void*>(&own_folder));
  return file.empty() ? std::string() : fs::path(file).parent_path().string();
}

std::vector<PluginFolder> plugin_folders() {
  std::vector<PluginFolder> folders;
  add_environment_folders(folders);
  const std::string own = own_folder();
  if (own.empty()) return folders;
  const fs::path prefix = fs::path(own).parent_path();
  for (const fs::path& folder : {fs::path(own), fs::path(own) / "sluice", prefix / "lib" / "sluice"}) {
    std::error_code error;
    const std::string path = folder.string();
    const bool known =
        std::any_of(folders.begin(), folders.end(), [&](const auto& f) { return f.path == path && f.problem.empty(); });
    if (!known && fs::is_directory(folder, error)) folders.push_back({path, distrust(path)});
  }
  return folders;
}

std::vector<std::string> plugin_files(const std::string& folder, std::string& problem) {
  std::vector<std::string> files;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string path = at->path().string();
    if (!plugin_name(path).empty()) files.push_back(path);
  }
  if (error) problem = fmt::format("cannot be read: {}", error.message());
  std::sort(files.begin(), files.end());
  return files;
}

std::string plugin_file_name(std::string_view backend) {
  std::string file(kPrefix);
  for (const char c : backend) file += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return file.append(kSuffix);
}

std::string plugin_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (file.size() <= kPrefix.size() + kSuffix.size() || !file.starts_with(kPrefix) || !file.ends_with(kSuffix))
    return {};
  file.remove_prefix(kPrefix.size());
  file.remove_suffix(kSuffix.size());
  return std::string(file);
}

OpenedPlugin open_plugin(const std::string& path) {
  const std::string real = canonical(path);
  if (real.empty()) return {nullptr, "does not exist, or is a link to nowhere"};
  if (std::string problem = distrust(real); !problem.empty()) return {nullptr, std::move(problem)};
  if (std::string problem = distrust(fs::path(real).parent_path().string()); !problem.empty())
    return {nullptr, std::move(problem)};
  if (std::string problem = library_problem(real); !problem.empty()) return {nullptr, std::move(problem)};

  void* const handle = dlopen(real.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {nullptr, fmt::format("the loader refuses it: {}", loader_message())};
  // From here on the file stays open: its threads and thread-locals make closing unsafe.
  const auto* const abi = static_cast<const std::uint32_t*>(dlsym(handle, "sluice_backend_abi"));
  if (abi == nullptr) {
    return {nullptr,
            fmt::format("refused: it has no sluice_backend_abi; this library wants ABI {}", SLUICE_BACKEND_ABI)};
  }
  if (*abi != SLUICE_BACKEND_ABI) {
    return {nullptr, fmt::format("refused: it was made for ABI {}, this library has ABI {}; install matching versions",
                                 *abi, SLUICE_BACKEND_ABI)};
  }
  const auto open = reinterpret_cast<sluice_backend_open_function>(dlsym(handle, "sluice_backend_open"));
  if (open == nullptr) return {nullptr, "refused: it has no sluice_backend_open"};
  try {
    const sluice_backend* const table = open(SLUICE_BACKEND_ABI);
    if (table == nullptr) return {nullptr, "its sluice_backend_open returned nothing"};
    return {table, {}};
  } catch (...) {
    return {nullptr, "its sluice_backend_open threw an exception"};
  }
}

}  // namespace sluice::detail
