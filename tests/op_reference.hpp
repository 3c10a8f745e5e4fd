// What every row of the op table should give, in double, from a source other than the row.
#pragma once

#include <ostream>
#include <vector>

#include "sluice/expr.hpp"

namespace sluice::test {

struct OpReference {
  detail::Op op;
  const char* name;
  int arity;
  double (*value)(double x, double y, double z);
  double low, high;  ///< where the interesting arguments lie, for uniform samples
  bool differentiable;
};

/// How the test framework shows one.
inline void PrintTo(const OpReference& row, std::ostream* out) { *out << row.name; }

/// One entry per row, in the order of the table.
const std::vector<OpReference>& op_references();

}  // namespace sluice::test
