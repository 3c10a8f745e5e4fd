#include "src/device/component_probe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "src/device/environment.hpp"
#include "src/device/plugin_file.hpp"

#if !defined(__linux__)
extern char** environ;
#endif

namespace sluice::detail {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using End = ProbeVerdict::End;

constexpr int kMaxSeconds = 20;
constexpr std::size_t kMaxOutput = 4096;

// ---- What the helper writes.

/// The last part of a helper's output, through a pipe.
class Output {
 public:
  Output() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return;
    reader_ = ends[0];
    writer_ = ends[1];
    for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
    fcntl(reader_, F_SETFL, O_NONBLOCK);
  }
  ~Output() {
    close_writer();
    close_reader();
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool is_open() const { return reader_ >= 0; }
  int writer() const { return writer_; }
  void close_writer() {
    if (writer_ >= 0) close(writer_);
    writer_ = -1;
  }

  /// Waits up to `milliseconds` for output and takes up to one buffer of it; whether there was any.
  bool take(int milliseconds) {
    pollfd wish{reader_, POLLIN, 0};
    // With its output closed the helper may still run: then this only waits.
    if (poll(&wish, reader_ >= 0 ? 1 : 0, milliseconds) <= 0) return false;
    std::array<char, kMaxOutput> buffer{};
    const ssize_t count = read(reader_, buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count <= 0) {
      close_reader();
      return false;
    }
    text_.append(buffer.data(), static_cast<std::size_t>(count));
    if (text_.size() > kMaxOutput) text_.erase(0, text_.size() - kMaxOutput);
    return true;
  }

  std::string last_line() const {
    const std::size_t end = text_.find_last_not_of("\n\r \t");
    if (end == std::string::npos) return {};
    const std::size_t newline = text_.rfind('\n', end);
    const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
    return printable(text_.substr(begin, end + 1 - begin));
  }

 private:
  void close_reader() {
    if (reader_ >= 0) close(reader_);
    reader_ = -1;
  }

  int reader_ = -1, writer_ = -1;
  std::string text_;
};

// ---- Start.

/// Starts `program` with no input and with its output in a pipe; 0, or the error number.
int start(const std::string& program, const std::vector<std::string>& arguments, int output, pid_t& child) {
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  // The pipe first: where this process has no standard input, the pipe may have its number.
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
#endif

  // What this process ignores or blocks would be so in the helper, too.
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

  const int error = posix_spawn(&child, program.c_str(), &files, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// ---- End.

enum class Wait : std::uint8_t { ended, killed, taken };

/// Waits for the helper, reading along. Its output may be closed before it ends, and may stay open after: children of
/// its own can hold it.
Wait wait_for(pid_t child, Output& output, int seconds, int& status) {
  constexpr int kLongestPause = 20;
  // A process that hangs in a driver's kernel part cannot be killed; it is not waited for.
  constexpr auto kPatience = std::chrono::seconds(2);
  auto deadline = Clock::now() + std::chrono::seconds(seconds);
  bool is_killed = false;
  for (int pause = 1;; pause = std::min(pause * 2, kLongestPause)) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child)
      return is_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? Wait::killed : Wait::ended;
    if (ended < 0 && errno != EINTR) return Wait::taken;
    if (Clock::now() >= deadline) {
      if (is_killed) return Wait::killed;
      kill(child, SIGKILL);
      is_killed = true;
      deadline = Clock::now() + kPatience;
    }
    output.take(pause);
  }
}

/// Signals that a faulty library raises in its own process; others come from outside.
bool is_fault(int signal) {
  constexpr std::array kFaults = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
  return std::find(kFaults.begin(), kFaults.end(), signal) != kFaults.end();
}

ProbeVerdict judge(int status, std::string line) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (is_fault(signal)) return {End::aborted, signal, std::move(line)};
    return {End::untried, 0, fmt::format("the helper program was ended by signal {}", signal)};
  }
  const int code = WEXITSTATUS(status);
  if (code == 0) return {End::works, 0, {}};
  if (line.empty()) line = fmt::format("the helper program ended with code {}", code);
  // 127 is the shell's and the loader's code for a program that cannot be started.
  const bool is_untried = code == kProbeUntried || code == 127;
  return {is_untried ? End::untried : End::failed, 0, std::move(line)};
}

}  // namespace

std::string to_string(const ProbeVerdict& verdict) {
  const std::string line = verdict.text.empty() ? "" : ": " + verdict.text;
  switch (verdict.end) {
    case End::works: return "works";
    case End::aborted: return fmt::format("aborted (signal {}){}", verdict.number, line);
    case End::timed_out: return fmt::format("did not answer within {} s{}", verdict.number, line);
    case End::failed: return "failed" + line;
    default: return "could not be tried" + line;
  }
}

std::string printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = ' ';
  }
  return text;
}

std::string probe_program(std::string& problem) {
  const fs::path own = own_folder();
  if (own.empty()) {
    problem = "the folder of the sluice library is unknown, so the helper program sluice-probe cannot be found";
    return {};
  }
  std::string looked;
  // The library lies in lib/ or in lib/<machine>/ of the prefix; a build folder has both in one place.
  for (const fs::path& base : {own.parent_path(), own.parent_path().parent_path(), own}) {
    const std::string path = (base / "libexec" / "sluice-probe").string();
    std::error_code error;
    if (fs::is_regular_file(path, error)) {
      const std::string real = fs::canonical(path, error).string();
      problem = real.empty() ? path + ": " + error.message() : distrust(real);
      if (problem.empty()) problem = distrust(fs::path(real).parent_path().string());
      return problem.empty() ? real : std::string();
    }
    looked += (looked.empty() ? "" : ", ") + path;
  }
  problem = fmt::format("the helper program that tries it is not installed; there is none of {}", looked);
  return {};
}

int probe_seconds() {
  const std::optional<std::string> text = environment("SLUICE_PROBE_SECONDS");
  int seconds = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), seconds).ec != std::errc())
    return kMaxSeconds;
  return std::clamp(seconds, 1, kMaxSeconds);
}

ProbeVerdict run_probe(const std::string& program, const std::vector<std::string>& arguments, int seconds) {
  Output output;
  if (!output.is_open()) return {End::untried, 0, fmt::format("no pipe can be made: {}", std::strerror(errno))};
  pid_t child = 0;
  if (const int error = start(program, arguments, output.writer(), child); error != 0) {
    return {End::untried, 0, fmt::format("{} cannot be started: {}", program, std::strerror(error))};
  }
  output.close_writer();
  int status = 0;
  const Wait wait = wait_for(child, output, seconds, status);
  // What is left in the pipe; never more than it holds, so somebody else who writes into it does not keep us here.
  for (int i = 0; i < 16 && output.take(0); ++i) continue;
  if (wait == Wait::killed) return {End::timed_out, seconds, output.last_line()};
  if (wait == Wait::taken) {
    return {End::untried, 0,
            "this program ignores SIGCHLD or waits for children that are not its own, so the end of the "
            "helper program is unknown"};
  }
  return judge(status, output.last_line());
}

}  // namespace sluice::detail
