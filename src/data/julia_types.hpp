// What the names of Julia's types mean here, for both formats of Flux checkpoints.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sluice/dtype.hpp"
#include "sluice/state.hpp"

namespace sluice::detail {

/// "Base.Dict" of "Main.Base.Dict", "NNlib.relu" of "NNlib.#relu" (the type of a function), else `path` itself.
std::string julia_type_name(std::string path);

/// The element type of "Core.Float32"; nothing if there is none like it.
std::optional<DType> dtype_of_julia(std::string_view type);
/// "Float32" of f32: the name in Core.
std::string_view julia_name_of(DType dtype);

/// The fields of a layer of Flux ("Flux.Dense") in the order of its declaration, if a version of it has `count`; else
/// none.
std::span<const std::string_view> flux_fields(std::string_view type, std::size_t count);

/// A number that lies in `bytes` as a Julia scalar of this type; nothing if that is not known or has another size.
std::optional<State> julia_scalar(std::string_view type, std::span<const std::byte> bytes);

/// A dictionary: a record, if its keys are texts or integers and differ; else an opaque node of that type.
State julia_dictionary(const State::List& keys, State::List values, const std::string& type);

}  // namespace sluice::detail
