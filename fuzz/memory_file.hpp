// Bytes under a path, for readers that take no bytes. The file is in memory: fuzzers read thousands in a second.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

namespace sluice::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> content) : descriptor_(memfd_create("input", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("no file in memory can be made");
    while (!content.empty()) {
      const ssize_t written = write(descriptor_, content.data(), content.size());
      if (written <= 0) throw std::runtime_error("a file in memory cannot be written");
      content = content.subspan(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace sluice::fuzz
