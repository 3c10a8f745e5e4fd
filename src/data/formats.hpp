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
#include "src/core/rethrow.hpp"
#include "src/data/safetensors.hpp"

namespace sluice::detail {

/// What is to be written: tensors under their names, further names of the same tensors, text beside them.
struct TensorFile {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> aliases;  ///< name to that of the tensor
  std::map<std::string, std::string> metadata;
  std::uint64_t shard_bytes = SaveOptions{}.shard_bytes;
};

/// Calls `use`, and puts "save: net.npz: " before the message of its errors, but FileErrors, which name the file.
template <class Use>
auto naming_file(const std::string& operation, const std::string& path, Use use) {
  try {
    return use();
  } catch (const FileError&) {
    throw;
  } catch (const Error&) {
    rethrow_in(operation + ": " + path);
  }
}

struct FileFormat {
  std::string_view name;                      ///< "safetensors"
  std::span<const std::string_view> endings;  ///< ".safetensors"
  /// Whether a file begins as one of the format does; null where that says nothing.
  bool (*begins)(std::string_view head);
  bool is_julia;  ///< what is stored has a name of its own, often "model_state"
  // Messages of FileErrors begin with operation and path, those of other errors are to be named by `naming_file`.
  State (*read)(const std::string& path, const std::string& operation);
  // Of the two at most one is there; none for a format that is only read.
  void (*write_tensors)(const std::string& path, const std::string& operation, const TensorFile& file);
  /// The tensors of the state are on the CPU.
  void (*write_state)(const std::string& path, const std::string& operation, const State& state);
};

/// The format that `wanted` names, else the one of the path's ending. Throws ArgumentError listing the known ones that
/// can be written; PyTorch's own files are refused with what to do instead.
const FileFormat& format_to_write(const std::string& path, const std::string& wanted, std::string_view operation);
/// The same for a file that is read. Throws FileError where there is none, or it begins as another format does.
const FileFormat& format_of_file(const std::string& path, const std::string& wanted, std::string_view operation);

/// The files of a checkpoint that must be safetensors. Throws FileError for one of another format.
std::vector<std::shared_ptr<SafetensorsFile>> open_only_safetensors(const std::string& path,
                                                                    const std::string& operation);

/// The tree that Flux has of the model: the fields of its layers (FluxField), `false` for no tensor, `()` for
/// functions.
State flux_state_of(ModelRef model);
/// The tree with its tensors on the CPU, ties kept.
State on_host(const State& state);
/// The tensors of a tree, named as `options` say. Throws ArgumentError naming what is no tensor.
TensorFile tensor_file_of(const State& state, const SaveOptions& options);

}  // namespace sluice::detail
