// The safetensors format: the length of a header (8 bytes, little-endian), the header (JSON), the bytes of the tensors.
//
//   {"__metadata__": {...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//
// Nothing of a file is believed before it is checked against what encloses it, and nothing is allocated before that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/tensor.hpp"
#include "src/data/stored_file.hpp"

namespace sluice::detail {

// What the metadata say: how elements lie, and that a name is another one's tensor.
inline constexpr std::string_view kOrderKey = "sluice.order";
inline constexpr std::string_view kOrder = "column-major";
inline constexpr std::string_view kAliasPrefix = "sluice.alias.";
inline constexpr std::string_view kShardKey = "sluice.index";  // the index that a file was written for

/// A tensor in a file. `begin` and `end` count from the start of the data.
struct StoredTensor {
  std::string name, type;   ///< type: "F32"
  bool is_readable = true;  ///< false: the format has such tensors, but there are none here: its type, or dimensions
  DType dtype;
  Shape shape;                      ///< of one that can be read
  std::vector<std::int64_t> sizes;  ///< as the library has them, of any
  std::uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors;  ///< in the order of their bytes
};

/// "F32" of f32.
std::string_view safetensors_type(DType dtype);

/// Checks everything about a header: `data_size` bytes follow it. Throws FileError "name: ...".
SafetensorsHeader parse_safetensors_header(const std::string& text, std::uint64_t data_size, const std::string& name);

/// A file whose header has been checked.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path, const std::string& operation = "load");

  const SafetensorsHeader& header() const { return header_; }
  const std::string& name() const { return file_.name(); }
  /// The elements, read into memory of the device; at most a few pieces of them are anywhere else.
  Tensor read(const StoredTensor& stored, const Device& device = Device()) const;
  /// Bytes `begin` ... of a tensor.
  void read_piece(const StoredTensor& stored, std::uint64_t begin, std::span<std::byte> to) const;

 private:
  StoredFile file_;
  std::uint64_t data_start_ = 0;
  SafetensorsHeader header_;
};

/// The files of a checkpoint: one, or those that an index "model.safetensors.index.json" names, which lie beside it.
/// They are of one save, also while another one replaces them.
std::vector<std::shared_ptr<SafetensorsFile>> open_safetensors(const std::string& path, const std::string& operation);
inline constexpr std::string_view kIndexEnding = ".safetensors.index.json";
inline constexpr std::size_t kMostShards = 512;  // which are open at once; a process may have 1024 files
/// What an index says: a tensor's name to that of its file, which may be anything. Throws FileError.
std::map<std::string, std::string> read_safetensors_index(const StoredFile& index);

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Throws ArgumentError of two tensors with that name.
[[noreturn]] void throw_equal_names(const std::string& name);
/// Throws ArgumentError for names that are equal, empty, or have a meaning of their own in a file.
void check_tensor_names(const std::vector<NamedTensor>& tensors);
/// Writes a file, atomically; tensors may be on any device. Those of wide elements come first, so that all are aligned.
/// The file has the permissions of `like`, if that is there. Throws ArgumentError for names that are equal, empty, or
/// not UTF-8.
void write_safetensors(const std::string& path, const std::string& operation, std::vector<NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata, const std::string& like = {});

}  // namespace sluice::detail
