// Interned programs, their derivatives, and their typed forms.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sluice/expr.hpp"

namespace sluice::detail {

class TypedProgram;

/// A straight-line list of scalar operations: nodes in order, some of them outputs. Immutable, and never freed: the
/// number of different structures is bounded by the program text that makes them.
class Program {
 public:
  Program(std::span<const Node> nodes, std::span<const std::uint16_t> outputs, int inputs, int caller_params,
          std::span<const Scalar> own_params);

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const std::uint16_t> outputs() const { return outputs_; }
  int inputs() const { return inputs_; }
  /// Parameters that the structure itself brings, in the slots after the caller's.
  std::span<const Scalar> own_params() const { return own_params_; }
  /// Number of the caller's parameters.
  int caller_params() const { return caller_params_; }

  /// The program with inputs (x..., g...) and one output per wanted input: the gradient that flows to it. `wanted` and
  /// `given` are masks of inputs and of outputs that have a gradient (only those get a g).
  SLUICE_API const Program* derivative(std::uint64_t wanted, std::uint64_t given) const;
  /// For one-input, one-output programs whose derivative can be written in the result alone: that derivative, with
  /// inputs (result, g). Null otherwise.
  const Program* derivative_of_result() const;
  /// Mask of the inputs that some node reads; inputs past the 64th are not in it.
  std::uint64_t inputs_read() const;
  /// Whether output `k` is the literal 0: no gradient flows there.
  bool output_is_zero(std::size_t k) const;

  /// With element types filled in. `outputs`, when not null, forces the type of every output. Throws TypeError.
  const TypedProgram& typed(std::span<const DType> inputs, const DType* outputs = nullptr) const;

 private:
  std::vector<Node> nodes_;
  std::vector<std::uint16_t> outputs_;
  std::vector<Scalar> own_params_;
  int inputs_;
  int caller_params_;

  // Guarded by program_mutex().
  mutable std::map<std::pair<std::uint64_t, std::uint64_t>, const Program*> derivatives_;
  mutable std::map<std::string, const TypedProgram*> typed_;  // by the codes of the types
  mutable bool has_result_form_ = false;
  mutable const Program* result_form_ = nullptr;
};

/// Guards what all programs keep and the table of programs: one mutex, so that it can be held while the process forks.
std::mutex& program_mutex();

/// x -> x, for casts and copies.
const Program* identity_program();
/// The program that is one row of the table applied to its operands.
const Program* row_program(Op op);

}  // namespace sluice::detail
