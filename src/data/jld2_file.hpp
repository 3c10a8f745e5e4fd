// The container of JLD2 files: the part of HDF5 that JLD2 uses. All addresses count from the superblock, at byte 512.
//
// This is no job for libhdf5: it reads all of HDF5, is written for files that are trusted, and has had a long list of
// overflows found by fuzzing; what JLD2 writes is a small part, for which every length can be held to its bounds here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/data/byte_source.hpp"
#include "src/data/state_budget.hpp"

namespace sluice::detail {

/// Whether wrong checksums are refused. A fuzzer gets nowhere where they are.
enum class Checksums : std::uint8_t { verified, ignored };

/// Bytes of the file, from its start.
struct FileRange {
  std::uint64_t at = 0, size = 0;
  std::uint64_t end() const { return at + size; }
};

/// A message of an object header: what the object is, a part of it each.
struct H5Message {
  enum Type : std::uint8_t {
    kDataspace = 0x01,
    kLinkInfo = 0x02,
    kDatatype = 0x03,
    kLink = 0x06,
    kLayout = 0x08,
    kFilters = 0x0b,
    kAttribute = 0x0c,
    kContinuation = 0x10,
    kSymbolTable = 0x11
  };
  std::uint8_t type = 0;
  bool is_shared = false;  ///< the content is an address of where it is
  FileRange content;
};

/// The name and the content of an attribute.
struct H5Attribute {
  std::string name;
  FileRange data;
};

class Jld2File {
 public:
  /// Checks the first 560 bytes.
  Jld2File(ByteSource& source, StateBudget& budget, Checksums checksums);

  std::uint64_t root() const { return root_; }
  /// The messages of the object at `address`. Valid as long as this is.
  const std::vector<H5Message>& header(std::uint64_t address);
  /// Where `size` bytes at `address` lie. Throws FileError if they go beyond the content.
  FileRange place(std::uint64_t address, std::uint64_t size) const;
  /// To be called once for every part of a file that is large: if more is claimed than the file has, parts of it
  /// overlap, and FileError is thrown.
  void claim(FileRange range);
  /// A value in a global heap.
  FileRange heap_object(std::uint64_t address, std::uint32_t index);
  H5Attribute attribute(const H5Message& message);

  ByteSource& source() { return source_; }
  static bool is_address(std::uint64_t address) { return address != 0 && address != ~std::uint64_t{0}; }

 private:
  void read_superblock();
  std::vector<H5Message> read_header(std::uint64_t address);
  void check_signature(std::uint64_t at, std::string_view signature);
  void check_sum(FileRange range);
  void read_messages(FileRange range, bool has_order, std::vector<H5Message>& messages);
  void continue_header(const H5Message& message, bool has_order, std::vector<H5Message>& messages);
  std::map<std::uint32_t, FileRange> read_heap(std::uint64_t address);

  ByteSource& source_;
  StateBudget& budget_;
  Checksums checksums_;
  std::uint64_t end_ = 0, root_ = 0, claimed_ = 0, structure_ = 0;
  std::map<std::uint64_t, std::vector<H5Message>> headers_;
  std::map<std::uint64_t, std::map<std::uint32_t, FileRange>> heaps_;
};

}  // namespace sluice::detail
