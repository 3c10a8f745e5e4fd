// Matrix products. Operands are brought to the form (rows, columns, batch...) first; the gradient is two products of
// the same kind with the transposed flags, so nothing is ever transposed in memory.
#include <string>

#include "sluice/ops.hpp"
#include "src/core/map.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/device/plugin_gemm.hpp"

namespace sluice::inline v0 {
namespace {

// The product as it is computed. A vector has become a column; where a is one matrix for all of b's, these lie side by
// side in memory and are one wide matrix.
struct Form {
  bool transpose_a, transpose_b;
  std::int64_t m, n, k;
  Shape a, b, c;  // (rows, columns, batch...)
  Shape result;   // c as the caller sees it
};

Shape as_matrix(const Shape& shape) { return shape.rank() == 1 ? shape.inserted(1, 1) : shape; }

std::int64_t batch_of(const Shape& matrix) {
  std::int64_t count = 1;
  for (int dim = 2; dim < matrix.rank(); ++dim) count *= matrix[dim];
  return count;
}

std::string operands(const Tensor& a, const Tensor& b, MatmulOptions options) {
  return to_string(a.shape()) + (options.transpose_a ? " transposed x " : " x ") + to_string(b.shape()) +
         (options.transpose_b ? " transposed" : "");
}

// (m, n, batch...) for batch sizes that are equal or 1.
Shape batched(const Form& form, const std::string& operands) {
  Shape c{form.m, form.n};
  for (int dim = 2; dim < std::max(form.a.rank(), form.b.rank()); ++dim) {
    const std::int64_t size = form.a[dim] == 1 ? form.b[dim] : form.a[dim];
    if (form.b[dim] != 1 && form.b[dim] != size) {
      throw ShapeError("matmul: batch sizes differ, " + operands + "; they must be equal or 1");
    }
    c = c.with(dim, size);
  }
  return c;
}

// One wide matrix instead of many that share their left operand.
void fold(Form& form) {
  if (form.transpose_b || batch_of(form.a) != 1 || batch_of(form.b) == 1) return;
  form.n *= batch_of(form.b);
  form.a = Shape{form.a[0], form.a[1]};
  form.b = Shape{form.k, form.n};
  form.c = Shape{form.m, form.n};
}

Form checked_form(const Tensor& a, const Tensor& b, MatmulOptions options) {
  detail::require_value(a, "matmul");
  detail::require_value(b, "matmul");
  const std::string both = operands(a, b, options);
  if (a.rank() == 0 || b.rank() == 0) {
    throw ShapeError("matmul: a 0-dimensional operand, " + both + "; multiply elementwise with *");
  }
  Form form{options.transpose_a, options.transpose_b, 0, 0, 0, as_matrix(a.shape()), as_matrix(b.shape()), {}, {}};
  form.m = form.a[form.transpose_a ? 1 : 0];
  form.k = form.a[form.transpose_a ? 0 : 1];
  form.n = form.b[form.transpose_b ? 0 : 1];
  if (form.b[form.transpose_b ? 1 : 0] != form.k) throw ShapeError("matmul: inner sizes differ, " + both);
  form.c = batched(form, both);
  form.result = b.rank() == 1 && !form.transpose_b ? form.c.erased(1) : form.c;
  fold(form);
  const std::array tensors{a, b};
  detail::common_device(tensors, "matmul");
  return form;
}

// `x`, repeated in memory if some of its batch sizes are broadcast and others are not: a device repeats all or nothing.
Tensor plain_batch(const Tensor& x, const Shape& c) {
  const Shape& shape = x.shape();
  Shape full = c.with(0, shape[0]).with(1, shape[1]);
  const std::int64_t batch = batch_of(shape);
  return batch == 1 || batch == batch_of(c) ? x : expand(x, full);
}

Tensor product(const Form& form, const Tensor& a, const Tensor& b) {
  detail::DeviceImpl* device = detail::device_of_rep(a);
  if (form.k == 0) return zeros(form.c, a.dtype(), a.device());
  Tensor c = detail::empty(form.c, a.dtype(), device);
  if (c.numel() == 0) return c;
  const Tensor left = plain_batch(a, form.c);
  const Tensor right = plain_batch(b, form.c);
  device->product({detail::dense_operand(left), detail::dense_operand(right), detail::dense_operand(c),
                   form.transpose_a, form.transpose_b, form.m, form.n, form.k, batch_of(form.c),
                   batch_of(left.shape()) == 1 ? 0 : form.m * form.k,
                   batch_of(right.shape()) == 1 ? 0 : form.k * form.n});
  return c;
}

Tensor gradient_of_a(const Form& form, const Tensor& g, const Tensor& b) {
  return form.transpose_a ? matmul(b, g, {.transpose_a = form.transpose_b, .transpose_b = true})
                          : matmul(g, b, {.transpose_a = false, .transpose_b = !form.transpose_b});
}

Tensor gradient_of_b(const Form& form, const Tensor& g, const Tensor& a) {
  return form.transpose_b ? matmul(g, a, {.transpose_a = true, .transpose_b = form.transpose_a})
                          : matmul(a, g, {.transpose_a = !form.transpose_a, .transpose_b = false});
}

// Summed over the batch sizes that were broadcast, in the shape of the operand.
Tensor settled(const Tensor& gradient, const Shape& matrix, const Shape& shape) {
  return reshape(detail::sum_to_shape(gradient, matrix), shape);
}

// Each operand is kept only for the gradient of the other.
void record_product(Tensor& y, const Form& form, const Tensor& a, const Tensor& b) {
  const std::array inputs{a, b};
  if (!detail::tracked(inputs)) return;
  const Tensor kept_a = detail::tracked({&b, 1}) ? reshape(detach(a), form.a) : Tensor();
  const Tensor kept_b = detail::tracked({&a, 1}) ? reshape(detach(b), form.b) : Tensor();
  detail::record(std::span<Tensor>(&y, 1), inputs,
                 [form, kept_a, kept_b, shape_a = a.shape(), shape_b = b.shape()](std::span<const Tensor> gradients,
                                                                                  Needed needed) {
                   const Tensor g = reshape(gradients[0], form.c);
                   std::vector<Tensor> result(2);
                   if (needed[0] && kept_b) result[0] = settled(gradient_of_a(form, g, kept_b), form.a, shape_a);
                   if (needed[1] && kept_a) result[1] = settled(gradient_of_b(form, g, kept_a), form.b, shape_b);
                   return result;
                 });
}

}  // namespace

// Vectors: a (m) is (m, 1) and b (k) is (k, 1). The size of 1 that b was given goes again, also with a batch: (m, k,
// batch) x (k) -> (m, batch); b transposed is a row, so (m) x (n) transposed -> (m, n). bool counts as i32; the result
// of integers wraps in their type.
Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions options) {
  const Form form = checked_form(a, b, options);
  DType dtype = promote(a.dtype(), b.dtype());
  if (dtype == boolean) dtype = i32;
  if (a.dtype() != dtype || b.dtype() != dtype) {
    return matmul(a.dtype() == dtype ? a : cast(a, dtype), b.dtype() == dtype ? b : cast(b, dtype), options);
  }
  Tensor y = reshape(product(form, reshape(detach(a), form.a), reshape(detach(b), form.b)), form.result);
  record_product(y, form, a, b);
  return y;
}

void allow_tf32(bool allow) { detail::may_use_tf32() = allow; }
bool is_tf32_allowed() { return detail::may_use_tf32(); }

}  // namespace sluice::inline v0
