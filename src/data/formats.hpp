// The formats of checkpoints: what a file's ending says, what its first bytes say, and who reads and writes it.
//
// A format is a row of the table in formats.cpp.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/checkpoint.hpp"
#include "sluice/state.hpp"
#include "src/data/safetensors.hpp"

namespace sluice::detail {

/// What is to be written: tensors under their names, further names of the same tensors, text beside them.
struct TensorFile {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> aliases;  ///< name to that of the tensor
  std::map<std::string, std::string> metadata;
  std::uint64_t shard_bytes = SaveOptions{}.shard_bytes;
};

struct FileFormat {
  std::string_view name;                      ///< "safetensors"
  std::span<const std::string_view> endings;  ///< ".safetensors"
  /// Whether a file begins as one of the format does; null where that says nothing.
  bool (*begins)(std::string_view head);
  State (*read)(const std::string& path);
  // Of the two at most one is there; none for a format that is only read.
  void (*write_tensors)(const std::string& path, const TensorFile& file);
  void (*write_state)(const std::string& path, const State& state);  ///< its tensors are on the CPU
};

/// The format that `wanted` names, else the one of the path's ending. Throws ArgumentError listing the known ones that
/// can be written; PyTorch's own files are refused with what to do instead.
const FileFormat& format_to_write(const std::string& path, const std::string& wanted, std::string_view operation);
/// The same for a file that is read. Throws FileError where there is none, or it begins as another format does.
const FileFormat& format_of_file(const std::string& path, const std::string& wanted, std::string_view operation);

/// The tree that Flux has of the model: the fields of its layers (FluxField), `false` for no tensor, `()` for
/// functions.
State flux_state_of(ModelRef model);
/// The tree with its tensors on the CPU, ties kept.
State on_host(const State& state);
/// The tensors of a tree. Throws ArgumentError naming what is no tensor.
TensorFile tensor_file_of(const State& state);
/// To a format that takes tensors.
void write_tensor_file(const FileFormat& format, const std::string& path, const TensorFile& file);

}  // namespace sluice::detail
