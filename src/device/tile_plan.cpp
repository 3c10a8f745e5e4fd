#include "src/device/tile_plan.hpp"

#include <algorithm>
#include <memory>

#include "src/device/host_isa.hpp"

namespace sluice::detail {
namespace {

constexpr std::uint16_t kFirstRow = static_cast<std::uint16_t>(Op::constant) + 1;
static_assert(static_cast<int>(Op::kCount) - kFirstRow <= kTileRows, "raise kTileRows");

TileLoop loop_of(const TypedNode& node) {
  const TileKernels& kernels = tile_kernels();
  const auto type = static_cast<std::size_t>(node.type);
  switch (node.step) {
    case Step::op: return kernels.op[static_cast<std::size_t>(node.op) - kFirstRow][type];
    case Step::convert: return kernels.convert[static_cast<std::size_t>(node.from)][type];
    case Step::narrow: return kernels.narrow[node.dtype.code()];
    case Step::load: return kernels.load[node.dtype.code()];
    default: return nullptr;
  }
}

int operands_of(const TypedNode& node) {
  if (node.step == Step::op) return row_arity(node.op);
  return node.step == Step::convert || node.step == Step::narrow ? 1 : 0;
}

/// Row of TileKernels::pair, or -1.
int pair_row(const TypedNode& node, int rows) {
  constexpr std::array kRows = {Op::add, Op::sub, Op::mul, Op::div, Op::max, Op::min};
  static_assert(kRows.size() == kPairOuter);
  if (node.step != Step::op || (node.type != Register::f32 && node.type != Register::f64)) return -1;
  const auto* const found = std::find(kRows.begin(), kRows.begin() + rows, node.op);
  return found == kRows.begin() + rows ? -1 : static_cast<int>(found - kRows.begin());
}

/// Builds a plan: nodes become values, ops become instructions, and scratch slots are reused after the last use. An
/// operation whose only use is another one is made part of it where there is a loop for the two.
class Planner {
 public:
  explicit Planner(const TypedProgram& program)
      : program_(program), last_use_(program.nodes.size(), 0), inner_(program.nodes.size(), kNoInner) {
    pair_up();
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      if (is_inner_[i]) continue;
      const Operands used = operands(i);
      for (int k = 0; k < used.count; ++k) last_use_[used.node[static_cast<std::size_t>(k)]] = i;
    }
    for (const std::uint16_t output : program.outputs) last_use_[output] = program.nodes.size();
  }

  std::unique_ptr<TilePlan> run() {
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) add(i);
    std::size_t last_read = 0;
    for (std::size_t i = 0; i < plan_->instructions.size(); ++i) {
      if (plan_->instructions[i].reads_input) last_read = i;
    }
    for (std::size_t o = 0; o < program_.outputs.size(); ++o) {
      const std::uint16_t value = value_of_[program_.outputs[o]];
      const std::uint16_t made = made_by_[program_.outputs[o]];
      plan_->outputs.push_back({.value = value,
                                .store = tile_kernels().store[program_.output_types[o].code()],
                                .instruction = made,
                                .after_last_read = made != TilePlan::kNone && made >= last_read});
    }
    return std::move(plan_);
  }

 private:
  static constexpr std::uint16_t kNoInner = 0xffff;

  /// What the instruction of a node reads: x, y, z of its loop.
  struct Operands {
    int count = 0;
    std::array<std::uint16_t, 3> node{};
  };

  void pair_up() {
    const std::vector<TypedNode>& nodes = program_.nodes;
    std::vector<int> uses(nodes.size(), 0);
    for (const TypedNode& node : nodes) {
      for (int k = 0; k < operands_of(node); ++k) ++uses[node.operand[static_cast<std::size_t>(k)]];
    }
    for (const std::uint16_t output : program_.outputs) ++uses[output];
    is_inner_.assign(nodes.size(), false);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (pair_row(nodes[i], kPairOuter) < 0) continue;
      for (std::size_t side = 0; side < 2 && inner_[i] == kNoInner; ++side) {
        const std::uint16_t inner = nodes[i].operand[side];
        if (uses[inner] != 1 || inner_[inner] != kNoInner || nodes[inner].type != nodes[i].type) continue;
        if (pair_row(nodes[inner], kPairInner) < 0) continue;
        inner_[i] = inner;
        is_inner_[inner] = true;
      }
    }
  }

  Operands operands(std::size_t i) const {
    const TypedNode& node = program_.nodes[i];
    if (inner_[i] == kNoInner) return {operands_of(node), node.operand};
    const std::size_t other = node.operand[0] == inner_[i] ? 1 : 0;
    const TypedNode& inner = program_.nodes[inner_[i]];
    return {3, {inner.operand[0], inner.operand[1], node.operand[other]}};
  }

  TileLoop loop(std::size_t i) const {
    const TypedNode& node = program_.nodes[i];
    if (inner_[i] == kNoInner) return loop_of(node);
    const auto outer = static_cast<std::size_t>(pair_row(node, kPairOuter));
    const auto inner = static_cast<std::size_t>(pair_row(program_.nodes[inner_[i]], kPairInner));
    const std::size_t side = node.operand[0] == inner_[i] ? 0 : 1;
    return tile_kernels().pair[outer][inner][side][static_cast<std::size_t>(node.type)];
  }

  std::uint16_t new_value(TilePlan::Source source, std::uint16_t slot) {
    plan_->values.push_back({source, slot});
    return static_cast<std::uint16_t>(plan_->values.size() - 1);
  }

  std::uint16_t take_slot() {
    if (free_slots_.empty()) return static_cast<std::uint16_t>(plan_->scratch_slots++);
    const std::uint16_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }

  void add(std::size_t i) {
    const TypedNode& node = program_.nodes[i];
    std::uint16_t value = 0;
    std::uint16_t made = TilePlan::kNone;
    if (is_inner_[i]) {
      // Read by nobody: its operation happens in another's instruction.
    } else if (node.step == Step::param || node.step == Step::literal) {
      value = new_value(TilePlan::Source::splat, static_cast<std::uint16_t>(plan_->splats.size()));
      plan_->splats.push_back({value, node.step == Step::param, node.value, node.operand[0], node.result});
    } else if (node.step == Step::load && loop_of(node) == nullptr) {
      value = new_value(TilePlan::Source::input, node.operand[0]);
    } else {
      made = static_cast<std::uint16_t>(plan_->instructions.size());
      value = add_instruction(i);
    }
    value_of_.push_back(value);
    made_by_.push_back(made);
  }

  std::uint16_t add_instruction(std::size_t i) {
    const TypedNode& node = program_.nodes[i];
    std::array<std::uint16_t, 3> operand{};
    bool reads_input = false;
    if (node.step == Step::load) {
      operand[0] = new_value(TilePlan::Source::input, node.operand[0]);
      reads_input = true;
    }
    const Operands used = operands(i);
    const auto count = static_cast<std::size_t>(used.count);
    for (std::size_t k = 0; k < count; ++k) {
      operand[k] = value_of_[used.node[k]];
      reads_input = reads_input || plan_->values[operand[k]].source == TilePlan::Source::input;
    }
    for (std::size_t k = count; k < 3; ++k) operand[k] = operand[0];
    // The result's slot is taken before the operands' are given back: registers of different width may not overlap.
    const std::uint16_t value = new_value(TilePlan::Source::scratch, take_slot());
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint16_t node_read = used.node[k];
      const TilePlan::Value& source = plan_->values[value_of_[node_read]];
      const auto before = used.node.begin() + static_cast<std::ptrdiff_t>(k);
      const bool first_mention = std::find(used.node.begin(), before, node_read) == before;
      if (last_use_[node_read] == i && source.source == TilePlan::Source::scratch && first_mention) {
        free_slots_.push_back(source.slot);
      }
    }
    plan_->instructions.push_back({loop(i), value, operand[0], operand[1], operand[2], reads_input});
    return value;
  }

  const TypedProgram& program_;
  std::vector<std::size_t> last_use_;
  std::vector<std::uint16_t> inner_;  // the node that is part of this one's instruction
  std::vector<bool> is_inner_;
  std::vector<std::uint16_t> value_of_;
  std::vector<std::uint16_t> made_by_;
  std::vector<std::uint16_t> free_slots_;
  std::unique_ptr<TilePlan> plan_ = std::make_unique<TilePlan>();
};

}  // namespace

const TilePlan& tile_plan(const TypedProgram& program) {
  const void* known = program.plan.load(std::memory_order_acquire);
  if (known == nullptr) {
    std::unique_ptr<TilePlan> plan = Planner(program).run();
    // Two threads may build it at once; the first to store wins and the other's copy is dropped.
    if (program.plan.compare_exchange_strong(known, plan.get(), std::memory_order_acq_rel)) known = plan.release();
  }
  return *static_cast<const TilePlan*>(known);
}

const TileKernels& tile_kernels() {
#if defined(__x86_64__)
  switch (host_isa()) {
    case HostIsa::avx512: return avx512::tile_kernels;
    case HostIsa::avx2: return avx2::tile_kernels;
    case HostIsa::baseline: break;
  }
#endif
  return baseline::tile_kernels;
}

}  // namespace sluice::detail
