// The safetensors format: the length of a header (8 bytes, little-endian), the header (JSON), the bytes of the tensors.
//
//   {"__metadata__": {...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//
// Nothing of a file is believed before it is checked against what encloses it, and nothing is allocated before that.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "sluice/tensor.hpp"

namespace sluice::detail {

/// A tensor in a file. `begin` and `end` count from the start of the data.
struct StoredTensor {
  std::string name;
  DType dtype;
  Shape shape;
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
  explicit SafetensorsFile(const std::string& path);

  const SafetensorsHeader& header() const { return header_; }
  Tensor read(const StoredTensor& stored);

 private:
  std::string path_;
  std::ifstream file_;
  std::uint64_t data_start_ = 0;
  SafetensorsHeader header_;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Writes a file, atomically; tensors may be on any device. Those of wide elements come first, so that all are aligned.
/// Throws ArgumentError for names that are equal, empty, or not UTF-8.
void write_safetensors(const std::string& path, std::vector<NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace sluice::detail
