#include "src/core/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "sluice/error.hpp"

namespace sluice::detail {
namespace fs = std::filesystem;

namespace {

/// Where a link leads, also where there is no file yet; empty for one that leads nowhere.
std::string target_of(fs::path path) {
  constexpr int kMost = 40;  // as in the kernel
  std::error_code error;
  for (int links = 0; fs::is_symlink(path, error); ++links) {
    const fs::path next = fs::read_symlink(path, error);
    if (error || links == kMost) return {};
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path.string();
}

/// The name of a file, shortened so that something can be added.
std::string short_name(const fs::path& path) {
  constexpr std::size_t kMost = 200;  // of 255
  return path.filename().string().substr(0, kMost);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path, std::string operation, Link link, const std::string& like)
    : path_(path), operation_(std::move(operation)) {
  if (path.empty()) throw FileError(operation_ + ": the path is empty");
  if (path.find('\0') != std::string::npos) throw FileError(operation_ + ": the path holds NUL");
  if (link == Link::followed) path_ = target_of(path);
  if (path_.empty()) throw FileError(fmt::format("{}: {} is a link that leads nowhere", operation_, path));
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (fs::is_directory(status)) throw FileError(fmt::format("{}: {} is a folder; give a file in it", operation_, path));
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw FileError(fmt::format("{}: {} is not an ordinary file", operation_, path));
  }
  folder_ = fs::path(path_).parent_path().string();
  if (folder_.empty()) folder_.assign(1, '.');
  if (!fs::is_directory(folder_, error)) {
    throw FileError(fmt::format("{}: there is no folder {} for {}; make it first", operation_, folder_, path));
  }
  open(like.empty() ? path_ : like);
}

void AtomicFile::open(const std::string& like) {
  static constexpr mode_t kEveryone = 0666;  // less what the umask takes away
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = (fs::path(folder_) / fmt::format("{}.{}-{}.tmp", short_name(path_), getpid(), attempt)).string();
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kEveryone);
    if (descriptor_ < 0 && (errno != EEXIST || attempt == 1000)) fail("cannot write in " + folder_, errno);
  }
  struct stat old {};
  // An existing file keeps its permissions; where that is refused the new ones will do.
  if (stat(like.c_str(), &old) == 0 && fchmod(descriptor_, old.st_mode & 07777) != 0) errno = 0;
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void AtomicFile::fail(const std::string& what, int error) const {
  throw FileError(fmt::format("{}: {}: {}: {}", operation_, path_, what, std::strerror(error)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kMost));
    if (written < 0 && errno != EINTR) fail("writing failed", errno);
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0) fail("writing to the disk failed", errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot replace the old file", errno);
  close(descriptor_);
  descriptor_ = -1;
  // The rename is on the disk once the folder is. File systems that cannot do this have renamed all the same.
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

}  // namespace sluice::detail
