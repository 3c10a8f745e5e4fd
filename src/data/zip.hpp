// Zip archives, as far as .npz files need them: stored and deflated entries, read one by one.
//
// What the directory says is checked against the file before anything is allocated: entries lie inside the file and do
// not overlap, and none claims to inflate to more than deflate can.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/core/atomic_file.hpp"
#include "src/data/inflate.hpp"
#include "src/data/stored_file.hpp"

namespace sluice::detail {

struct ZipEntry {
  std::string name;
  bool is_deflated = false;
  std::uint32_t checksum = 0;
  std::uint64_t begin = 0, stored = 0;  ///< of the bytes in the file
  std::uint64_t size = 0;               ///< of the content
};

inline constexpr std::uint64_t kMaxZipDirectory = std::uint64_t{16} << 20;
/// The entries of an archive, in the order of the directory. Throws FileError.
std::vector<ZipEntry> read_zip_directory(const StoredFile& file);

/// Reads the content of an entry from its start.
class ZipContent {
 public:
  ZipContent(const StoredFile& file, const ZipEntry& entry);
  ZipContent(const ZipContent&) = delete;
  ZipContent& operator=(const ZipContent&) = delete;

  /// Fills `to`. Throws FileError where the content is damaged or shorter.
  void read(std::span<std::byte> to);
  /// Throws FileError unless all has been read and has the checksum of the directory.
  void finish();

 private:
  [[noreturn]] void fail(const std::string& message) const;

  const StoredFile& file_;
  const ZipEntry& entry_;
  std::optional<Inflater> inflater_;
  std::uint64_t position_ = 0;  // in the content
  std::uint32_t checksum_ = 0;
};

/// Writes an archive of stored entries; from `large` bytes or entries on in the fields that zip64 added.
class ZipWriter {
 public:
  ZipWriter(const std::string& path, const std::string& operation, std::uint64_t large = 0xFFFF'FFFF)
      : file_(path, operation), large_(large) {}
  /// The content is the parts one after the other. Throws ArgumentError for a name of 64 KiB, `commit` where the names
  /// are more than are read.
  void add(const std::string& name, std::span<const std::span<const std::byte>> parts);
  void commit();

 private:
  struct Written {
    std::string name;
    std::uint32_t checksum;
    std::uint64_t size, offset;
  };
  void write(const std::string& bytes);
  std::string entry_record(const Written& entry) const;

  AtomicFile file_;
  std::uint64_t large_;
  std::uint64_t position_ = 0;
  std::vector<Written> entries_;
};

}  // namespace sluice::detail
