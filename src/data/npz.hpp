// NumPy's .npz format: a zip archive of .npy files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/data/formats.hpp"
#include "src/data/npy.hpp"
#include "src/data/zip.hpp"

namespace sluice::detail {

/// A file of which the headers have been checked; its arrays are read one by one.
class NpzFile {
 public:
  /// Compressed arrays may inflate to `max_bytes` together. Throws FileError.
  NpzFile(const std::string& path, const std::string& operation, std::int64_t max_bytes = NpyOptions{}.max_bytes);

  struct Array {
    std::string name;
    NpyHeader header;
    std::uint64_t bytes;  ///< of the elements
    ZipEntry entry;
  };
  const std::vector<Array>& arrays() const { return arrays_; }
  /// What else is in the archive, and of how many bytes: text, ...
  const std::vector<std::pair<std::string, std::uint64_t>>& others() const { return others_; }

  /// On the CPU. Throws FileError for a type that is not read.
  Tensor read(const Array& array, bool reverse = false);

 private:
  void add(ZipEntry entry);
  /// Counts what is inflated.
  void spend(const ZipEntry& entry, std::uint64_t bytes);
  /// "load: x.npz: "w"", for messages.
  std::string name_of(const std::string& array) const { return file_.name() + ": \"" + array + "\""; }

  StoredFile file_;
  std::int64_t max_bytes_;
  std::uint64_t left_;
  std::vector<Array> arrays_;
  std::vector<std::pair<std::string, std::uint64_t>> others_;
};

// A row of the table of formats.
State read_npz_state(const std::string& path, const std::string& operation);
void write_npz_file(const std::string& path, const std::string& operation, const TensorFile& file);

}  // namespace sluice::detail
