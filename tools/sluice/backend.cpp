// `sluice backend`; main.cpp describes the JSON. The preference is the one that programs started from here will find.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sluice/backends.hpp"
#include "tools/sluice/commands.hpp"
#include "tools/sluice/output.hpp"

namespace sluice::command {
namespace {

namespace fs = std::filesystem;

struct Wish {
  std::optional<std::string> name;
  std::string source;
};

Wish wish_in_force() {
  // No driver has to start for this answer.
  setenv("SLUICE_BACKENDS", "", 1);
  const SelectionReport report = get_device_report();
  return {report.preference, report.preference_source};
}

/// The nearest LocalPreferences.toml, which the library writes to; empty if there is none.
std::string nearest_file() {
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !error && !folder.empty(); folder = folder.parent_path()) {
    const fs::path file = folder / "LocalPreferences.toml";
    std::error_code missing;
    if (fs::exists(file, missing)) return file.string();
    if (folder == folder.root_path()) break;
  }
  return {};
}

/// The beginning of a file; nothing if it is none.
std::string content_of(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  std::string content(kMost, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(content.data(), kMost);
  content.resize(static_cast<std::size_t>(file.gcount()));
  return content;
}

/// Calls `change`; the file that is another one afterwards, empty if there is none.
template <class Change>
std::string changed_by(Change change) {
  const std::string before = nearest_file(), old_content = content_of(before);
  change();
  const std::string after = nearest_file();
  return after != before || content_of(after) != old_content ? after : std::string();
}

/// What a program started from here finds after `name` was written down.
Wish wish_after_set(std::vector<std::string>& notes) {
  const char* const variable = std::getenv("SLUICE_GPU_BACKEND");
  const std::optional<std::string> name = gpu_backend();
  if (variable == nullptr || *variable == '\0') return {name, nearest_file()};
  if (name != variable) {
    notes.push_back("$SLUICE_GPU_BACKEND is set to " + std::string(variable) +
                    " and comes before the file; unset it to use " + name.value_or("the file"));
  }
  return {variable, "$SLUICE_GPU_BACKEND"};
}

std::string text_of(const Wish& wish) {
  if (!wish.name) return "no preference: get_device() chooses by itself\n";
  return *wish.name + " (" + wish.source + ")\n";
}

}  // namespace

int use_backend(const BackendOptions& options) {
  const Messages messages;
  Wish wish;
  std::string changed, text;
  std::vector<std::string> notes;
  if (options.name) {
    changed = changed_by([&] { set_gpu_backend(*options.name); });
    wish = wish_after_set(notes);
    for (const std::string& message : messages.of(LogLevel::info)) text += message + "\n";
  } else if (options.clear) {
    changed = changed_by(clear_gpu_backend);
    wish = wish_in_force();
    text = changed.empty() ? "There is nothing to clear.\n" : "Cleared in " + changed + ".\n";
    if (wish.name) text += "Now in force: " + text_of(wish);
  } else {
    wish = wish_in_force();
    text = text_of(wish);
  }
  messages.print_warnings();
  for (const std::string& note : notes) std::fprintf(stderr, "sluice: %s\n", note.c_str());
  if (!options.json) {
    print(text);
    return kFine;
  }
  Json said = Json::array();
  for (const LogLevel level : {LogLevel::info, LogLevel::warning}) {
    for (std::string& message : messages.of(level)) said.push_back(std::move(message));
  }
  for (std::string& note : notes) said.push_back(std::move(note));
  print(Json{{"preference", wish.name ? Json(*wish.name) : Json(nullptr)},
             {"source", text_or_null(wish.source)},
             {"changed", text_or_null(changed)},
             {"messages", std::move(said)}});
  return kFine;
}

}  // namespace sluice::command
