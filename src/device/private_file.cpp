#include "src/device/private_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/device/environment.hpp"

namespace sluice::detail {
namespace {

namespace fs = std::filesystem;

/// An absolute path in a variable, empty if it has none.
std::string folder_in(const char* name) {
  const std::optional<std::string> value = environment(name);
  return value && value->starts_with('/') ? *value : std::string();
}

std::string error_text(int error) { return std::generic_category().message(error); }

/// Whether something is this user's and nobody else may change it.
bool is_ours(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// With another user's home, as under sudo, a folder made there would be in his way.
bool may_make_in(const fs::path& folder) {
  struct stat status {};
  return stat(folder.c_str(), &status) == 0 && (status.st_uid == geteuid() || status.st_uid == 0);
}

/// Why there is no such folder in the end.
std::string make_folder(const fs::path& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) == 0) return {};
  const fs::path parent = folder.parent_path();
  if (parent == folder) return "it cannot be made";
  if (std::string problem = make_folder(parent); !problem.empty()) return problem;
  if (!may_make_in(parent)) return parent.string() + " belongs to another user";
  return mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? std::string() : error_text(errno);
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
  std::optional<std::string> read_all(std::size_t most) const {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0 || static_cast<std::uint64_t>(status.st_size) > most) return std::nullopt;
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    for (std::size_t size = 0; size < text.size();) {
      const ssize_t count = read(descriptor_, text.data() + size, text.size() - size);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      size += static_cast<std::size_t>(count);
    }
    return text;
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

}  // namespace

std::string user_cache_folder() {
  if (std::string folder = folder_in("XDG_CACHE_HOME"); !folder.empty()) return folder;
  const std::string home = folder_in("HOME");
  return home.empty() ? home : home + "/.cache";
}

std::string private_folder_problem(const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return error_text(errno);
  if (!S_ISDIR(status.st_mode)) return "it is not a folder";
  if (status.st_uid != geteuid()) return "it belongs to another user";
  return is_ours(status) ? std::string() : "others may write in it";
}

std::string make_private_folder(const std::string& folder) {
  std::string problem = make_folder(folder);
  return problem.empty() ? private_folder_problem(folder) : problem;
}

std::optional<std::string> read_private_file(const std::string& path, std::size_t most) {
  // A pipe in the file's place would wait for a writer.
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open() || !file.is_ours()) return std::nullopt;
  return file.read_all(most);
}

std::string write_private_file(const std::string& path, std::string_view text) {
  std::string temporary = path + ".XXXXXX";
  File file(mkstemp(temporary.data()));
  if (!file.is_open()) return error_text(errno);
  if (file.write_all(text) && file.finish() && std::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  unlink(temporary.c_str());
  return error_text(error);
}

}  // namespace sluice::detail
