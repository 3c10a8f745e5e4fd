#include "src/device/program_split.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace sluice::detail {
namespace {

constexpr DType kRegisterTypes[kRegisters] = {f32, f64, i32, i64};

/// Costs nothing to make again.
bool is_leaf(const TypedNode& node) {
  return node.step == Step::load || node.step == Step::param || node.step == Step::literal;
}

int operand_count(const TypedNode& node) { return node.step == Step::op ? row_arity(node.op) : is_leaf(node) ? 0 : 1; }

class Splitter {
 public:
  Splitter(const TypedProgram& program, const KernelRoom& room) : program_(program), room_(room) {
    last_use_.resize(program.nodes.size());
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      for (int k = 0; k < operand_count(program.nodes[i]); ++k) last_use_[operand(i, k)] = i;
    }
  }

  SplitProgram run() {
    std::vector<std::size_t> leaf_outputs;
    for (std::size_t o = 0; o < program_.outputs.size(); ++o) {
      const std::size_t node = program_.outputs[o];
      if (is_leaf(program_.nodes[node])) leaf_outputs.push_back(o);
      else outputs_of_[node].push_back(o);
    }
    std::size_t first = 0;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      if (is_leaf(program_.nodes[i]) || fits(first, i + 1)) continue;
      add_part(first, i);
      first = i;
    }
    add_part(first, program_.nodes.size());
    add_leaf_outputs(leaf_outputs);
    return std::move(split_);
  }

 private:
  struct Needs {
    std::set<std::size_t> loads, params, earlier;  // nodes
    std::size_t outputs = 0;
  };

  std::size_t operand(std::size_t node, int k) const {
    return program_.nodes[node].operand[static_cast<std::size_t>(k)];
  }

  void need(Needs& needs, std::size_t node, std::size_t first) const {
    const TypedNode& what = program_.nodes[node];
    if (what.step == Step::load) needs.loads.insert(node);
    else if (what.step == Step::param) needs.params.insert(node);
    else if (!is_leaf(what) && node < first) needs.earlier.insert(node);
  }

  bool is_needed_later(std::size_t node, std::size_t end) const { return last_use_[node] >= end; }

  Needs needs_of(std::size_t first, std::size_t end) const {
    Needs needs;
    for (std::size_t i = first; i < end; ++i) {
      if (is_leaf(program_.nodes[i])) continue;
      for (int k = 0; k < operand_count(program_.nodes[i]); ++k) need(needs, operand(i, k), first);
      const auto outputs = outputs_of_.find(i);
      needs.outputs += outputs == outputs_of_.end() ? 0 : outputs->second.size();
      needs.outputs += is_needed_later(i, end) ? 1 : 0;
    }
    return needs;
  }

  bool fits(std::size_t first, std::size_t end) const {
    const Needs needs = needs_of(first, end);
    const std::size_t inputs = needs.loads.size() + needs.earlier.size();
    return inputs + needs.outputs <= room_.blocks &&
           inputs * room_.input_bytes + needs.outputs * room_.output_bytes + needs.params.size() * 8 <= room_.bytes;
  }

  // ---- Making a part.

  struct Draft {
    ProgramPart part;
    std::map<std::size_t, std::uint16_t> places;  // of the whole program's nodes
  };

  static Draft new_draft() {
    Draft draft;
    draft.part.program = std::make_unique<TypedProgram>();
    return draft;
  }

  std::uint16_t push(Draft& draft, std::size_t node, const TypedNode& what) const {
    const auto place = static_cast<std::uint16_t>(draft.part.program->nodes.size());
    draft.part.program->nodes.push_back(what);
    draft.places[node] = place;
    return place;
  }

  std::uint16_t push_load(Draft& draft, std::size_t node, TypedNode load, const PartTensor& tensor) const {
    load.step = Step::load;
    load.operand[0] = static_cast<std::uint16_t>(draft.part.inputs.size());
    draft.part.inputs.push_back(tensor);
    draft.part.program->input_types.push_back(load.dtype);
    return push(draft, node, load);
  }

  /// Where a node's value is in the part; leaves and values of earlier parts are put in at their first use.
  std::uint16_t place_of(Draft& draft, std::size_t node) {
    const auto known = draft.places.find(node);
    if (known != draft.places.end()) return known->second;
    const TypedNode& what = program_.nodes[node];
    if (what.step == Step::load) return push_load(draft, node, what, {false, what.operand[0]});
    if (is_leaf(what)) return push(draft, node, what);
    TypedNode load{};
    load.type = load.result = what.result;
    load.dtype = kRegisterTypes[static_cast<std::size_t>(what.result)];
    return push_load(draft, node, load, {true, temporaries_.at(node)});
  }

  void add_output(Draft& draft, std::uint16_t place, DType dtype, const PartTensor& tensor) const {
    draft.part.program->outputs.push_back(place);
    draft.part.program->output_types.push_back(dtype);
    draft.part.outputs.push_back(tensor);
  }

  void add_node(Draft& draft, std::size_t i, std::size_t end) {
    TypedNode node = program_.nodes[i];
    for (int k = 0; k < operand_count(node); ++k) {
      node.operand[static_cast<std::size_t>(k)] = place_of(draft, operand(i, k));
    }
    const std::uint16_t place = push(draft, i, node);
    for (const std::size_t o : outputs_of_[i]) add_output(draft, place, program_.output_types[o], {false, o});
    if (!is_needed_later(i, end)) return;
    const DType dtype = kRegisterTypes[static_cast<std::size_t>(node.result)];
    temporaries_[i] = split_.temporaries.size();
    add_output(draft, place, dtype, {true, split_.temporaries.size()});
    split_.temporaries.push_back(dtype);
  }

  void add_part(std::size_t first, std::size_t end) {
    Draft draft = new_draft();
    for (std::size_t i = first; i < end; ++i) {
      if (!is_leaf(program_.nodes[i])) add_node(draft, i, end);
    }
    if (!draft.part.outputs.empty()) split_.parts.push_back(std::move(draft.part));
  }

  void add_leaf_outputs(const std::vector<std::size_t>& outputs) {
    const std::size_t most = room_.blocks / 2;
    for (std::size_t first = 0; first < outputs.size(); first += most) {
      Draft draft = new_draft();
      for (std::size_t k = first; k < std::min(first + most, outputs.size()); ++k) {
        const std::uint16_t place = place_of(draft, program_.outputs[outputs[k]]);
        add_output(draft, place, program_.output_types[outputs[k]], {false, outputs[k]});
      }
      split_.parts.push_back(std::move(draft.part));
    }
  }

  const TypedProgram& program_;
  const KernelRoom room_;
  std::vector<std::size_t> last_use_;  // of a node as an operand; 0 if never
  std::map<std::size_t, std::vector<std::size_t>> outputs_of_;
  std::map<std::size_t, std::size_t> temporaries_;
  SplitProgram split_;
};

}  // namespace

bool has_room(const TypedProgram& program, const KernelRoom& room) {
  std::size_t inputs = 0, params = 0;
  for (const TypedNode& node : program.nodes) {
    inputs += node.step == Step::load ? 1 : 0;
    params += node.step == Step::param ? 1 : 0;
  }
  const std::size_t outputs = program.outputs.size();
  return inputs + outputs <= room.blocks &&
         inputs * room.input_bytes + outputs * room.output_bytes + params * 8 <= room.bytes;
}

SplitProgram split_program(const TypedProgram& program, const KernelRoom& room) {
  return Splitter(program, room).run();
}

}  // namespace sluice::detail
