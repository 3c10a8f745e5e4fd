// Saving and loading models as safetensors files.
//
// Every tensor and buffer has the dotted path of its field as name, "hidden.weight"; the state of a random generator is
// an i64 pair. Sizes are reversed and bytes unchanged, so Python sees batch first. A model has the same bytes whichever
// device it is on. Of places that hold the same tensor the first is written; the metadata name the others, and loading
// ties them again.
#pragma once

#include <string>

#include "sluice/model.hpp"

namespace sluice::detail {
SLUICE_API void save_model(const std::string& path, ModelRef model);
SLUICE_API void load_model(const std::string& path, ModelRef model);
}  // namespace sluice::detail

namespace sluice::inline v0 {

/// Writes the tensors of `model` to `path`, which ends in .safetensors. The file appears, or replaces an older one,
/// whole or not at all. Throws FileError when it cannot be written.
template <class M>
void save(const std::string& path, const M& model) {
  detail::save_model(path, detail::model_ref<detail::Names::required>(model));
}

/// Replaces the tensors of `model` by those of a file, each on the device it was on. All or nothing: where names, sizes
/// or element types differ, or the file is damaged, one FileError says what is wrong and the model is as before.
template <class M>
void load(const std::string& path, M& model) {
  detail::load_model(path, detail::model_ref<detail::Names::required>(model));
}

/// The tensors of any safetensors file, in the order of their bytes, on the CPU.
SLUICE_API NamedTensors read_tensors(const std::string& path);

}  // namespace sluice::inline v0
