// Promotion: from a program and the element types of its operands to registers and conversions.
//
// Numbers written in the program are weak: they take the type of what they meet. A weak node is therefore emitted only
// when somebody asks for it, in the type asked for; a strong node is emitted in its own type and converted.
#include "src/core/typed_program.hpp"

#include <limits>
#include <map>
#include <string>

#include "src/core/program.hpp"

namespace sluice::detail {
namespace {

struct Row {
  const char* name;
  int arity;
  RowKind kind;
  bool truth;
};

constexpr bool kTruth_same = false, kTruth_truth = true;
constexpr Row kRows[] = {{"input", 0, RowKind::ordered, false},
                         {"param", 0, RowKind::ordered, false},
                         {"constant", 0, RowKind::ordered, false},
#define SLUICE_ROW(name, arity, kind, result, ...) {#name, arity, RowKind::kind, kTruth_##result},
                         SLUICE_OPS(SLUICE_ROW)
#undef SLUICE_ROW
};

const Row& row(Op op) { return kRows[static_cast<std::size_t>(op)]; }

/// What a node stands for: a type, or a number without one yet.
struct Kind {
  bool weak;
  bool floating;  // of a weak number
  DType dtype = f32;
};

bool is_narrow(DType dtype) { return dtype == u8 || dtype == i8 || dtype == i16; }

std::pair<std::int64_t, std::int64_t> limits(DType dtype) {
  switch (dtype.code()) {
    case DType::kBool: return {0, 1};
    case DType::kU8: return {0, 255};
    case DType::kI8: return {-128, 127};
    case DType::kI16: return {-32768, 32767};
    case DType::kI32: return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default: return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

class Typer {
 public:
  Typer(const Program& program, std::span<const DType> inputs) : program_(program), inputs_(inputs) {
    kinds_.reserve(program.nodes().size());
    for (const Node& node : program.nodes()) kinds_.push_back(kind_of(node));
  }

  std::unique_ptr<TypedProgram> run(const DType* outputs) {
    typed_ = std::make_unique<TypedProgram>();
    typed_->input_types.assign(inputs_.begin(), inputs_.end());
    typed_->own_params.assign(program_.own_params().begin(), program_.own_params().end());
    for (std::size_t i = 0; i < program_.outputs().size(); ++i) {
      const std::uint16_t node = program_.outputs()[i];
      const Kind& kind = kinds_[node];
      const DType natural = !kind.weak ? kind.dtype : kind.floating ? f32 : i64;
      const DType wanted = outputs == nullptr ? natural : outputs[i];
      typed_->outputs.push_back(emit(node, wanted));
      typed_->output_types.push_back(wanted);
    }
    return std::move(typed_);
  }

 private:
  /// Type of the operands of a row, weak if all of them are.
  Kind operand_kind(const Node& node) const {
    const Row& r = row(node.op);
    Kind common{true, false};
    const int first = node.op == Op::where ? 1 : 0;  // the condition does not take part
    for (int pass = 0; pass < 2; ++pass) {           // typed operands first: numbers adapt to them
      for (int k = first; k < r.arity; ++k) {
        const Kind& operand = kinds_[node.operand[static_cast<std::size_t>(k)]];
        if (operand.weak == (pass == 1)) common = combine(common, operand, r.kind);
      }
    }
    if (r.kind == RowKind::floating) {
      if (common.weak) common.floating = true;
      else if (!common.dtype.is_floating()) common.dtype = f32;
    }
    if (r.kind == RowKind::logical) return {false, false, boolean};
    return common;
  }

  static Kind combine(Kind common, Kind operand, RowKind kind) {
    if (!operand.weak && operand.dtype == boolean && kind == RowKind::arithmetic) operand.dtype = i32;
    if (operand.weak) {
      if (common.weak) return {true, common.floating || operand.floating};
      if (operand.floating && !common.dtype.is_floating()) common.dtype = f32;
      if (common.dtype == boolean) common.dtype = i32;  // true against the number 2 is a comparison of integers
      return common;
    }
    return common.weak ? operand : Kind{false, false, promote(common.dtype, operand.dtype)};
  }

  Kind kind_of(const Node& node) const {
    switch (node.op) {
      case Op::input: return {false, false, inputs_[node.operand[0]]};
      case Op::param: return {true, node.operand[1] != 0};
      case Op::constant: return {true, false};
      default: {
        if (row(node.op).truth) return {false, false, boolean};
        return operand_kind(node);
      }
    }
  }

  std::uint16_t push(const TypedNode& node) {
    typed_->nodes.push_back(node);
    return static_cast<std::uint16_t>(typed_->nodes.size() - 1);
  }

  std::uint16_t push_op(Op op, Register type, DType dtype, std::array<std::uint16_t, 3> operand);
  std::uint16_t push_literal(int value, DType dtype);
  std::uint16_t emit(std::uint16_t node, DType wanted);
  std::uint16_t emit_natural(std::uint16_t node, DType type);
  std::uint16_t emit_param(const Node& node, DType type);
  std::uint16_t emit_constant(const Node& node, DType type);
  std::uint16_t emit_row(const Node& node, DType type);
  std::uint16_t convert(std::uint16_t id, DType from, DType to);

  const Program& program_;
  std::span<const DType> inputs_;
  std::vector<Kind> kinds_;
  std::unique_ptr<TypedProgram> typed_;
  std::map<std::pair<std::uint16_t, DType::Code>, std::uint16_t> emitted_;
};

std::uint16_t Typer::push_op(Op op, Register type, DType dtype, std::array<std::uint16_t, 3> operand) {
  return push({.step = Step::op,
               .type = type,
               .result = row(op).truth ? Register::i32 : type,
               .dtype = dtype,
               .op = op,
               .operand = operand});
}

std::uint16_t Typer::push_literal(int value, DType dtype) {
  return push({.step = Step::literal,
               .type = register_of(dtype),
               .result = register_of(dtype),
               .dtype = dtype,
               .value = value});
}

/// The node as a value of type `wanted`, in wanted's register; each form once.
std::uint16_t Typer::emit(std::uint16_t node, DType wanted) {
  const auto found = emitted_.find({node, wanted.code()});
  if (found != emitted_.end()) return found->second;
  const Kind& kind = kinds_[node];
  const std::uint16_t id = kind.weak || kind.dtype == wanted ? emit_natural(node, wanted)
                                                             : convert(emit(node, kind.dtype), kind.dtype, wanted);
  return emitted_[{node, wanted.code()}] = id;
}

/// Converts a value to another type's register. Integers that become narrower wrap when they are stored; floats
/// saturate.
std::uint16_t Typer::convert(std::uint16_t id, DType from, DType to) {
  const Register source = register_of(from);
  const Register target = register_of(to);
  if (to == boolean) {
    const std::uint16_t zero = push_literal(0, from);
    const std::uint16_t is_zero = push_op(Op::eq, source, boolean, {id, zero});
    return push_op(Op::logical_not, Register::i32, boolean, {is_zero});
  }
  if (source != target) {
    id = push({.step = Step::convert, .type = target, .result = target, .dtype = to, .from = source, .operand = {id}});
  }
  if (!is_narrow(to) || from == boolean) return id;
  if (from.is_floating()) {  // saturate to the narrow range as the conversion does to the wide one
    const auto [low, high] = limits(to);
    const std::uint16_t bottom = push_literal(static_cast<int>(low), i32);
    const std::uint16_t top = push_literal(static_cast<int>(high), i32);
    id = push_op(Op::max, target, to, {id, bottom});
    return push_op(Op::min, target, to, {id, top});
  }
  return push({.step = Step::narrow, .type = target, .result = target, .dtype = to, .operand = {id}});
}

std::uint16_t Typer::emit_natural(std::uint16_t index, DType type) {
  const Node& node = program_.nodes()[index];
  switch (node.op) {
    case Op::input:
      return push({.step = Step::load,
                   .type = register_of(type),
                   .result = register_of(type),
                   .dtype = type,
                   .operand = {node.operand[0]}});
    case Op::param: return emit_param(node, type);
    case Op::constant: return emit_constant(node, type);
    default: return emit_row(node, type);
  }
}

std::uint16_t Typer::emit_param(const Node& node, DType type) {
  if (type == boolean) return convert(emit_param(node, i64), i64, boolean);
  if (!type.is_floating() && node.operand[1] == 0 && type != i64) {
    typed_->fitted_params.emplace_back(node.operand[0], type);
  }
  return push({.step = Step::param,
               .type = register_of(type),
               .result = register_of(type),
               .dtype = type,
               .operand = {node.operand[0]}});
}

std::uint16_t Typer::emit_constant(const Node& node, DType type) {
  const int value = static_cast<int>(node.operand[0]) - 2;
  if (type == boolean) return push_literal(value != 0 ? 1 : 0, i32);
  const auto [low, high] = limits(type);
  if (!type.is_floating() && (value < low || value > high)) {
    throw TypeError("map: the number " + std::to_string(value) + " does not fit " + std::string(type.name()) +
                    "; cast the tensor to a wider type first");
  }
  return push_literal(value, type);
}

std::uint16_t Typer::emit_row(const Node& node, DType type) {
  const Row& r = row(node.op);
  Kind common = operand_kind(node);
  if (common.weak) {
    // Numbers alone: compared as they are written, otherwise computed in the type asked for.
    common.dtype = r.truth ? (common.floating ? f64 : i64) : type;
    if (r.kind == RowKind::floating && !common.dtype.is_floating()) common.dtype = f32;
    if (common.dtype == boolean) common.dtype = i32;
  }
  std::array<std::uint16_t, 3> operand{};
  for (int k = 0; k < r.arity; ++k) {
    const auto at = static_cast<std::size_t>(k);
    operand[at] = emit(node.operand[at], node.op == Op::where && k == 0 ? boolean : common.dtype);
  }
  const Register registers = register_of(common.dtype);
  std::uint16_t id = push_op(node.op, registers, r.truth ? boolean : common.dtype, operand);
  if (r.kind == RowKind::arithmetic && is_narrow(common.dtype)) {
    id = push({.step = Step::narrow, .type = registers, .result = registers, .dtype = common.dtype, .operand = {id}});
  }
  const DType given = r.truth ? boolean : common.dtype;
  return given == type ? id : convert(id, given, type);
}

}  // namespace

Register register_of(DType dtype) {
  switch (dtype.code()) {
    case DType::kF64: return Register::f64;
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return Register::f32;
    case DType::kI64: return Register::i64;
    default: return Register::i32;
  }
}

RowKind row_kind(Op op) { return row(op).kind; }
bool row_is_truth(Op op) { return row(op).truth; }
int row_arity(Op op) { return row(op).arity; }
const char* row_name(Op op) { return row(op).name; }

std::unique_ptr<TypedProgram> assign_types(const Program& program, std::span<const DType> inputs,
                                           const DType* outputs) {
  return Typer(program, inputs).run(outputs);
}

}  // namespace sluice::detail
