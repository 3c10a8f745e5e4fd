#include "tools/sluice/conformance_reference.hpp"

#include <algorithm>

#include "tools/sluice/conformance_gradient.hpp"

namespace sluice::conformance {

Index index_at(const Shape& shape, std::int64_t flat) {
  Index index;
  for (const std::int64_t size : shape) {
    index.push_back(flat % size);
    flat /= size;
  }
  return index;
}

std::int64_t flat_at(const Shape& shape, const Index& index) {
  std::int64_t flat = 0;
  for (int dim = shape.rank() - 1; dim >= 0; --dim) flat = flat * shape[dim] + index[static_cast<std::size_t>(dim)];
  return flat;
}

Array filled(const Shape& shape, const std::function<Real(const Index&)>& f) {
  Array result{shape, std::vector<Real>(static_cast<std::size_t>(shape.numel()))};
  for (std::size_t i = 0; i < result.at.size(); ++i) result.at[i] = f(index_at(shape, static_cast<std::int64_t>(i)));
  return result;
}

Array broadcast(const Array& x, const Array& y, const std::function<Real(Real, Real)>& f) {
  Shape shape;
  for (int dim = 0; dim < std::max(x.shape.rank(), y.shape.rank()); ++dim) {
    shape = shape.with(dim, x.shape[dim] == 1 ? y.shape[dim] : x.shape[dim]);
  }
  const auto element = [](const Array& array, Index index) {
    index.resize(static_cast<std::size_t>(array.shape.rank()));
    for (std::size_t dim = 0; dim < index.size(); ++dim) {
      if (array.shape[static_cast<int>(dim)] == 1) index[dim] = 0;
    }
    return array.at[static_cast<std::size_t>(flat_at(array.shape, index))];
  };
  return filled(shape, [&](const Index& index) { return f(element(x, index), element(y, index)); });
}

Array folded(const Array& x, const std::vector<int>& dims, const std::function<Real(const std::vector<Real>&)>& f) {
  Shape kept = x.shape;
  for (const int dim : dims) kept = kept.with(dim, 1);
  std::vector<std::vector<Real>> columns(static_cast<std::size_t>(kept.numel()));
  for (std::size_t i = 0; i < x.at.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t column = 0, stride = 1;
    for (int dim = 0; dim < x.shape.rank(); ++dim) {
      if (kept[dim] == x.shape[dim]) column += rest % x.shape[dim] * stride;
      rest /= x.shape[dim];
      stride *= kept[dim];
    }
    columns[static_cast<std::size_t>(column)].push_back(x.at[i]);
  }
  Array result{kept, {}};
  for (const std::vector<Real>& column : columns) result.at.push_back(f(column));
  return result;
}

Array along(const Array& x, int dim, const std::function<std::vector<Real>(const std::vector<Real>&)>& f) {
  Array result = x;
  std::int64_t inner = 1;
  for (int d = 0; d < dim; ++d) inner *= x.shape[d];
  const std::int64_t length = x.shape[dim];
  for (std::int64_t start = 0; start < x.shape.numel(); ++start) {
    if (start / inner % length != 0) continue;
    std::vector<Real> column;
    for (std::int64_t j = 0; j < length; ++j) column.push_back(x.at[static_cast<std::size_t>(start + j * inner)]);
    column = f(column);
    for (std::int64_t j = 0; j < length; ++j) {
      result.at[static_cast<std::size_t>(start + j * inner)] = column[static_cast<std::size_t>(j)];
    }
  }
  return result;
}

namespace {

/// Integer results wrap to their type.
std::vector<Real> wrapped(const std::vector<Real>& values, DType dtype) {
  std::vector<std::int64_t> integers;
  for (const Real value : values) integers.push_back(static_cast<std::int64_t>(value));
  return array_of(tensor_of_integers(integers, dtype)).at;
}

}  // namespace

void check_forward(Check& check, const Call& call, DType dtype, const std::vector<Array>& operands) {
  check.attempt(call.operation, dtype, call.where, [&] {
    std::vector<Tensor> there;
    for (const Array& x : operands) there.push_back(check.move(tensor_of(x, dtype)));
    Expected expected{call.reference(operands), call.result, call.bounds.of(call.result), {}};
    if (call.result.is_integer()) expected.values.at = wrapped(expected.values.at, call.result);
    if (call.magnitude) expected.magnitude = call.magnitude(operands);
    check.compare(call.operation, dtype, call.where, call.run(there), expected);
  });
}

namespace {

/// The gradient of sum(reference * weights) in operand k, and the greatest of its elements for each of them.
Expected expected_gradient(const Call& call, DType dtype, std::vector<Array> operands, const Array& weights,
                           std::size_t k) {
  Expected expected{operands[k], dtype, call.gradient_bounds.of(dtype), {}};
  Real greatest = 0;
  for (std::size_t i = 0; i < operands[k].at.size(); ++i) {
    const Real here = operands[k].at[i];
    const std::optional<Real> slope = difference([&](Real step) {
      operands[k].at[i] = here + step;
      const Array result = call.reference(operands);
      Real total = 0;
      for (std::size_t j = 0; j < result.at.size(); ++j) total += result.at[j] * weights.at[j];
      return total;
    });
    operands[k].at[i] = here;
    if (!slope) throw ArgumentError("the reference has no derivative at element " + std::to_string(i));
    expected.values.at[i] = *slope;
    greatest = std::max(greatest, std::fabs(*slope));
  }
  expected.magnitude.assign(operands[k].at.size(), greatest);
  return expected;
}

}  // namespace

void check_gradient(Check& check, const Call& call, DType dtype, const std::vector<Array>& operands) {
  const std::string operation = call.operation + " gradient";
  check.attempt(operation, dtype, call.where, [&] {
    std::vector<Tensor> there;
    for (const Array& x : operands) there.push_back(check.move(tensor_of(x, dtype)));
    const Array weights = check.numbers(call.reference(operands).shape, dtype, 0.5, 2);
    const std::vector<Tensor> got =
        tape_gradients([&](std::vector<Tensor>& x) { return std::vector<Tensor>{call.run(x)}; }, there,
                       {check.move(tensor_of(weights, dtype))});
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const std::string where = call.where + (operands.size() > 1 ? ", operand " + std::to_string(k) : "");
      check.compare(operation, dtype, where, got[k], expected_gradient(call, dtype, operands, weights, k));
    }
  });
}

std::vector<DType> gradient_types(const Check& check) {
  return check.spares_kernels() ? std::vector<DType>{f32} : check.floating_types();
}

}  // namespace sluice::conformance
