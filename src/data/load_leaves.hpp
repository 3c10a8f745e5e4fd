// Bringing the names of a model and of a checkpoint together.
#pragma once

#include <set>

#include "sluice/checkpoint.hpp"
#include "src/data/contents.hpp"
#include "src/data/model_leaves.hpp"

namespace sluice::detail {

/// What a place of the model is called in a file.
std::string stored_name(const std::string& place, const std::string& prefix, const Renames& rename);

/// Throws ArgumentError for a prefix that begins or ends with a dot, and for a rename of what is not in `places`.
void check_naming(const std::string& prefix, const Renames& rename, const std::set<std::string>& places);
/// The same for the places of a model.
void check_naming(const std::string& prefix, const Renames& rename, const std::vector<ModelLeaf>& leaves);

/// Gives every place of the model what the checkpoint has for it; throws FileError, with the model as it was, where
/// they do not fit together.
LoadReport load_leaves(Contents& contents, ModelRef model, const LoadOptions& options);

/// `value` in the element type and on the device of what is there.
Tensor as_place(const Tensor& value, const Tensor& place);

/// The FileError of everything that does not fit.
[[noreturn]] void throw_misfit(const std::string& origin, const std::vector<std::string>& faults,
                               const std::string& hint = {});

/// Ties the places that were tied, whose new values must be equal, and puts all in the model.
void put_values(const Contents& contents, ModelRef model, const std::vector<ModelLeaf>& leaves, const Ties& ties,
                std::vector<Tensor>& values);

}  // namespace sluice::detail
