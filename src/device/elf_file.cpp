#include "src/device/elf_file.hpp"

#if defined(__linux__)
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace sluice::detail {
namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#else
constexpr int kMachine = EM_NONE;  // not checked
#endif

/// A file that is open while the object lives.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool read_at(void* to, std::size_t bytes, std::uint64_t offset) const {
    return pread(descriptor_, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }

 private:
  int descriptor_;
};

std::string header_problem(const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "not a shared library";
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "a shared library of another word size";
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return "a shared library of another byte order";
  if (header.e_type != ET_DYN) return "an ELF file, but not a shared library";
  if (kMachine != EM_NONE && header.e_machine != kMachine) {
    return fmt::format("a shared library for another processor (ELF machine {}, this one is {})", header.e_machine,
                       kMachine);
  }
  if (header.e_phnum == 0 || header.e_phentsize != sizeof(Elf64_Phdr)) return "a broken shared library: no segments";
  return {};
}

/// Whether [offset, offset + length) lies in a file of `size` bytes.
bool is_inside(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  return offset <= size && length <= size - offset;
}

}  // namespace

std::string library_problem(const std::string& path) {
  const OpenFile file(path);
  if (!file.is_open()) return fmt::format("cannot be opened: {}", std::strerror(errno));
  struct stat status {};
  if (fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) return "not a regular file";
  const auto size = static_cast<std::uint64_t>(status.st_size);
  Elf64_Ehdr header{};
  if (size < sizeof header || !file.read_at(&header, sizeof header, 0)) return "not a shared library: too short";
  if (std::string problem = header_problem(header); !problem.empty()) return problem;

  const std::uint64_t table = std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!is_inside(header.e_phoff, table, size) || !file.read_at(segments.data(), table, header.e_phoff)) {
    return "a truncated shared library: its segment table is cut off";
  }
  for (const Elf64_Phdr& segment : segments) {
    if (!is_inside(segment.p_offset, segment.p_filesz, size)) {
      return fmt::format("a truncated shared library: {} bytes of a segment at {} in a file of {}", segment.p_filesz,
                         segment.p_offset, size);
    }
  }
  return {};
}

}  // namespace sluice::detail
#else
namespace sluice::detail {
std::string library_problem(const std::string&) { return {}; }
}  // namespace sluice::detail
#endif
