// Every row of the op table on every element type, forward.
#include <algorithm>
#include <bit>
#include <limits>

#include "tools/sluice/conformance_batches.hpp"
#include "tools/sluice/conformance_kernels.hpp"

namespace sluice::conformance {
namespace {

constexpr int kOutputs = 16;
constexpr std::size_t kMostOutputs = 26;  // beside three operands
constexpr std::size_t kQuickPoints = 4099, kFullPoints = 16411;

constexpr Bounds kFunction{4, 450};

/// The three operands of all rows, of one type.
struct Operands {
  DType dtype;
  std::vector<Tensor> tensors;
  std::vector<std::vector<Real>> numbers;
  std::vector<std::vector<std::int64_t>> integers;  // empty for floating types
};

/// A quarter any bits, which reach every exponent; the rest where functions do something, and special numbers.
Real any_float(Check& check, DType dtype) {
  auto& random = check.random();
  constexpr Real kSpecial[] = {0, -0.0L, 1, -1, 2, 0.5L, HUGE_VALL, -HUGE_VALL, NAN};
  constexpr Real kRanges[] = {0x1p-8L, 1, 10, 100, 10000};
  const std::uint64_t choice = random() % 64;
  if (choice < 2) return kSpecial[random() % std::size(kSpecial)];
  std::uniform_real_distribution<double> unit(-1, 1);
  if (choice < 16) {
    const std::uint64_t bits = random();
    if (dtype == f16) return std::ldexp(Real(unit(random)), static_cast<int>(bits % 43) - 26);
    return dtype == f64 ? Real(std::bit_cast<double>(bits))
                        : Real(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  const Real value = kRanges[random() % std::size(kRanges)] * unit(random);
  return choice < 40 ? value : choice < 44 ? std::nearbyint(value) : std::fabs(value);
}

std::int64_t any_integer(Check& check, DType dtype) {
  auto& random = check.random();
  const auto bits = static_cast<std::int64_t>(random());
  const int width = dtype == boolean ? 1 : static_cast<int>(dtype.size()) * 8;
  const std::int64_t least =
      dtype == u8 || dtype == boolean ? 0 : std::numeric_limits<std::int64_t>::min() >> (64 - width);
  const std::int64_t edges[] = {least, ~least, 0, 1, -1};
  switch (random() % 4) {
    case 0: return edges[random() % std::size(edges)];
    case 1: return bits % 10;
    default: return bits;
  }
}

Operands any_operands(Check& check, DType dtype, std::size_t points) {
  Operands operands{dtype, {}, {}, {}};
  for (int k = 0; k < 3; ++k) {
    if (dtype.is_floating()) {
      Array values{Shape{points}, std::vector<Real>(points)};
      for (Real& value : values.at) {
        value = rounded(any_float(check, dtype), dtype);
        if (check.flushes() && dtype != f64 && std::fabs(value) < 0x1p-126L) value = 0;
      }
      operands.tensors.push_back(tensor_of(values, dtype));
    } else {
      std::vector<std::int64_t> values(points);
      for (std::int64_t& value : values) value = any_integer(check, dtype);
      operands.tensors.push_back(tensor_of_integers(values, dtype));
      operands.integers.push_back(integers_of(operands.tensors.back()));
    }
    operands.numbers.push_back(array_of(operands.tensors.back()).at);
  }
  return operands;
}

DType result_type(const OpReference& row, DType dtype) {
  if (!row.differentiable) return boolean;
  if (row.kind == RowKind::floating) return dtype.is_floating() ? dtype : f32;
  return row.kind == RowKind::arithmetic && dtype == boolean ? i32 : dtype;
}

Tensor expected_integers(const OpReference& row, const Operands& operands) {
  const DType type = row.kind == RowKind::arithmetic && operands.dtype == boolean ? i32 : operands.dtype;
  std::vector<std::int64_t> values(operands.integers[0].size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = integer_value(row.op, operands.integers[0][i], operands.integers[1][i], operands.integers[2][i], type);
  }
  return tensor_of_integers(values, result_type(row, operands.dtype));
}

Expected expected_numbers(const OpReference& row, const Operands& operands) {
  const DType type = result_type(row, operands.dtype);
  const std::size_t points = operands.numbers[0].size();
  Expected expected{{Shape{points}, std::vector<Real>(points)}, type, 0, {}};
  expected.bound = (row.kind == RowKind::floating ? kFunction : kRounded).of(type);
  const bool from_integers = !operands.dtype.is_floating();
  for (std::size_t i = 0; i < points; ++i) {
    const auto operand = [&](std::size_t k) {
      // Integers become floats before a floating row sees them.
      return from_integers ? rounded(operands.numbers[k][i], f32) : operands.numbers[k][i];
    };
    expected.values.at[i] = row.exact(operand(0), operand(1), operand(2));
  }
  return expected;
}

/// A quotient may be off by some units, so that its floor is the neighbour.
void allow_neighbours(const Operands& operands, const Tensor& got, Expected& expected) {
  if (got.numel() != expected.values.shape.numel()) return;
  const Array values = array_of(got);
  const DType computed = operands.dtype == f64 ? f64 : f32;
  for (std::size_t i = 0; i < values.at.size(); ++i) {
    const Real quotient = operands.numbers[0][i] / operands.numbers[1][i];
    if (!std::isfinite(quotient)) continue;
    const Real reach = 4 * unit_at(quotient, computed);
    const bool is_near = values.at[i] >= rounded(std::floor(quotient - reach), operands.dtype) &&
                         values.at[i] <= rounded(std::floor(quotient + reach), operands.dtype);
    if (is_near) expected.values.at[i] = values.at[i];
  }
}

void judge_row(Check& check, const OpReference& row, const Operands& operands, const Tensor& got) {
  const std::string where = "elements side by side";
  if (!operands.dtype.is_floating() && row.kind != RowKind::floating) {
    return check.compare_bits(row.name, operands.dtype, where, got, expected_integers(row, operands));
  }
  Expected expected = expected_numbers(row, operands);
  if (row.op == detail::Op::floor_div) allow_neighbours(operands, got, expected);
  check.compare(row.name, operands.dtype, where, got, expected);
}

void run_batch(Check& check, const Rows& rows, const Operands& operands) {
  std::vector<Tensor> results;
  try {
    std::vector<Tensor> inputs;
    for (const Tensor& x : operands.tensors) inputs.push_back(check.move(x));
    results = detail::map_program(shared_program(rows), {}, inputs);
  } catch (const std::exception& error) {
    if (rows.size() == 1) {
      return check.report().fail(rows[0]->name, operands.dtype, "call", std::string("threw: ") + error.what());
    }
    // One by one, to say whose fault it is.
    for (const OpReference* row : rows) run_batch(check, {row}, operands);
    return;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    check.attempt(rows[i]->name, operands.dtype, "result", [&] { judge_row(check, *rows[i], operands, results[i]); });
  }
}

}  // namespace

void check_rows(Check& check) {
  for (const DType dtype : check.types()) {
    Rows rows;
    for (const OpReference& row : op_references()) {
      // What integers become in a floating row is the same for all of them; conversions are checked for themselves.
      const bool is_spared = row.kind == RowKind::floating && !dtype.is_floating() && dtype != i32;
      if (!check.spares_kernels() || !is_spared) rows.push_back(&row);
    }
    const Operands operands = any_operands(check, dtype, check.is_full() ? kFullPoints : kQuickPoints);
    const int most = check.is_full() ? 1 : rows.size() > kMostOutputs ? kOutputs : static_cast<int>(kMostOutputs);
    for (const Rows& batch : row_batches(rows, most, [](const OpReference&) { return 1; })) {
      run_batch(check, batch, operands);
    }
  }
}

void check_map(Check& check) {
  check_rows(check);
  check_row_gradients(check);
  check_layouts(check);
  check_casts(check);
}

}  // namespace sluice::conformance
