// A file that is read by position.
//
// Checkpoints are read into the memory of their tensors, not mapped: a file that is cut short under a mapping ends the
// process with SIGBUS, a read that comes up short is an error like any other. It is one copy either way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::detail {

class StoredFile {
 public:
  /// Throws FileError "operation: ..." unless `path` is an ordinary file that can be read.
  StoredFile(const std::string& path, const std::string& operation);
  ~StoredFile();
  StoredFile(const StoredFile&) = delete;
  StoredFile& operator=(const StoredFile&) = delete;

  std::uint64_t size() const { return size_; }
  /// "load: model.safetensors", for messages.
  const std::string& name() const { return name_; }
  /// Fills `to` from byte `offset` on; any thread may call it. Throws FileError naming `what` where the file ends
  /// before.
  void read(std::uint64_t offset, std::span<std::byte> to, const std::string& what) const;
  /// The first bytes, at most `count`.
  std::string head(std::size_t count) const;
  /// Whether it has not been replaced: what is at `path` now is this file.
  bool is_at(const std::string& path) const;

 private:
  std::string name_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Whether a file's name ends so, in upper or lower case.
bool has_ending(std::string_view path, std::string_view ending);

}  // namespace sluice::detail
