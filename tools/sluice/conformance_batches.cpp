#include "tools/sluice/conformance_batches.hpp"

namespace sluice::conformance {
namespace {

std::uint16_t input(int number) {
  return detail::Trace::emit(detail::Node{detail::Op::input, {static_cast<std::uint16_t>(number)}});
}

std::uint16_t apply(const OpReference& row, int first) {
  detail::Node node{row.op, {}};
  for (int k = 0; k < row.arity; ++k) node.operand[static_cast<std::size_t>(k)] = input(first + k);
  return detail::Trace::emit(node);
}

}  // namespace

std::vector<Rows> row_batches(const Rows& rows, int most, int (*weight)(const OpReference& row)) {
  std::vector<Rows> batches;
  int room = 0;
  for (const OpReference* row : rows) {
    if (batches.empty() || room < weight(*row)) {
      batches.emplace_back();
      room = most;
    }
    batches.back().push_back(row);
    room -= weight(*row);
  }
  return batches;
}

const detail::Program* shared_program(const Rows& rows) {
  detail::Trace trace(3);
  for (const OpReference* row : rows) trace.output(apply(*row, 0));
  return trace.program();
}

const detail::Program* separate_program(const Rows& rows) {
  int inputs = 0;
  for (const OpReference* row : rows) inputs += row->arity;
  detail::Trace trace(inputs);
  int first = 0;
  for (const OpReference* row : rows) {
    trace.output(apply(*row, first));
    first += row->arity;
  }
  return trace.program();
}

}  // namespace sluice::conformance
