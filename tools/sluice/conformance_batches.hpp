// Rows of the op table as outputs of programs: many rows per program where few kernels may be compiled.
#pragma once

#include <span>
#include <vector>

#include "sluice/expr.hpp"
#include "tools/sluice/conformance_rows.hpp"

namespace sluice::conformance {

using Rows = std::vector<const OpReference*>;

/// All rows in groups: the weights of a group's rows add up to at most `most`; one row per group for 0.
std::vector<Rows> row_batches(const Rows& rows, int most, int (*weight)(const OpReference& row));

/// The program with the rows as outputs, all of the same three operands.
const detail::Program* shared_program(const Rows& rows);
/// The program with the rows as outputs, each of operands of its own, one row's after the other's.
const detail::Program* separate_program(const Rows& rows);

}  // namespace sluice::conformance
