#include "src/data/stored_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sluice/error.hpp"

namespace sluice::detail {

StoredFile::StoredFile(const std::string& path, const std::string& operation) : name_(operation + ": " + path) {
  if (path.find('\0') != std::string::npos) throw FileError(operation + ": the path holds NUL");
  // Without O_NONBLOCK the opening of a pipe waits for a writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0 && errno == ENOENT) throw FileError(fmt::format("{}: there is no file {}", operation, path));
  if (descriptor_ < 0) throw FileError(fmt::format("{} cannot be opened: {}", name_, std::strerror(errno)));
  struct stat status {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    throw FileError(name_ + " is not an ordinary file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

StoredFile::~StoredFile() { close(descriptor_); }

void StoredFile::read(std::uint64_t offset, std::span<std::byte> to, const std::string& what) const {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  while (!to.empty()) {
    const ssize_t got = pread(descriptor_, to.data(), std::min(to.size(), kMost), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw FileError(fmt::format("{}: reading {} failed: {}", name_, what, std::strerror(errno)));
    if (got == 0) throw FileError(fmt::format("{}: reading {} failed; the file has changed", name_, what));
    to = to.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

std::string StoredFile::head(std::size_t count) const {
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(count, size_)), '\0');
  read(0, std::as_writable_bytes(std::span(text)), "its first bytes");
  return text;
}

bool StoredFile::is_at(const std::string& path) const {
  struct stat here {
  }, there{};
  // While this one is open, no other file can have its number.
  return fstat(descriptor_, &here) == 0 && stat(path.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

bool has_ending(std::string_view path, std::string_view ending) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return path.size() >= ending.size() &&
         std::ranges::equal(path.substr(path.size() - ending.size()), ending, {}, lower);
}

}  // namespace sluice::detail
