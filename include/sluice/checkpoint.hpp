// Saving and loading models: safetensors, .npz, and what Flux and PyTorch leave behind. docs/checkpoints.md is the
// guide.
//
// Every tensor and buffer has the dotted path of its field as name, "hidden.weight"; the state of a random generator is
// an i64 pair, the numbers of an optimiser's rule are f64. Sizes are reversed and bytes unchanged in safetensors, so
// Python sees batch first. A model has the same bytes whichever device it is on. Of places that hold the same tensor
// the first is written; the metadata name the others, and loading ties them again.
//
//   save("net.safetensors", model);
//   load("net.safetensors", model);
//
//   auto all = std::tie(model, state, generator);   // resumes bit for bit
//   save("run.safetensors", all);
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/state.hpp"

namespace sluice::inline v0 {

/// Names of fields, "hidden" or "hidden.weight", and what they are called in the file. The longest that fits holds.
using Renames = std::map<std::string, std::string>;

struct SaveOptions {
  std::string prefix = {};                           ///< "model": names begin with "model."
  Renames rename = {};                               ///< the model's names to the file's, before the prefix
  std::map<std::string, std::string> metadata = {};  ///< text to keep in the file; safetensors only
  std::string format = {};                           ///< "safetensors", ...; empty: what the file's ending says
  /// To "model.safetensors.index.json": bytes of tensors in each of its files; a tensor that is larger has one to
  /// itself.
  std::uint64_t shard_bytes = 5'000'000'000;
};

struct LoadOptions {
  bool strict = true;       ///< false: missing and unexpected names are reported only; sizes must fit all the same
  std::string prefix = {};  ///< names in the file begin with this; others there are left alone
  Renames rename = {};      ///< the model's names to the file's, before the prefix
  bool cast = false;        ///< convert floating elements to the type that the model has
  std::string format = {};  ///< "safetensors", ...; empty: what the file's ending says
};

/// How names in a model and in a file went together. `operator<<` writes it for people.
struct LoadReport {
  std::vector<std::pair<std::string, std::string>> loaded;  ///< name in the model, name in the file
  std::vector<std::string> missing;                         ///< places of the model that the file has nothing for
  std::vector<std::string> unexpected;                      ///< names in the file that the model has no place for
};
SLUICE_API std::ostream& operator<<(std::ostream& out, const LoadReport& report);

}  // namespace sluice::inline v0

namespace sluice::detail {
SLUICE_API void save_model(const std::string& path, ModelRef model, const SaveOptions& options);
SLUICE_API LoadReport load_model(const std::string& path, ModelRef model, const LoadOptions& options);
SLUICE_API State state_of(ModelRef model);
SLUICE_API LoadReport load_model_state(ModelRef model, const State& state, const LoadOptions& options);
SLUICE_API LoadReport load_torch(const std::string& path, ModelRef model, const LoadOptions& options);
/// From a tree without generators, which `loadmodel` leaves as they are.
SLUICE_API void copy_model(ModelRef to, ModelRef from);

/// Names are needed, and a tuple of references is a model as well.
template <class M>
ModelRef saved_ref(M& model) {
  return model_ref<Names::required>(model);
}
}  // namespace sluice::detail

namespace sluice::inline v0 {

/// Writes the tensors of `model` to `path`; its ending, or `format`, says how. The file appears, or replaces an older
/// one, whole or not at all, whenever the process ends. Throws FileError when it cannot be written.
template <class M>
void save(const std::string& path, const M& model, const SaveOptions& options = {}) {
  detail::save_model(path, detail::saved_ref(model), options);
}

/// Replaces the tensors of `model` by those of a file, each on the device it was on. All or nothing: where names, sizes
/// or element types differ, or the file is damaged, one FileError says what is wrong and the model is as before. Of a
/// .bson or .jld2 file that holds one thing, that is meant, whatever its name. Throws ArgumentError for renames of
/// fields that the model has not.
///
///   load("encoder.safetensors", model, {.prefix = "encoder", .rename = {{"hidden", "fc1"}}});
template <class M>
LoadReport load(const std::string& path, M& model, const LoadOptions& options = {}) {
  return detail::load_model(path, detail::saved_ref(model), options);
}

/// What `model` holds as a tree: its tensors by handle, generators as an i64 pair, numbers, text; nothing in place of
/// the rest.
template <class M>
State state(const M& model) {
  return detail::state_of(detail::saved_ref(model));
}

/// As `load`, from a tree, with Flux's rules: floating elements are converted, numbers and functions in the model stay,
/// generators that the tree has not are left alone, and a bias of `false` or of zeros stands for none and the other way
/// round. Throws ArgumentError.
template <class M>
LoadReport load_state(M& model, const State& state, const LoadOptions& options = {.cast = true}) {
  return detail::load_model_state(detail::saved_ref(model), state, options);
}

/// Gives the tensors of `from` to `to`, whose fields have the same names, by the rules of `load_state`; generators
/// stay. (Flux's loadmodel!)
template <class To, class From>
void loadmodel(To& to, const From& from) {
  detail::copy_model(detail::saved_ref(to), detail::saved_ref(from));
}

/// Loads a PyTorch state_dict saved as safetensors: names and layouts are PyTorch's, as each layer declares with
/// TorchRule. Elements of nn.Sequential and nn.ModuleList are matched in order, so that activations without parameters
/// may take numbers there. `rename` maps a field, "hidden", to PyTorch's attribute, "fc1". All or nothing, as `load`.
///
///   LoadReport report = from_torch("mlp.safetensors", model, {.rename = {{"hidden", "fc1"}}});
template <class M>
LoadReport from_torch(const std::string& path, M& model, const LoadOptions& options = {}) {
  return detail::load_torch(path, detail::saved_ref(model), options);
}

/// What a checkpoint of any format holds (docs/checkpoints.md lists them); of a .safetensors file in several parts,
/// give the .safetensors.index.json. `format` in place of the ending. Throws FileError.
SLUICE_API State read_state(const std::string& path, const std::string& format = {});
/// Writes a tree; formats that know tensors only leave out nothing and empty lists, and refuse all else. Options and
/// errors are those of `save`; renames are of paths in the tree. A .bson file has the members of a record under their
/// own names; `save` puts a model under "model_state".
SLUICE_API void write_state(const std::string& path, const State& state, const SaveOptions& options = {});

/// The tensors of any safetensors file, in the order of their bytes, on the CPU.
SLUICE_API NamedTensors read_tensors(const std::string& path);
/// The text that a safetensors file keeps beside its tensors.
SLUICE_API std::map<std::string, std::string> read_metadata(const std::string& path);

/// One tensor in a file.
struct TensorSummary {
  std::string name;
  std::string type;                 ///< "f32"; the file's own name, "F8_E4M3", of a type that cannot be read
  std::vector<std::int64_t> shape;  ///< as the library reads it
  std::uint64_t bytes = 0;
  bool has_nan = false, has_infinity = false;
};
struct FileSummary {
  std::string format;
  std::map<std::string, std::string> metadata;
  std::vector<TensorSummary> tensors;
  std::vector<std::pair<std::string, std::string>> values;  ///< paths of what is no tensor, and what it is
};
/// Looks at all that a checkpoint holds, a piece at a time where the format allows it.
SLUICE_API FileSummary inspect(const std::string& path, const std::string& format = {});

}  // namespace sluice::inline v0
