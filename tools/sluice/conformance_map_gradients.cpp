// The derivative of every row of the op table, at regular points and where it is singular.
#include <algorithm>

#include "src/core/map.hpp"
#include "src/core/program.hpp"
#include "tools/sluice/conformance_batches.hpp"
#include "tools/sluice/conformance_gradient.hpp"
#include "tools/sluice/conformance_kernels.hpp"

namespace sluice::conformance {
namespace {

constexpr std::size_t kPoints = 211;
constexpr int kBlocks = 30;  // of memory, what a kernel takes
constexpr Bounds kDerivative{16, 1000, 2};

std::string operation_of(const OpReference& row) { return std::string(row.name) + " gradient"; }

/// Operands, incoming gradient and results of a row's derivative.
int blocks_of(const OpReference& row) { return 2 * row.arity + 1; }

/// What a row's derivative is asked for: operands and incoming gradients, all of one type.
struct Question {
  std::vector<Array> operands;
  Array weights;
};

/// Away from kinks and steps: the fractional part of every operand lies in [0.1, 0.4].
Question regular_points(Check& check, const OpReference& row, DType dtype) {
  Question question;
  for (int k = 0; k < row.arity; ++k) {
    Array values = check.numbers({kPoints}, dtype, 0.1, 0.4);
    const int least = row.low >= 0 ? 0 : -3;
    for (Real& value : values.at) value = rounded(value + static_cast<int>(check.random()() % 7) + least, dtype);
    question.operands.push_back(values);
  }
  if (row.op == detail::Op::where) question.operands[0] = check.numbers({kPoints}, boolean, 0, 1);
  question.weights = check.numbers({kPoints}, dtype, 0.5, 2);
  return question;
}

/// The derivative in operand `k` at element `i` by finite differences.
std::optional<Real> derivative_at(const OpReference& row, const Question& question, std::size_t k, std::size_t i) {
  return difference([&](Real step) {
    Real x[3] = {};
    for (std::size_t j = 0; j < question.operands.size(); ++j) x[j] = question.operands[j].at[i];
    x[k] += step;
    return row.exact(x[0], x[1], x[2]);
  });
}

void judge_derivative(Check& check, const OpReference& row, DType dtype, const Question& question, std::size_t k,
                      const Tensor& got) {
  const std::string where = "in operand " + std::to_string(k);
  const Array values = got ? array_of(got) : Array{Shape{kPoints}, std::vector<Real>(kPoints, 0)};
  Expected expected{{values.shape, values.at}, dtype, kDerivative.of(dtype), question.weights.at};
  std::size_t usable = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const std::optional<Real> slope = derivative_at(row, question, k, i);
    if (!slope) continue;
    ++usable;
    expected.values.at[i] = *slope * question.weights.at[i];
  }
  if (usable < kPoints / 4) return check.report().fail(operation_of(row), dtype, where, "too few points can be judged");
  // Where nothing flows there is no tensor, which stands for zeros.
  const Tensor given = got ? got : check.move(tensor_of(values, dtype));
  check.compare(operation_of(row), dtype, where, given, expected);
}

using Judgement = std::function<void(const OpReference& row, const Question& question, std::size_t k, const Tensor&)>;

/// By the tape; where many rows share a program, by its derivative alone, which is what the tape runs.
std::vector<Tensor> row_gradients(const Check& check, const Rows& rows, std::vector<Tensor> inputs,
                                  const std::vector<Tensor>& weights) {
  const detail::Program* const program = separate_program(rows);
  if (check.is_full()) {
    const auto f = [&](std::vector<Tensor>& x) { return detail::map_program(program, {}, x); };
    return tape_gradients(f, std::move(inputs), weights);
  }
  const auto mask = [](std::size_t bits) { return (std::uint64_t{1} << bits) - 1; };
  const detail::Program* const derivative = program->derivative(mask(inputs.size()), mask(weights.size()));
  const std::vector<DType> types(inputs.size(), inputs[0].dtype());
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  return detail::run_map(derivative, {}, inputs, types.data());
}

/// Calls the derivatives of all rows of a batch at once, then `judge` for every operand of each.
void run_batch(Check& check, const Rows& rows, DType dtype, const std::vector<Question>& questions,
               const Judgement& judge) {
  std::vector<Tensor> gradients;
  try {
    std::vector<Tensor> inputs, weights;
    for (const Question& question : questions) {
      for (const Array& operand : question.operands) inputs.push_back(check.move(tensor_of(operand, dtype)));
      weights.push_back(check.move(tensor_of(question.weights, dtype)));
    }
    gradients = row_gradients(check, rows, inputs, weights);
  } catch (const std::exception& error) {
    if (rows.size() == 1) {
      return check.report().fail(operation_of(*rows[0]), dtype, "call", std::string("threw: ") + error.what());
    }
    for (std::size_t i = 0; i < rows.size(); ++i) run_batch(check, {rows[i]}, dtype, {questions[i]}, judge);
    return;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < questions[i].operands.size(); ++k, ++at) {
      check.attempt(operation_of(*rows[i]), dtype, "result", [&] { judge(*rows[i], questions[i], k, gradients[at]); });
    }
  }
}

/// The singular points of a row, filled up with 1 to as many as any row has.
Question singular_question(const OpReference& row) {
  const std::size_t count = singular_points().size();
  Question question;
  question.weights = {Shape{count}, std::vector<Real>(count, 1)};
  question.operands.assign(static_cast<std::size_t>(row.arity), question.weights);
  std::size_t i = 0;
  for (const SingularPoint& point : singular_points()) {
    if (point.op == row.op) {
      question.operands[0].at[i] = point.x;
      if (row.arity > 1) question.operands[1].at[i] = point.y;
    }
    ++i;
  }
  return question;
}

void judge_singular(Check& check, const OpReference& row, std::size_t k, const Tensor& got) {
  const auto is_of_row = [&](const SingularPoint& point) { return point.op == row.op; };
  if (std::ranges::none_of(singular_points(), is_of_row)) return;
  const std::size_t count = singular_points().size();
  const Array values = got ? array_of(got) : Array{Shape{count}, std::vector<Real>(count, 0)};
  Expected expected{{values.shape, values.at}, f32, kDerivative.of(f32), std::vector<Real>(count, 1)};
  std::size_t i = 0;
  for (const SingularPoint& point : singular_points()) {
    if (is_of_row(point)) expected.values.at[i] = Real(k == 0 ? point.dx : point.dy);
    ++i;
  }
  const Tensor given = got ? got : check.move(tensor_of(values, f32));
  check.compare(operation_of(row), f32, "at singular points, operand " + std::to_string(k), given, expected);
}

}  // namespace

void check_row_gradients(Check& check) {
  Rows rows;
  for (const OpReference& row : op_references()) {
    if (row.differentiable) rows.push_back(&row);
  }
  for (const Rows& batch : row_batches(rows, check.is_full() ? 1 : kBlocks, blocks_of)) {
    for (const DType dtype : check.types({f32})) {
      if (!dtype.is_floating()) continue;
      std::vector<Question> questions;
      for (const OpReference* row : batch) questions.push_back(regular_points(check, *row, dtype));
      run_batch(check, batch, dtype, questions,
                [&](const OpReference& row, const Question& question, std::size_t k, const Tensor& got) {
                  judge_derivative(check, row, dtype, question, k, got);
                });
    }
    std::vector<Question> questions;
    for (const OpReference* row : batch) questions.push_back(singular_question(*row));
    run_batch(check, batch, f32, questions,
              [&](const OpReference& row, const Question&, std::size_t k, const Tensor& got) {
                judge_singular(check, row, k, got);
              });
  }
}

}  // namespace sluice::conformance
