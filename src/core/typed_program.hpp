// A program with its element types decided: what a device runs or renders.
//
// Values live in registers of four kinds; f16 and bf16 are computed in f32, the narrow integers and bool in i32
// (wrapped to their width after arithmetic, so that every node behaves as its own type).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sluice/expr.hpp"

namespace sluice::detail {

enum class Register : std::uint8_t { f32, f64, i32, i64 };
inline constexpr int kRegisters = 4;
Register register_of(DType dtype);

enum class Step : std::uint8_t {
  load,     ///< input `operand[0]`, stored as `dtype`
  param,    ///< parameter slot `operand[0]`, rounded to the register
  literal,  ///< the integer `value`
  op,       ///< a row of the table on registers of `type` (the result of a `truth` row is an i32 register of 0 or 1)
  convert,  ///< operand[0] from register kind `from` to `type`; floats to integers truncate and saturate, NaN to 0
  narrow,   ///< operand[0] wrapped to the width of `dtype` (u8, i8, i16)
};

struct TypedNode {
  Step step;
  Register type;    ///< register of the operands of an op; of the result otherwise
  Register result;  ///< register of the result
  DType dtype;      ///< what the value stands for
  Op op = Op::input;
  Register from = Register::f32;
  int value = 0;
  std::array<std::uint16_t, 3> operand{};
};

class Program;

class TypedProgram {
 public:
  std::vector<TypedNode> nodes;
  std::vector<std::uint16_t> outputs;
  std::vector<DType> output_types;  ///< the store converts the register to this type
  std::vector<DType> input_types;
  std::vector<Scalar> own_params;  ///< in the slots after the caller's
  /// Integer parameters that meet an integer type and must fit it: (slot, type). Checked at every call.
  std::vector<std::pair<std::uint16_t, DType>> fitted_params;

  /// What a device keeps with the program: the CPU's tile plan.
  mutable std::atomic<const void*> plan{nullptr};
};

/// Decides every node's type by the promotion rules. `outputs`, when not null, forces the type of every output.
/// Throws TypeError.
std::unique_ptr<TypedProgram> assign_types(const Program& program, std::span<const DType> inputs, const DType* outputs);

// The columns of the op table that are not expressions.
enum class RowKind : std::uint8_t { arithmetic, ordered, floating, logical };
RowKind row_kind(Op op);
bool row_is_truth(Op op);
int row_arity(Op op);
const char* row_name(Op op);

}  // namespace sluice::detail
