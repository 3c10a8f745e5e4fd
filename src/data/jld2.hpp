// The JLD2 files of Flux users: `jldsave("model.jld2"; model_state)`. Both generations of the format are read (0.1 and
// 0.2, Julia 1.6 and later), and arrays of numbers that are compressed by deflate (`compress = true`).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sluice/state.hpp"
#include "src/data/jld2_file.hpp"

namespace sluice::detail {

/// The content of a JLD2 file, a record of what was saved under each name; "a/b" is the record a with the member b.
/// NamedTuples, structs and dictionaries are records, tuples and arrays of other things than numbers are lists, arrays
/// are tensors with the sizes they have in Julia. Fields without bytes (functions, `nothing`, `()`) are nothing with
/// their type. An array that is referred to twice is one tensor. Throws FileError for what is damaged, hostile or
/// compressed by other filters, whose message says what to do.
///
///   State file = read_jld2_state("model.jld2", "read_state");
///   Tensor w = file.at("model_state.layers.0.weight").tensor();
State read_jld2_state(const std::string& path, const std::string& operation);
/// The same of bytes; `name` stands for the path.
State read_jld2_state(std::span<const std::byte> content, const std::string& name,
                      Checksums checksums = Checksums::verified);

}  // namespace sluice::detail
