#include "tools/sluice/trial.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include "sluice/backends.hpp"
#include "tools/sluice/output.hpp"

namespace sluice::command {
namespace {

constexpr unsigned kMaxSeconds = 60;
constexpr const char* kSwitch = "SLUICE_BACKENDS";

unsigned seconds() {
  const char* const text = std::getenv("SLUICE_DOCTOR_SECONDS");
  const long value = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return value < 1 || value > kMaxSeconds ? kMaxSeconds : static_cast<unsigned>(value);
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::string content_of(std::FILE* file) {
  std::string content;
  std::array<char, 4096> buffer{};
  std::rewind(file);
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file))
    content.append(buffer.data(), count);
  return content;
}

std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) result = line;
  }
  return result;
}

/// What a child said and how it ended.
struct ChildEnd {
  int status = 0;
  std::string out;
};

/// Runs `body` in a child that has as long as a driver may need. Nothing if no child can be made.
template <class Body>
std::optional<ChildEnd> run_in_child(Body body) {
  const File out(std::tmpfile(), std::fclose);
  if (out == nullptr) return std::nullopt;
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    alarm(seconds());
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) dup2(fileno(out.get()), descriptor);
    try {
      body();
    } catch (...) {
    }
    std::fflush(stdout);
    _exit(0);
  }
  ChildEnd end;
  while (waitpid(child, &end.status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  end.out = content_of(out.get());
  return end;
}

/// How a report on these backends ends the process, empty if it does not.
std::string reason_to_leave_out(const std::optional<std::string>& list) {
  const auto end = run_in_child([&] {
    if (list) setenv(kSwitch, list->c_str(), 1);
    get_device_report();
  });
  if (!end || !WIFSIGNALED(end->status)) return {};
  const int signal = WTERMSIG(end->status);
  if (signal == SIGALRM) return "did not answer within " + std::to_string(seconds()) + " s";
  const std::string line = last_line(end->out);
  return "ended the process (signal " + std::to_string(signal) + ")" + (line.empty() ? "" : ": " + line);
}

/// The plug-ins in the folders that are searched, none of which is opened for this.
std::vector<std::string> plugins() {
  const auto end = run_in_child([] {
    setenv(kSwitch, "", 1);
    for (const RefusedFile& refused : get_device_report().refused) {
      const std::string stem = std::filesystem::path(refused.path).stem().string();
      constexpr std::string_view kPrefix = "libsluice-";
      if (stem.starts_with(kPrefix)) std::printf("%s\n", lower(stem.substr(kPrefix.size())).c_str());
    }
  });
  std::vector<std::string> names;
  std::istringstream lines(end ? end->out : "");
  for (std::string name; std::getline(lines, name);) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

bool is_wanted(const std::string& plugin) {
  const char* const list = std::getenv(kSwitch);
  return list == nullptr || ("," + lower(list) + ",").find("," + plugin + ",") != std::string::npos;
}

}  // namespace

std::vector<Crash> leave_out_crashes() {
  std::vector<Crash> crashes;
  if (reason_to_leave_out(std::nullopt).empty()) return crashes;
  std::string others;
  for (const std::string& plugin : plugins()) {
    if (!is_wanted(plugin)) continue;
    const std::string reason = reason_to_leave_out(plugin);
    if (!reason.empty()) crashes.push_back({plugin, reason});
    else others += (others.empty() ? "" : ",") + plugin;
  }
  setenv(kSwitch, others.c_str(), 1);
  return crashes;
}

}  // namespace sluice::command
