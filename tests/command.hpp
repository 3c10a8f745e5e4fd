// The `sluice` command as its users run it: a program of its own, with virtual plug-ins for the backends.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "simulated/controls.hpp"
#include "temporary_folder.hpp"

#if !defined(__linux__)
extern char** environ;
#endif

namespace sluice::tests {

using nlohmann::json;

inline bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

struct Ended {
  int code;  ///< 128 and the signal for one that was killed
  std::string out, err;
};

/// An empty working folder, home and cache; no plug-ins but those that a test names.
class Command : public ::testing::Test {
 protected:
  Command() {
    const std::filesystem::path root = std::filesystem::canonical(folder_.path());
    std::filesystem::create_directories(root / "work" / "below");
    std::filesystem::current_path(root / "work");
    setenv("HOME", (root / "home").c_str(), 1);
    setenv("XDG_CACHE_HOME", (root / "cache").c_str(), 1);
    setenv("XDG_CONFIG_HOME", (root / "config").c_str(), 1);
    setenv("SLUICE_KERNEL_CACHE", "off", 1);
    setenv("VIRTUAL_GPU_COUNT", "2", 1);
    for (const char* name : {"SLUICE_GPU_BACKEND", "VIRTUAL_GPU_FAULTS", "SLUICE_LOG", "SLUICE_PROBE_SECONDS"}) {
      unsetenv(name);
    }
    plug_in({});
  }

  /// Plug-ins by the names of their folders; all others that may lie beside the library are left out.
  static void plug_in(const std::vector<std::string>& names) {
    std::string folders, list = "none";
    for (const std::string& name : names) {
      folders += (folders.empty() ? "" : ":") + plugin_folder(name);
      list += "," + name;
    }
    setenv("SLUICE_BACKEND_PATH", folders.c_str(), 1);
    setenv("SLUICE_BACKENDS", list.c_str(), 1);
  }

  std::string folder(const std::string& name) const {
    return (std::filesystem::canonical(folder_.path()) / name).string();
  }

  /// Runs the command; `output` takes the place of its standard output.
  Ended run(const std::vector<std::string>& words, const std::string& output = "", const std::string& program = "") {
    const std::string out = output.empty() ? folder("out") : output, err = folder("err");
    const std::string path = program.empty() ? SLUICE_TEST_COMMAND : program;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    std::vector<char*> arguments = {const_cast<char*>("sluice")};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, path.c_str(), &files, nullptr, arguments.data(), environ), 0) << path;
    posix_spawn_file_actions_destroy(&files);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return {code, output.empty() ? content_of(out) : "", content_of(err)};
  }

  /// Its JSON; it must be whole, and nothing else on standard output.
  json run_json(std::vector<std::string> words, int code = 0) {
    words.emplace_back("--json");
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, code) << ended.err;
    json value = json::parse(ended.out, nullptr, false);
    EXPECT_FALSE(value.is_discarded()) << ended.out;
    return value;
  }
  /// What the doctor says about a backend.
  json examine(const std::string& backend, int code = 0) {
    const json report = run_json({"doctor"}, code);
    for (const json& entry : report["backends"]) {
      if (entry["name"] == backend) return entry;
    }
    ADD_FAILURE() << backend << " is not in the report";
    return {};
  }

 private:
  TemporaryFolder folder_;
};

/// The names of a JSON object's fields.
inline std::set<std::string> fields(const json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

}  // namespace sluice::tests
