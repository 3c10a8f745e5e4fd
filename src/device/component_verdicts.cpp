#include "src/device/component_verdicts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "src/device/environment.hpp"

namespace sluice::detail {
namespace {

namespace fs = std::filesystem;
using End = ProbeVerdict::End;

constexpr std::size_t kMaxBytes = 16384;

constexpr std::array<std::pair<End, std::string_view>, 4> kWords = {
    {{End::works, "works"}, {End::aborted, "aborted"}, {End::timed_out, "timed-out"}, {End::failed, "failed"}}};

/// An absolute path in a variable, empty if it has none.
std::string folder_in(const char* name) {
  const std::optional<std::string> value = environment(name);
  return value && value->starts_with('/') ? *value : std::string();
}

/// The folder under which "sluice/probe" lies.
std::string cache_folder() {
  if (std::string folder = folder_in("XDG_CACHE_HOME"); !folder.empty()) return folder;
  const std::string home = folder_in("HOME");
  return home.empty() ? home : home + "/.cache";
}

/// The same in every process, unlike std::hash.
std::uint64_t hash(std::string_view text) {
  std::uint64_t result = 0xcbf29ce484222325U;
  for (const char c : text) result = (result ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return result;
}

/// Whether something is this user's and nobody else may change it.
bool is_ours(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Whether `folder` exists in the end, for this user alone.
bool make_folder(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno == ENOENT) {
    if (folder == folder.parent_path() || !make_folder(folder.parent_path())) return false;
    mkdir(folder.c_str(), 0700);
  }
  struct stat status {};
  return stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_folder_ours(const fs::path& folder) {
  struct stat status {};
  return stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && is_ours(status);
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  bool is_ours() const {
    struct stat status {};
    return fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && detail::is_ours(status);
  }
  /// Nothing if the file is too long.
  std::optional<std::string> read_all() const {
    std::string text(kMaxBytes, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
      const ssize_t count = read(descriptor_, text.data() + size, text.size() - size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return std::nullopt;
      if (count == 0) {
        text.resize(size);
        return text;
      }
      size += static_cast<std::size_t>(count);
    }
    return std::nullopt;
  }
  bool write_all(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = write(descriptor_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  /// A full disk may show only now.
  bool finish() { return close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

/// The key, then "verdict <word> <number> <text>".
std::string head(const std::string& key) { return key + "\nverdict "; }

std::optional<ProbeVerdict> parse(std::string_view text) {
  if (!text.ends_with('\n')) return std::nullopt;
  text.remove_suffix(1);
  const std::size_t first = text.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  ProbeVerdict verdict;
  const char* const end = text.data() + second;
  const auto number = std::from_chars(text.data() + first + 1, end, verdict.number);
  if (number.ec != std::errc() || number.ptr != end) return std::nullopt;
  verdict.text = printable(std::string(text.substr(second + 1)));
  for (const auto& [value, word] : kWords) {
    if (text.substr(0, first) == word) verdict.end = value;
  }
  if (verdict.end == End::untried) return std::nullopt;
  return verdict;
}

}  // namespace

std::string verdict_file(const std::string& key) {
  const std::string folder = cache_folder();
  return folder.empty() ? folder : fmt::format("{}/sluice/probe/{:016x}", folder, hash(key));
}

std::optional<ProbeVerdict> load_verdict(const std::string& file, const std::string& key) {
  if (file.empty() || !is_folder_ours(fs::path(file).parent_path())) return std::nullopt;
  // A pipe in the file's place would wait for a writer.
  const File opened(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!opened.is_open() || !opened.is_ours()) return std::nullopt;
  const std::optional<std::string> text = opened.read_all();
  const std::string start = head(key);
  if (!text || !text->starts_with(start)) return std::nullopt;
  return parse(std::string_view(*text).substr(start.size()));
}

bool keep_verdict(const std::string& file, const std::string& key, const ProbeVerdict& verdict) {
  const fs::path folder = fs::path(file).parent_path();
  if (file.empty() || !make_folder(folder) || !is_folder_ours(folder)) return false;
  std::string_view word;
  for (const auto& [value, name] : kWords) {
    if (verdict.end == value) word = name;
  }
  if (word.empty()) return false;
  const std::string text = fmt::format("{}{} {} {}\n", head(key), word, verdict.number, printable(verdict.text));
  if (text.size() >= kMaxBytes) return false;

  std::string temporary = file + ".XXXXXX";
  File written(mkstemp(temporary.data()));
  if (!written.is_open()) return false;
  if (written.write_all(text) && written.finish() && std::rename(temporary.c_str(), file.c_str()) == 0) return true;
  unlink(temporary.c_str());
  return false;
}

}  // namespace sluice::detail
