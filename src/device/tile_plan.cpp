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

/// Builds a plan: nodes become values, ops become instructions, and scratch slots are reused after the last use.
class Planner {
 public:
  explicit Planner(const TypedProgram& program) : program_(program), last_use_(program.nodes.size(), 0) {
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      for (int k = 0; k < operands_of(program.nodes[i]); ++k) {
        last_use_[program.nodes[i].operand[static_cast<std::size_t>(k)]] = i;
      }
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
    if (node.step == Step::param || node.step == Step::literal) {
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
    const int operands = operands_of(node);
    for (int k = 0; k < operands; ++k) {
      const auto at = static_cast<std::size_t>(k);
      operand[at] = value_of_[node.operand[at]];
      reads_input = reads_input || plan_->values[operand[at]].source == TilePlan::Source::input;
    }
    for (int k = operands; k < 3; ++k) operand[static_cast<std::size_t>(k)] = operand[0];
    // The result's slot is taken before the operands' are given back: registers of different width may not overlap.
    const std::uint16_t value = new_value(TilePlan::Source::scratch, take_slot());
    for (int k = 0; k < operands; ++k) {
      const std::uint16_t used = node.operand[static_cast<std::size_t>(k)];
      const TilePlan::Value& source = plan_->values[value_of_[used]];
      const bool first_mention =
          std::find(node.operand.begin(), node.operand.begin() + k, used) == node.operand.begin() + k;
      if (last_use_[used] == i && source.source == TilePlan::Source::scratch && first_mention) {
        free_slots_.push_back(source.slot);
      }
    }
    plan_->instructions.push_back({loop_of(node), value, operand[0], operand[1], operand[2], reads_input});
    return value;
  }

  const TypedProgram& program_;
  std::vector<std::size_t> last_use_;
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
