// From a typed program to kernel text: one statement per node, in the dialect of kernels/dialect.h. The text depends on
// the program, on how its operands lie and on the width of indices; sizes, strides and numbers are arguments.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "src/core/typed_program.hpp"
#include "src/device/device_impl.hpp"
#include "src/device/kernel_text.hpp"
#include "src/device/kernel_values.hpp"

namespace sluice::detail {

/// How an operand lies in the space it is walked over.
enum class Lie : std::uint8_t { contiguous, scalar, general };
Lie lie_of(const Operand& operand, const Shape& space);

/// The words that elements of a type are in memory ("k_u32"), and the name of a register kind ("f32") and of its type
/// in C ("float").
const char* word_name(DType dtype);
const char* register_name(Register type);
const char* register_type(Register type);

/// What the files of kernels/ expect to be defined for elements of a type: K_WORD, K_GET, K_PUT, and for the register
/// they are computed in K_T, K_TYPE and K_NAME(f).
std::string type_definitions(DType dtype);
void require_type(DType dtype, const KernelTarget& target, std::string_view operation);

/// Throws Unsupported, naming `operation`, if the program needs doubles and the target has none.
void require_registers(const TypedProgram& program, const KernelTarget& target, std::string_view operation);

/// Mask of the inputs that a program loads, by number; true where it is loaded.
std::vector<bool> loaded_inputs(const TypedProgram& program);

/// Adds the values of a program's `param` nodes to the struct of numbers.
void add_params(KernelValues& values, const TypedProgram& program, std::span<const Scalar> params);

/// The functions that a program's statements call: one per row and register kind.
std::string program_helpers(const TypedProgram& program);

/// The statements of a program, indented by `indent`: node i becomes `x_i`. `place` writes the word of input k.
std::string program_statements(const TypedProgram& program, const std::string& indent,
                               const std::function<std::string(int)>& place);

/// Statements that cut the index `name` into coordinates `<name>_0`, ... along dimensions [0, rank), whose sizes are
/// the members `<sizes>_0`, ... of the struct of numbers.
std::string coordinate_statements(const std::string& name, const std::string& sizes, int rank,
                                  const std::string& indent);

/// The kernel `sluice_map` for inputs lying like this. Its arguments: the loaded inputs in order, the outputs, the
/// values.
std::string render_map(const TypedProgram& program, std::span<const Lie> inputs, int rank, const KernelValues& values,
                       const KernelTarget& target);

}  // namespace sluice::detail
