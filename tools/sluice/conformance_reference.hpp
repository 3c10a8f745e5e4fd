// The operations that are not rows of the op table, as plain loops in long double, and the one check they all go
// through: forward against the loops, gradients against finite differences of the loops.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/sluice/conformance_check.hpp"

namespace sluice::conformance {

using Index = std::vector<std::int64_t>;

Index index_at(const Shape& shape, std::int64_t flat);
std::int64_t flat_at(const Shape& shape, const Index& index);

/// The elements of an array whose element at an index is f(index).
Array filled(const Shape& shape, const std::function<Real(const Index&)>& f);
/// f on the elements of two arrays that broadcast from the first dimension on.
Array broadcast(const Array& x, const Array& y, const std::function<Real(Real, Real)>& f);
/// The columns of x along the dimensions of `dims`, each in order, as f makes one number of them.
Array folded(const Array& x, const std::vector<int>& dims, const std::function<Real(const std::vector<Real>&)>& f);
/// Every column of x along `dim` as f makes another of the same length.
Array along(const Array& x, int dim, const std::function<std::vector<Real>(const std::vector<Real>&)>& f);

/// One call of an operation and what it must give.
struct Call {
  std::string operation;
  std::string where;
  std::function<Tensor(const std::vector<Tensor>&)> run;
  std::function<Array(const std::vector<Array>&)> reference;
  /// Per element the size at which units of the last place are taken; without it the result's own.
  std::function<std::vector<Real>(const std::vector<Array>&)> magnitude = {};
  DType result = f32;
  Bounds bounds = kRounded;
  Bounds gradient_bounds = {16, 1000, 4};
};

/// Operands are numbers of `dtype`.
void check_forward(Check& check, const Call& call, DType dtype, const std::vector<Array>& operands);
/// Gradients in all operands, which are numbers of a floating type. Units are taken at the greatest element.
void check_gradient(Check& check, const Call& call, DType dtype, const std::vector<Array>& operands);

/// The floating types whose gradients are checked: one where few kernels may be compiled.
std::vector<DType> gradient_types(const Check& check);

}  // namespace sluice::conformance
