// Writes a checkpoint in several safetensors files: "model-00001-of-00002.safetensors", ... and an index that says
// which has what, "model.safetensors.index.json".
#pragma once

#include <string>

#include "src/data/formats.hpp"

namespace sluice::detail {

/// The tensors in their order, each file with as many as `file.shard_bytes` allow and at least one. The files have
/// names that no index and nobody else has, the index replaces the old one in the end, and only then the files that the
/// old one named are removed: at every moment there is an index whose files are whole. Saves in one folder take turns.
/// An index that is a link is replaced, since the files lie beside it; what it leads to stays. Throws ArgumentError for
/// too many files, and for metadata without a tensor.
void write_sharded_safetensors(const std::string& index, const std::string& operation, const TensorFile& file);

}  // namespace sluice::detail
