// Operations on tensors. All are pure, differentiable where that makes sense, and run on the device of their operands;
// operands on two devices throw DeviceError. Broadcasting aligns the first dimensions.
//
// Parameters taken by value (`Tensor x`) may be given away with std::move: a sole-owned buffer is then reused.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "sluice/expr.hpp"

namespace sluice::inline v0 {

// ---- Elementwise: one function for every row of the op table (op_table.hpp), with numbers allowed as operands.

#define SLUICE_TENSOR_1(name) SLUICE_API Tensor name(Tensor x);
#define SLUICE_TENSOR_2(name)                 \
  SLUICE_API Tensor name(Tensor x, Tensor y); \
  SLUICE_API Tensor name(Tensor x, Scalar y); \
  SLUICE_API Tensor name(Scalar x, Tensor y);
#define SLUICE_TENSOR_3(name)                           \
  SLUICE_API Tensor name(Tensor x, Tensor y, Tensor z); \
  SLUICE_API Tensor name(Tensor x, Tensor y, Scalar z); \
  SLUICE_API Tensor name(Tensor x, Scalar y, Tensor z); \
  SLUICE_API Tensor name(Tensor x, Scalar y, Scalar z);
#define SLUICE_ROW(name, arity, ...) SLUICE_TENSOR_##arity(name)
SLUICE_OPS(SLUICE_ROW)
#undef SLUICE_ROW
#undef SLUICE_TENSOR_1
#undef SLUICE_TENSOR_2
#undef SLUICE_TENSOR_3

#define SLUICE_OPERATOR(symbol, name)                                                            \
  inline Tensor operator symbol(Tensor a, Tensor b) { return name(std::move(a), std::move(b)); } \
  inline Tensor operator symbol(Tensor a, Scalar b) { return name(std::move(a), b); }            \
  inline Tensor operator symbol(Scalar a, Tensor b) { return name(a, std::move(b)); }
SLUICE_OPERATOR(+, add)
SLUICE_OPERATOR(-, sub)
SLUICE_OPERATOR(*, mul)
SLUICE_OPERATOR(/, div)
SLUICE_OPERATOR(<, lt)
SLUICE_OPERATOR(<=, le)
SLUICE_OPERATOR(==, eq)
SLUICE_OPERATOR(&, logical_and)
SLUICE_OPERATOR(|, logical_or)
#undef SLUICE_OPERATOR
inline Tensor operator-(Tensor x) { return neg(std::move(x)); }
// No operator!: `!x` asks whether x holds nothing; the elementwise one is logical_not.
inline Tensor operator>(Tensor a, Tensor b) { return lt(std::move(b), std::move(a)); }
inline Tensor operator>(Tensor a, Scalar b) { return lt(b, std::move(a)); }
inline Tensor operator>(Scalar a, Tensor b) { return lt(std::move(b), a); }
inline Tensor operator>=(Tensor a, Tensor b) { return le(std::move(b), std::move(a)); }
inline Tensor operator>=(Tensor a, Scalar b) { return le(b, std::move(a)); }
inline Tensor operator>=(Scalar a, Tensor b) { return le(std::move(b), a); }
SLUICE_API Tensor operator!=(Tensor a, Tensor b);
SLUICE_API Tensor operator!=(Tensor a, Scalar b);
SLUICE_API Tensor operator!=(Scalar a, Tensor b);

/// Elements limited to [low, high]; NaN stays NaN.
SLUICE_API Tensor clamp(Tensor x, Scalar low, Scalar high);
/// The elements in another type: floats to integers truncate and saturate (NaN gives 0), wide integers wrap.
SLUICE_API Tensor cast(const Tensor& x, DType dtype);
/// Whether shapes, types and all elements are equal (NaN differs from itself).
SLUICE_API bool equal(const Tensor& a, const Tensor& b);
/// Whether shapes are equal and every |a - b| <= atol + rtol |b|.
SLUICE_API bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8);

// ---- Reductions.

/// The dimensions to reduce, without repetition: 0, {0, 1}, or all of them when left out.
class SLUICE_API Dims {
 public:
  Dims() = default;  // all
  template <Integer I>
  Dims(I dim) : list_{static_cast<int>(dim)}, all_(false) {}           // NOLINT
  Dims(std::initializer_list<int> list) : list_(list), all_(false) {}  // NOLINT
  explicit Dims(std::vector<int> list) : list_(std::move(list)), all_(false) {}
  bool all() const { return all_; }
  const std::vector<int>& list() const { return list_; }

 private:
  std::vector<int> list_;
  bool all_ = true;
};

struct ReduceOptions {
  std::optional<DType> dtype = {};  ///< type of the result; default: i64 for integers, the operand's for floats
  bool keepdims = true;  ///< reduced dimensions stay with size 1; no `dims` gives a 0-dimensional tensor anyway
};

// sum and prod of integers and bool give i64, mean and var f32. f16 and bf16 accumulate in f32. Of nothing: sum 0, prod
// 1, mean NaN, max throws ArgumentError. max and min: NaN wins, the gradient goes to the first of equals.
SLUICE_API Tensor sum(const Tensor& x, const Dims& dims = {}, ReduceOptions options = {});
SLUICE_API Tensor prod(const Tensor& x, const Dims& dims = {}, ReduceOptions options = {});
SLUICE_API Tensor mean(const Tensor& x, const Dims& dims = {}, ReduceOptions options = {});
SLUICE_API Tensor maximum(const Tensor& x, const Dims& dims = {}, ReduceOptions options = {});
SLUICE_API Tensor minimum(const Tensor& x, const Dims& dims = {}, ReduceOptions options = {});
/// True where all, or any, elements are not 0.
SLUICE_API Tensor all(const Tensor& x, const Dims& dims = {}, ReduceOptions options = {});
SLUICE_API Tensor any(const Tensor& x, const Dims& dims = {}, ReduceOptions options = {});
/// Index (i64) of the greatest or least element along one dimension: NaN wins, then the first.
SLUICE_API Tensor argmax(const Tensor& x, int dim = 0, ReduceOptions options = {});
SLUICE_API Tensor argmin(const Tensor& x, int dim = 0, ReduceOptions options = {});

struct MeanVar {
  Tensor mean, var;
};
/// Mean and variance in one visit, two-pass per column: sum((x - mean)^2) / (n - correction). Sizes of reduced
/// dimensions stay 1.
SLUICE_API MeanVar mean_var(const Tensor& x, const Dims& dims = {}, int correction = 0);
/// Variance and its root, with Bessel's correction unless told otherwise.
SLUICE_API Tensor var(const Tensor& x, const Dims& dims = {}, int correction = 1);
SLUICE_API Tensor stddev(const Tensor& x, const Dims& dims = {}, int correction = 1);
/// sqrt(sum(x^2)); its gradient at 0 is 0.
SLUICE_API Tensor norm(const Tensor& x, const Dims& dims = {});

enum class Combine : std::uint8_t { sum, prod, max, min };

}  // namespace sluice::inline v0

namespace sluice::detail {
/// Reduces the only output of `program` over `dims`; `scale` multiplies a sum at the end.
SLUICE_API Tensor map_reduce_program(const Program* program, std::span<const Scalar> params,
                                     std::span<const Tensor> inputs, Combine combine, const Dims& dims,
                                     ReduceOptions options, double scale = 1);
}  // namespace sluice::detail

namespace sluice::inline v0 {

/// `f` applied to the elements of the broadcast operands and reduced over `dims`, one pass over memory:
///
///   Tensor distance = map_reduce([](auto a, auto b) { return (a - b) * (a - b); }, Combine::sum, {}, x, y);
template <class F, class... T>
  requires(sizeof...(T) > 0 && (std::is_same_v<std::remove_cvref_t<T>, Tensor> && ...))
Tensor map_reduce(F&& f, Combine combine, const Dims& dims, T&&... x) {
  const Function function = trace<sizeof...(T)>(std::forward<F>(f));
  const std::array<Tensor, sizeof...(T)> inputs{std::forward<T>(x)...};
  return detail::map_reduce_program(function.program(), function.params(), inputs, combine, dims, {});
}

// ---- Products.

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};
/// (m, k, batch...) x (k, n, batch...) -> (m, n, batch...); batch sizes are equal or 1. A vector is a column; the
/// result of matrix times vector is a vector. Same element type on both sides after promotion.
SLUICE_API Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions options = {});

/// Whether products of f32 may round their factors to TF32, 10 bits of mantissa instead of 23, where a vendor's library
/// is faster so (cuBLAS on sm_80 and later). Off unless asked for; for all threads and devices.
SLUICE_API void allow_tf32(bool allow);
SLUICE_API bool is_tf32_allowed();

// ---- Softmax and relatives, along one dimension, shifted by the maximum. A column with one +inf is one-hot; all -inf
// gives NaN in that column (logsumexp: -inf).
SLUICE_API Tensor softmax(const Tensor& x, int dim = 0);
SLUICE_API Tensor logsoftmax(const Tensor& x, int dim = 0);
SLUICE_API Tensor logsumexp(const Tensor& x, int dim = 0, ReduceOptions options = {});

// ---- Shape. `reshape` and slices of the last dimension share storage; everything else copies.

/// One size may be -1: what is left.
SLUICE_API Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> sizes);
SLUICE_API Tensor reshape(const Tensor& x, const Shape& shape);
/// Dimension i of the result is dimension order[i] of x.
SLUICE_API Tensor permute(const Tensor& x, const std::vector<int>& order);
/// The first two dimensions exchanged.
SLUICE_API Tensor transpose(const Tensor& x);
/// Indices first ... last-1 of `dim`, every `step`-th.
SLUICE_API Tensor slice(const Tensor& x, int dim, std::int64_t first, std::int64_t last, std::int64_t step = 1);
/// Joined along an existing dimension; element types promote.
SLUICE_API Tensor cat(const std::vector<Tensor>& parts, int dim = 0);
/// Joined along a new dimension.
SLUICE_API Tensor stack(const std::vector<Tensor>& parts, int dim = 0);
/// Without dimensions of size 1: the given one, or all.
SLUICE_API Tensor squeeze(const Tensor& x);
SLUICE_API Tensor squeeze(const Tensor& x, int dim);
/// With a dimension of size 1 inserted at `dim`.
SLUICE_API Tensor unsqueeze(const Tensor& x, int dim);
/// All but the last dimension in one: (features, batch).
SLUICE_API Tensor flatten_batch(const Tensor& x);
/// Broadcast to `shape`.
SLUICE_API Tensor expand(const Tensor& x, const Shape& shape);

// ---- Indexing along a dimension. Indices are i64 or i32; one out of range throws IndexError with index and bound.

/// (features, n) by indices of any shape -> (features, shape of indices): columns of the last dimension.
SLUICE_API Tensor gather(const Tensor& x, const Tensor& indices);
/// Adds the columns of `updates` (features, shape of indices) to columns of zeros of size (features, n); equal indices
/// are added in order, so the result is the same at every run.
SLUICE_API Tensor scatter_add(const Tensor& updates, const Tensor& indices, std::int64_t n);
/// Element indices[j] of dimension `dim`, for an index tensor whose size there is 1 (as argmax gives).
SLUICE_API Tensor take_along(const Tensor& x, const Tensor& indices, int dim);

}  // namespace sluice::inline v0
