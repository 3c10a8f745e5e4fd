#include "src/core/program.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "src/core/typed_program.hpp"
#include "src/device/fork_safe.hpp"

namespace sluice::detail {
namespace {

constexpr std::size_t kMaxNodes = 65535;

/// What a thread is tracing. The vectors keep their memory from trace to trace.
struct TraceState {
  std::vector<Node> nodes;
  std::vector<std::uint16_t> outputs;
  std::vector<Scalar> params;
  bool active = false;
};

TraceState& trace_state() {
  thread_local TraceState state;
  return state;
}

TraceState& active_trace() {
  TraceState& state = trace_state();
  if (!state.active) {
    throw ArgumentError(
        "a traced value (Expr) was made outside a trace; traced values exist only while map, map_reduce or trace calls "
        "your function");
  }
  return state;
}

std::uint16_t append(std::vector<Node>& nodes, Node node) {
  if (nodes.size() == kMaxNodes)
    throw ArgumentError("trace: a program has at most 65535 operations; split the function");
  nodes.push_back(node);
  return static_cast<std::uint16_t>(nodes.size() - 1);
}

struct Structure {
  std::span<const Node> nodes;
  std::span<const std::uint16_t> outputs;
  int inputs;
  int caller_params;
  std::span<const Scalar> own_params;
};

std::size_t hash_of(const Structure& s) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(s.inputs + 1 + 64 * s.caller_params);
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  for (const Node& node : s.nodes) {
    mix(static_cast<std::uint64_t>(node.op) | static_cast<std::uint64_t>(node.operand[0]) << 16 |
        static_cast<std::uint64_t>(node.operand[1]) << 32 | static_cast<std::uint64_t>(node.operand[2]) << 48);
  }
  for (const std::uint16_t output : s.outputs) mix(output);
  return hash;
}

bool same_params(std::span<const Scalar> a, std::span<const Scalar> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Scalar& x, const Scalar& y) {
    return x.is_floating == y.is_floating && x.floating == y.floating && x.integer == y.integer;
  });
}

bool same(const Program& p, const Structure& s) {
  return p.inputs() == s.inputs && p.caller_params() == s.caller_params && std::ranges::equal(p.nodes(), s.nodes) &&
         std::ranges::equal(p.outputs(), s.outputs) && same_params(p.own_params(), s.own_params);
}

/// A small direct-mapped cache before the shared table, so that the usual call takes no lock.
constexpr std::size_t kRecent = 64;
thread_local std::array<std::pair<std::size_t, const Program*>, kRecent> recent{};

const Program* intern_shared(std::size_t hash, const Structure& s) {
  static auto& table = *new std::unordered_multimap<std::size_t, const Program*>;
  const std::lock_guard lock(program_mutex());
  const auto [first, last] = table.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (same(*it->second, s)) return it->second;
  }
  const auto* program = new Program(s.nodes, s.outputs, s.inputs, s.caller_params, s.own_params);
  table.emplace(hash, program);
  return program;
}

}  // namespace

const Program* intern(std::span<const Node> nodes, std::span<const std::uint16_t> outputs, int inputs,
                      int caller_params, std::span<const Scalar> own_params) {
  const Structure structure{nodes, outputs, inputs, caller_params, own_params};
  const std::size_t hash = hash_of(structure);
  auto& [recent_hash, program] = recent[hash % kRecent];
  if (program == nullptr || recent_hash != hash || !same(*program, structure)) {
    program = intern_shared(hash, structure);
    recent_hash = hash;
  }
  return program;
}

Trace::Trace(int inputs) : inputs_(inputs) {
  TraceState& state = trace_state();
  if (state.active) {
    throw ArgumentError(
        "map was called inside a traced function; call tensor operations outside, and scalar functions inside");
  }
  state.active = true;
  state.nodes.clear();
  state.outputs.clear();
  state.params.clear();
}

Trace::~Trace() { trace_state().active = false; }

void Trace::output(std::uint16_t node) { active_trace().outputs.push_back(node); }

const Program* Trace::program() {
  TraceState& state = active_trace();
  state.active = false;
  return intern(state.nodes, state.outputs, inputs_, static_cast<int>(state.params.size()), {});
}

std::span<const Scalar> Trace::params() const { return trace_state().params; }

void Trace::reserve_params(int caller_params, std::span<const Scalar> own_params) {
  std::vector<Scalar>& params = active_trace().params;
  params.assign(static_cast<std::size_t>(caller_params), Scalar(0));
  params.insert(params.end(), own_params.begin(), own_params.end());
}

const std::vector<Node>& Trace::nodes() const { return trace_state().nodes; }
const std::vector<std::uint16_t>& Trace::outputs() const { return trace_state().outputs; }

std::uint16_t Trace::emit(Node node) {
  TraceState& state = active_trace();
  if (node.op != Op::param) {  // parameters are never merged: that would make the structure depend on their values
    const auto found = std::ranges::find(state.nodes, node);
    if (found != state.nodes.end()) return static_cast<std::uint16_t>(found - state.nodes.begin());
  }
  return append(state.nodes, node);
}

std::uint16_t Trace::emit(const Scalar& value) {
  TraceState& state = active_trace();
  if (!value.is_floating && value.integer >= -2 && value.integer <= 16) {
    return emit(Node{Op::constant, {static_cast<std::uint16_t>(value.integer + 2)}});
  }
  state.params.push_back(value);
  return append(state.nodes, Node{Op::param, {static_cast<std::uint16_t>(state.params.size() - 1), value.is_floating}});
}

Program::Program(std::span<const Node> nodes, std::span<const std::uint16_t> outputs, int inputs, int caller_params,
                 std::span<const Scalar> own_params)
    : nodes_(nodes.begin(), nodes.end()),
      outputs_(outputs.begin(), outputs.end()),
      own_params_(own_params.begin(), own_params.end()),
      inputs_(inputs),
      caller_params_(caller_params) {}

const TypedProgram& Program::typed(std::span<const DType> inputs, const DType* outputs) const {
  std::string key;
  for (const DType dtype : inputs) key.push_back(static_cast<char>(dtype.code()));
  for (std::size_t i = 0; outputs != nullptr && i < outputs_.size(); ++i)
    key.push_back(static_cast<char>(outputs[i].code()));
  const std::lock_guard lock(program_mutex());
  const TypedProgram*& typed = typed_[key];
  if (typed == nullptr) typed = assign_types(*this, inputs, outputs).release();
  return *typed;
}

std::uint64_t Program::inputs_read() const {
  std::uint64_t read = 0;
  for (const Node& node : nodes_) {
    if (node.op == Op::input && node.operand[0] < 64) read |= std::uint64_t{1} << node.operand[0];
  }
  return read;
}

bool Program::output_is_zero(std::size_t k) const {
  const Node& node = nodes_[outputs_[k]];
  return node.op == Op::constant && node.operand[0] == 2;
}

std::mutex& program_mutex() {
  static std::mutex& mutex = []() -> std::mutex& {
    auto* made = new std::mutex;
    hold_during_fork(*made);
    return *made;
  }();
  return mutex;
}

const Program* identity_program() {
  static const Program* const program = [] {
    const Node node{Op::input, {0}};
    const std::uint16_t output = 0;
    return intern({&node, 1}, {&output, 1}, 1, 0, {});
  }();
  return program;
}

const Program* row_program(Op op) {
  static const auto& programs = *[] {
    auto* all = new std::array<const Program*, static_cast<std::size_t>(Op::kCount)>{};
    for (auto row = static_cast<std::size_t>(Op::constant) + 1; row < all->size(); ++row) {
      const int arity = row_arity(static_cast<Op>(row));
      std::vector<Node> nodes;
      Node last{static_cast<Op>(row)};
      for (int i = 0; i < arity; ++i) {
        nodes.push_back(Node{Op::input, {static_cast<std::uint16_t>(i)}});
        last.operand[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(i);
      }
      nodes.push_back(last);
      const auto output = static_cast<std::uint16_t>(arity);
      (*all)[row] = intern(nodes, {&output, 1}, arity, 0, {});
    }
    return all;
  }();
  return programs[static_cast<std::size_t>(op)];
}

namespace {
// Made while the library is loaded: a fork during the making of a function's static would leave the child waiting for a
// thread that it does not have.
[[maybe_unused]] const bool kMadeAtLoad = identity_program() != nullptr && row_program(Op::add) != nullptr;
}  // namespace

}  // namespace sluice::detail
