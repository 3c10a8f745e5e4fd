// A file that appears whole or not at all: written under a temporary name in the same folder, then renamed.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sluice::detail {

class AtomicFile {
 public:
  /// What happens to a link of that name.
  enum class Link : bool { followed, replaced };

  /// Throws FileError naming `operation` if nothing can be written there. The target of a link need not exist. The new
  /// file has the permissions of `like`, an older one at `path` if that is empty.
  AtomicFile(const std::string& path, std::string operation, Link link = Link::followed, const std::string& like = {});
  /// Removes what was written, unless committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Puts the file on the disk and then in its place.
  void commit();

 private:
  [[noreturn]] void fail(const std::string& what, int error) const;
  void open(const std::string& like);

  std::string path_, operation_, folder_, temporary_;
  int descriptor_ = -1;
};

}  // namespace sluice::detail
