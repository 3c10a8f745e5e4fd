#include "src/device/renderer.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "sluice/error.hpp"

namespace sluice::detail {
namespace {

// The text column of the op table, in x, y, z and FN(...).
constexpr const char* kRowTexts[] = {"", "", "",
#define SLUICE_ROW(name, arity, kind, result, text, ...) #text,
                                     SLUICE_OPS(SLUICE_ROW)
#undef SLUICE_ROW
};

/// The row's expression with its FN(f) as the helper for a register kind.
std::string row_text(Op op, Register type) {
  std::string text = kRowTexts[static_cast<std::size_t>(op)];
  for (std::size_t at = text.find("FN("); at != std::string::npos; at = text.find("FN(")) {
    const std::size_t end = text.find(')', at);
    const std::string name = text.substr(at + 3, end - at - 3);
    text.replace(at, end + 1 - at, fmt::format("k_{}_{}", name, register_name(type)));
  }
  return text;
}

std::string row_function(Op op, Register type) {
  constexpr const char* kNames[] = {"x", "y", "z"};
  const char* const c_type = register_type(type);
  std::string parameters;
  for (int k = 0; k < row_arity(op); ++k) {
    const bool is_condition = op == Op::where && k == 0;
    parameters += fmt::format("{}{} {}", k == 0 ? "" : ", ", is_condition ? "int" : c_type, kNames[k]);
  }
  return fmt::format("KFN {} k_row_{}_{}({}) {{ return {}; }}\n", row_is_truth(op) ? "int" : c_type, row_name(op),
                     register_name(type), parameters, row_text(op, type));
}

std::string literal_text(int value, Register type) {
  switch (type) {
    case Register::f32: return fmt::format("{}.0f", value);
    case Register::f64: return fmt::format("{}.0", value);
    case Register::i32: return fmt::format("{}", value);
    case Register::i64: return fmt::format("(k_i64){}", value);
  }
  return {};
}

std::string operation_text(const TypedNode& node) {
  std::string text = fmt::format("k_row_{}_{}(", row_name(node.op), register_name(node.type));
  for (int k = 0; k < row_arity(node.op); ++k) {
    text += fmt::format("{}x_{}", k == 0 ? "" : ", ", node.operand[static_cast<std::size_t>(k)]);
  }
  return text + ")";
}

std::string node_text(const TypedNode& node, int index, const std::function<std::string(int)>& place) {
  switch (node.step) {
    case Step::load: return fmt::format("k_get_{}({})", node.dtype.name(), place(node.operand[0]));
    case Step::param: return "v." + to_string({"param", index});
    case Step::literal: return literal_text(node.value, node.type);
    case Step::op: return operation_text(node);
    case Step::convert:
      return fmt::format("k_{}_to_{}(x_{})", register_name(node.from), register_name(node.type), node.operand[0]);
    case Step::narrow: return fmt::format("k_get_{0}(k_put_{0}(x_{1}))", node.dtype.name(), node.operand[0]);
  }
  return {};
}

/// Where input k lies: the word's expression.
std::string word_text(int input, Lie lie, int rank) {
  if (lie == Lie::contiguous) return fmt::format("in_{0}[v.offset_{0} + i]", input);
  std::string text = fmt::format("in_{0}[v.offset_{0}", input);
  for (int dim = 0; lie == Lie::general && dim < rank; ++dim) {
    text += fmt::format(" + (k_offset)i_{} * v.stride_{}_{}", dim, input, dim);
  }
  return text + "]";
}

std::string map_parameters(const TypedProgram& program) {
  const std::vector<bool> loaded = loaded_inputs(program);
  std::string text;
  int slot = 0;
  for (std::size_t k = 0; k < loaded.size(); ++k) {
    if (loaded[k]) text += fmt::format("K_READ({}, in_{}, {}), ", word_name(program.input_types[k]), k, slot++);
  }
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    text += fmt::format("K_WRITE({}, out_{}, {}), ", word_name(program.output_types[k]), k, slot++);
  }
  return text + fmt::format("K_VALUES(k_values, v, {}) K_IDS", slot);
}

}  // namespace

Lie lie_of(const Operand& operand, const Shape& space) {
  bool is_contiguous = true, is_scalar = true;
  std::int64_t stride = 1;
  for (int dim = 0; dim < space.rank(); ++dim) {
    const std::int64_t size = space[dim];
    if (size == 1) continue;
    is_contiguous = is_contiguous && operand.strides[static_cast<std::size_t>(dim)] == stride;
    is_scalar = is_scalar && operand.strides[static_cast<std::size_t>(dim)] == 0;
    stride *= size;
  }
  return is_contiguous ? Lie::contiguous : is_scalar ? Lie::scalar : Lie::general;
}

const char* word_name(DType dtype) {
  switch (dtype.size()) {
    case 1: return "k_u8";
    case 2: return "k_u16";
    case 4: return "k_u32";
    default: return "k_u64";
  }
}

const char* register_name(Register type) {
  constexpr const char* kNames[kRegisters] = {"f32", "f64", "i32", "i64"};
  return kNames[static_cast<std::size_t>(type)];
}

const char* register_type(Register type) {
  constexpr const char* kTypes[kRegisters] = {"float", "double", "int", "k_i64"};
  return kTypes[static_cast<std::size_t>(type)];
}

std::string type_definitions(DType dtype) {
  const Register type = register_of(dtype);
  return fmt::format(
      "#define K_WORD {}\n#define K_GET k_get_{}\n#define K_PUT k_put_{}\n#define K_T {}\n#define K_TYPE {}\n"
      "#define K_NAME(f) f##_{}\n",
      word_name(dtype), dtype.name(), dtype.name(), register_type(type), static_cast<int>(type), register_name(type));
}

void require_type(DType dtype, const KernelTarget& target, std::string_view operation) {
  if (dtype != f64 || target.has_f64) return;
  throw Unsupported(
      fmt::format("{}: the device has no f64; convert to f32 first, f32(x), or compute on the CPU, "
                  "x | cpu_device()",
                  operation));
}

void require_registers(const TypedProgram& program, const KernelTarget& target, std::string_view operation) {
  for (const TypedNode& node : program.nodes) {
    if (node.type == Register::f64 || node.result == Register::f64) require_type(f64, target, operation);
  }
}

std::vector<bool> loaded_inputs(const TypedProgram& program) {
  std::vector<bool> loaded(program.input_types.size());
  for (const TypedNode& node : program.nodes) {
    if (node.step == Step::load) loaded[node.operand[0]] = true;
  }
  return loaded;
}

void add_params(KernelValues& values, const TypedProgram& program, std::span<const Scalar> params) {
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const TypedNode& node = program.nodes[i];
    if (node.step != Step::param) continue;
    values.add_number({"param", static_cast<int>(i)}, node.type, params[node.operand[0]]);
  }
}

std::string program_helpers(const TypedProgram& program) {
  std::set<std::pair<Op, Register>> used;
  for (const TypedNode& node : program.nodes) {
    if (node.step == Step::op) used.emplace(node.op, node.type);
  }
  std::string text;
  for (const auto& [op, type] : used) text += row_function(op, type);
  return text;
}

std::string program_statements(const TypedProgram& program, const std::string& indent,
                               const std::function<std::string(int)>& place) {
  std::string text;
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const TypedNode& node = program.nodes[i];
    text += fmt::format("{}const {} x_{} = {};\n", indent, register_type(node.result), i,
                        node_text(node, static_cast<int>(i), place));
  }
  return text;
}

std::string coordinate_statements(const std::string& name, const std::string& sizes, int rank,
                                  const std::string& indent) {
  if (rank == 1) return fmt::format("{}const k_index {}_0 = {};\n", indent, name, name);
  std::string text, rest = name;
  for (int dim = 0; dim + 1 < rank; ++dim) {
    text += fmt::format("{0}const k_index {1}_{2} = {3} % v.{4}_{2};\n", indent, name, dim, rest, sizes);
    text += fmt::format("{0}const k_index {1}_rest_{2} = {3} / v.{4}_{2};\n", indent, name, dim, rest, sizes);
    rest = fmt::format("{}_rest_{}", name, dim);
  }
  return text + fmt::format("{}const k_index {}_{} = {};\n", indent, name, rank - 1, rest);
}

std::string render_map(const TypedProgram& program, std::span<const Lie> inputs, int rank, const KernelValues& values,
                       const KernelTarget& target) {
  std::string text = kernel_prelude(target) + values.text() + program_helpers(program);
  text += fmt::format("K_KERNEL(sluice_map)({}) {{\n", map_parameters(program));
  text += "  for (k_index i = K_GLOBAL_ITEM; i < v.count; i += K_GLOBAL_ITEMS) {\n";
  const std::vector<bool> loaded = loaded_inputs(program);
  bool has_general = false;
  for (std::size_t k = 0; k < loaded.size(); ++k) has_general = has_general || (loaded[k] && inputs[k] == Lie::general);
  if (has_general) text += coordinate_statements("i", "size", rank, "    ");
  text += program_statements(program, "    ",
                             [&](int k) { return word_text(k, inputs[static_cast<std::size_t>(k)], rank); });
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    text += fmt::format("    out_{0}[v.out_offset_{0} + i] = k_put_{1}(x_{2});\n", k, program.output_types[k].name(),
                        program.outputs[k]);
  }
  return text + "  }\n}\n";
}

}  // namespace sluice::detail
