// sum, mean, prod, maximum, minimum, any and all.
#include <algorithm>
#include <numeric>

#include "tools/sluice/conformance_kernels.hpp"
#include "tools/sluice/conformance_reference.hpp"

namespace sluice::conformance {
namespace {

using Column = std::vector<Real>;

struct Reduction {
  const char* name;
  Tensor (*run)(const Tensor& x, const Dims& dims, ReduceOptions options);
  Real (*fold)(const Column& column);
  /// The types to take where few kernels may be compiled: together they reach each type, and most that are
  /// computed in.
  std::initializer_list<DType> quick;
};

Real sum_of(const Column& column) { return std::accumulate(column.begin(), column.end(), Real(0)); }
Real mean_of(const Column& column) { return sum_of(column) / static_cast<Real>(column.size()); }
Real prod_of(const Column& column) {
  return std::accumulate(column.begin(), column.end(), Real(1), std::multiplies<>());
}
template <class Better>
Real extreme_of(const Column& column) {
  Real best = column[0];
  for (const Real x : column) {
    if (std::isnan(x)) return x;
    if (Better()(x, best)) best = x;
  }
  return best;
}
Real any_of(const Column& column) {
  return std::ranges::any_of(column, [](Real x) { return x != 0; }) ? 1 : 0;
}
Real all_of(const Column& column) {
  return std::ranges::all_of(column, [](Real x) { return x != 0; }) ? 1 : 0;
}

const Reduction kSum{"sum", sum, sum_of, {boolean, i16, i64, bf16, f32, f64}};
const Reduction kMean{"mean", mean, mean_of, {i32, f32, f64}};
const Reduction kProd{"prod", prod, prod_of, {u8, i32, f16, f64}};
const Reduction kMaximum{"maximum", maximum, extreme_of<std::greater<>>, {i8, i64, f16, f32}};
const Reduction kMinimum{"minimum", minimum, extreme_of<std::less<>>, {i16, bf16, f64}};
const Reduction kAny{"any", any, any_of, {f32, u8}};
const Reduction kAll{"all", all, all_of, {boolean, i64}};

bool is(const Reduction& a, const Reduction& b) { return a.run == b.run; }
bool is_truth(const Reduction& reduction) { return is(reduction, kAny) || is(reduction, kAll); }
bool is_extreme(const Reduction& reduction) { return is(reduction, kMaximum) || is(reduction, kMinimum); }

DType result_of(const Reduction& reduction, DType dtype) {
  if (is_truth(reduction)) return boolean;
  if (is_extreme(reduction) || dtype.is_floating()) return dtype;
  return is(reduction, kMean) ? f32 : i64;
}

std::vector<int> all_dims(int rank) {
  std::vector<int> dims(static_cast<std::size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

std::string text_of(const Shape& shape, const std::vector<int>& dims) {
  std::string text;
  for (const int dim : dims) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return to_string(shape) + " over " + (text.empty() ? "no dimension" : text);
}

Call call_of(const Reduction& reduction, DType dtype, const Shape& shape, const std::vector<int>& dims) {
  Call call{.operation = reduction.name,
            .where = text_of(shape, dims),
            .run = [&reduction, dims](const std::vector<Tensor>& x) { return reduction.run(x[0], Dims(dims), {}); },
            .reference = [&reduction, dims](const std::vector<Array>& x) { return folded(x[0], dims, reduction.fold); },
            .result = result_of(reduction, dtype)};
  if (is_extreme(reduction) || is_truth(reduction)) return call;
  call.bounds = {4, 450};
  if (is(reduction, kProd)) return call;
  // A sum may lose what its greatest terms hide.
  call.magnitude = [&reduction, dims](const std::vector<Array>& x) {
    Array sizes = x[0];
    for (Real& value : sizes.at) value = std::fabs(value);
    return folded(sizes, dims, reduction.fold).at;
  };
  return call;
}

/// Numbers whose reduction every type holds.
Array numbers_for(Check& check, const Reduction& reduction, DType dtype, const Shape& shape) {
  if (is(reduction, kProd)) {
    if (dtype == boolean) return filled(shape, [&](const Index&) { return check.random()() % 64 == 0 ? 0 : 1; });
    if (dtype.is_floating()) return check.numbers(shape, dtype, 0.9, 1.1);
    return filled(shape, [&](const Index&) { return check.random()() % 16 == 0 ? 2 : 1; });
  }
  if (is_truth(reduction)) {
    const std::uint64_t rare = 16;
    const bool seldom = is(reduction, kAny);
    return filled(shape, [&](const Index&) { return (check.random()() % rare == 0) == seldom ? 1 : 0; });
  }
  Array x = check.numbers(shape, dtype, is_extreme(reduction) ? -100 : -3, is_extreme(reduction) ? 100 : 3);
  for (Real& value : x.at) {
    if (is_extreme(reduction) && dtype.is_floating() && check.random()() % 100 == 0) value = NAN;
  }
  return x;
}

void check_dims(Check& check, const Reduction& reduction, DType dtype, const Shape& shape,
                const std::vector<int>& dims) {
  check_forward(check, call_of(reduction, dtype, shape, dims), dtype, {numbers_for(check, reduction, dtype, shape)});
}

void check_types(Check& check, const Reduction& reduction) {
  for (const DType dtype : check.types(reduction.quick)) {
    check_dims(check, reduction, dtype, {9, 5, 11}, {0});
    check_dims(check, reduction, dtype, {9, 5, 11}, {1, 2});
    if (check.spares_kernels() && (dtype != f32 || !is(reduction, kSum))) continue;
    check_dims(check, reduction, dtype, {9, 5, 11}, {1});
    check_dims(check, reduction, dtype, {9, 5, 11}, {0, 2});
    check_dims(check, reduction, dtype, {9, 5, 11}, {0, 1, 2});
    check_dims(check, reduction, dtype, {1}, {0});
    check_dims(check, reduction, dtype, {}, {});
  }
}

/// Nothing at all, and results of nothing.
void check_empty(Check& check, const Reduction& reduction) {
  for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}}) {
    for (const std::vector<int>& dims : {std::vector<int>{0}, all_dims(shape.rank())}) {
      // The greatest of nothing is refused.
      const bool has_empty_columns = dims.size() == 2 || shape[0] == 0;
      if (is_extreme(reduction) && has_empty_columns && !(dims.size() == 1 && shape.rank() == 2 && shape[1] == 0)) {
        continue;
      }
      check_dims(check, reduction, f32, shape, dims);
    }
  }
}

/// So long that several groups share a result.
void check_long(Check& check, const Reduction& reduction) {
  for (const Shape& shape : {Shape{300007}, Shape{3, 100003}, Shape{100003, 3}}) {
    if (check.spares_kernels() && !is(reduction, kSum)) return;
    const int dim = shape[0] < shape[1] ? 1 : 0;
    check_dims(check, reduction, f32, shape, {dim});
    if (!check.is_full()) continue;
    check_dims(check, reduction, i32, shape, {dim});
    check_dims(check, reduction, f16, shape, {dim});
  }
}

void check_special_sums(Check& check) {
  const Array x{{2, 3}, {1, HUGE_VALL, 2, -HUGE_VALL, NAN, 5}};
  for (const std::vector<int>& dims : {std::vector<int>{0}, std::vector<int>{1}}) {
    check_forward(check, call_of(kSum, f32, x.shape, dims), f32, {x});
    check_forward(check, call_of(kMean, f32, x.shape, dims), f32, {x});
    check_forward(check, call_of(kMaximum, f32, x.shape, dims), f32, {x});
    if (!check.spares_kernels()) check_forward(check, call_of(kMinimum, f32, x.shape, dims), f32, {x});
  }
}

void check_gradients(Check& check, const Reduction& reduction) {
  const Shape shape{3, 4, 2};
  for (const DType dtype : gradient_types(check)) {
    for (const std::vector<int>& dims : {std::vector<int>{1}, std::vector<int>{0, 1, 2}, std::vector<int>{0, 2}}) {
      const Array x =
          is(reduction, kProd) ? check.numbers(shape, dtype, 0.9, 1.1) : check.distinct_numbers(shape, dtype);
      check_gradient(check, call_of(reduction, dtype, shape, dims), dtype, {x});
      if (check.spares_kernels()) break;
    }
  }
}

}  // namespace

void check_reduce(Check& check) {
  for (const Reduction& reduction : {kSum, kMean, kProd, kMaximum, kMinimum, kAny, kAll}) {
    check_types(check, reduction);
    check_empty(check, reduction);
    if (!is(reduction, kProd) && !is_truth(reduction)) check_long(check, reduction);
    // The gradients of mean and minimum go the ways of those of sum and maximum.
    const bool is_alike = is(reduction, kMean) || is(reduction, kMinimum);
    if (!is_truth(reduction) && !(check.spares_kernels() && is_alike)) check_gradients(check, reduction);
  }
  check_special_sums(check);
}

}  // namespace sluice::conformance
