#include "src/device/preferences.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
#include <vector>

#include "sluice/error.hpp"
#include "src/core/atomic_file.hpp"
#include "src/core/warn.hpp"
#include "src/device/environment.hpp"
#include "src/device/fork_safe.hpp"
#include "src/device/preference_file.hpp"

namespace sluice::detail {
namespace {

namespace fs = std::filesystem;

struct ProcessWish {
  std::mutex mutex;  // held while the file is written as well, so that both tell the same
  std::optional<std::string> name;
};

ProcessWish& process_wish() {
  // Leaked: static destructors may ask for devices.
  static ProcessWish* const shared = [] {
    auto* const made = new ProcessWish;
    hold_during_fork(made->mutex);
    return made;
  }();
  return *shared;
}
// Made while the library is loaded, so that no fork meets it half made.
[[maybe_unused]] const ProcessWish& kMadeAtLoad = process_wish();

/// LocalPreferences.toml of the working folder and of those above it. Empty if the working folder is gone.
std::vector<std::string> local_files() {
  std::vector<std::string> files;
  std::error_code error;
  fs::path folder = fs::current_path(error);
  while (!folder.empty()) {
    files.push_back((folder / "LocalPreferences.toml").string());
    fs::path parent = folder.parent_path();
    if (parent == folder) break;
    folder = std::move(parent);
  }
  return files;
}

/// Relative paths there are to be ignored, says the XDG base directory specification.
std::optional<std::string> user_file() {
  fs::path folder = environment("XDG_CONFIG_HOME").value_or("");
  if (!folder.is_absolute()) {
    const fs::path home = environment("HOME").value_or("");
    if (!home.is_absolute()) return std::nullopt;
    folder = home / ".config";
  }
  return (folder / "sluice" / "preferences.toml").string();
}

std::optional<Preference> wish_in_files() {
  std::vector<std::string> files = local_files();
  if (std::optional<std::string> file = user_file()) files.push_back(*std::move(file));
  for (const std::string& path : files) {
    const std::optional<std::string> text = read_preference_file(path);
    if (!text) continue;
    if (std::optional<Preference> wish = find_gpu_backend(path, *text)) return wish;
  }
  return std::nullopt;
}

std::optional<Preference> find_wish() {
  {
    ProcessWish& wish = process_wish();
    const std::lock_guard lock(wish.mutex);
    if (wish.name) return Preference{*wish.name, "set_gpu_backend"};
  }
  if (std::optional<std::string> value = environment("SLUICE_GPU_BACKEND")) {
    if (!value->empty()) return Preference{*std::move(value), "$SLUICE_GPU_BACKEND"};
    warn_once("$SLUICE_GPU_BACKEND is empty",
              "$SLUICE_GPU_BACKEND is empty and counts as not set; unset it or name a backend.");
  }
  return wish_in_files();
}

struct NearestFile {
  std::string path;
  std::optional<std::string> text;  // nothing: there is none yet
};

NearestFile nearest_file() {
  const std::vector<std::string> files = local_files();
  if (files.empty()) throw FileError("the working folder is gone; change to one that is there");
  for (const std::string& path : files) {
    if (std::optional<std::string> text = read_preference_file(path)) return {path, std::move(text)};
  }
  return {files.front(), std::nullopt};
}

void replace(const std::string& operation, const NearestFile& file, std::string_view text) {
  // A file that is protected against writing could be replaced all the same.
  if (file.text && faccessat(AT_FDCWD, file.path.c_str(), W_OK, AT_EACCESS) != 0) {
    throw FileError(
        fmt::format("{}: {}: it may not be written: {}", operation, file.path, std::generic_category().message(errno)));
  }
  AtomicFile written(file.path, operation);
  written.write(std::as_bytes(std::span(text)));
  written.commit();
}

struct EditedFile {
  std::string path;
  bool has_changed;
};

/// Gives the nearest file the text that `edit(path, text)` makes of its own. A file for which that is the same is not
/// written.
template <class Edit>
EditedFile edit_nearest_file(const std::string& operation, Edit edit) {
  NearestFile file;
  std::string edited;
  try {
    file = nearest_file();
    edited = edit(file.path, file.text.value_or(""));
  } catch (const FileError& error) {
    throw FileError(fmt::format("{}: {}", operation, error.what()));
  }
  const bool has_changed = edited != file.text.value_or("");
  if (has_changed) replace(operation, file, edited);
  return {file.path, has_changed};
}

}  // namespace

std::optional<Preference> gpu_backend_preference() {
  try {
    return find_wish();
  } catch (const FileError& error) {
    const std::string text = fmt::format(
        "The `gpu_backend` preference cannot be read from {}\n"
        "Defaulting to automatic device selection.",
        error.what());
    warn_once(text, text);
  } catch (const std::bad_alloc&) {  // a choice is possible without it
  }
  return std::nullopt;
}

std::string store_gpu_backend(std::string_view name) {
  ProcessWish& wish = process_wish();
  std::string kept(name);
  const std::lock_guard lock(wish.mutex);
  EditedFile file = edit_nearest_file("set_gpu_backend", [name](const std::string& path, const std::string& text) {
    return with_gpu_backend(path, text, name);
  });
  wish.name = std::move(kept);
  return std::move(file.path);
}

std::string clear_stored_gpu_backend() {
  ProcessWish& wish = process_wish();
  const std::lock_guard lock(wish.mutex);
  EditedFile file = edit_nearest_file("clear_gpu_backend", without_gpu_backend);
  wish.name.reset();
  return file.has_changed ? std::move(file.path) : std::string();
}

}  // namespace sluice::detail
