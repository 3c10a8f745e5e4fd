// What every row of the op table should give, from a source other than the row: the C++ library or the definition, in
// double and in long double, integers by arithmetic wide enough; and where a row's derivative is singular, what was
// decided there.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

#include "sluice/expr.hpp"

namespace sluice::conformance {

/// The columns `kind` and `result` of the op table.
enum class RowKind : std::uint8_t { arithmetic, ordered, floating, logical };

struct OpReference {
  detail::Op op;
  const char* name;
  int arity;
  double (*value)(double x, double y, double z);
  long double (*exact)(long double x, long double y, long double z);
  double low, high;  ///< where the interesting arguments lie, for uniform samples
  RowKind kind;
  bool differentiable;  ///< all but the rows that give bool
};

/// How the test framework shows one.
inline void PrintTo(const OpReference& row, std::ostream* out) { *out << row.name; }

/// One entry per row, in the order of the table.
const std::vector<OpReference>& op_references();
const OpReference& op_reference(detail::Op op);

/// A row that is not `floating`, of integers or bools of a type, wrapped to it. Throws ArgumentError for a row that
/// has no line here.
std::int64_t integer_value(detail::Op op, std::int64_t x, std::int64_t y, std::int64_t z, DType dtype);

/// A row's derivative in each operand at a point where it is singular or special.
struct SingularPoint {
  detail::Op op;
  float x, y;
  float dx, dy;
};
std::span<const SingularPoint> singular_points();

}  // namespace sluice::conformance
