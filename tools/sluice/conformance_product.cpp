// Products of matrices: plain, transposed, batched, batches that broadcast, vectors, empty ones.
#include "tools/sluice/conformance_kernels.hpp"
#include "tools/sluice/conformance_reference.hpp"

namespace sluice::conformance {
namespace {

struct Form {
  Shape a, b;
  MatmulOptions options = {};
  Shape result;
};

std::vector<Form> forms(bool with_large) {
  std::vector<Form> list = {{{1, 1}, {1, 1}, {}, {1, 1}},
                            {{5, 7}, {7, 3}, {}, {5, 3}},
                            {{65, 33}, {33, 30}, {}, {65, 30}},
                            {{3, 4, 5}, {4, 2, 5}, {}, {3, 2, 5}},
                            {{3, 4}, {4, 2, 5}, {}, {3, 2, 5}},
                            {{3, 4, 5}, {4, 2}, {}, {3, 2, 5}},
                            {{3, 4, 5, 1}, {4, 2, 1, 3}, {}, {3, 2, 5, 3}},
                            {{3, 4}, {4}, {}, {3}},
                            {{3, 0}, {0, 2}, {}, {3, 2}},
                            {{0, 3}, {3, 2}, {}, {0, 2}}};
  const std::size_t plain = list.size();
  for (std::size_t i = 0; i < plain; ++i) {
    if (list[i].b.rank() < 2) continue;
    for (const MatmulOptions options :
         {MatmulOptions{true, false}, MatmulOptions{false, true}, MatmulOptions{true, true}}) {
      Form form = list[i];
      form.options = options;
      if (options.transpose_a) form.a = form.a.with(0, list[i].a[1]).with(1, list[i].a[0]);
      if (options.transpose_b) form.b = form.b.with(0, list[i].b[1]).with(1, list[i].b[0]);
      list.push_back(form);
    }
  }
  if (with_large) list.push_back({{130, 150}, {150, 70}, {}, {130, 70}});
  return list;
}

std::string text_of(const Form& form) {
  return to_string(form.a) + (form.options.transpose_a ? "ᵀ" : "") + " by " + to_string(form.b) +
         (form.options.transpose_b ? "ᵀ" : "");
}

/// The product as written, of the numbers or of their sizes.
Array product(const Form& form, const Array& a, const Array& b, bool of_sizes) {
  const std::int64_t inner = form.options.transpose_a ? a.shape[0] : a.shape[1];
  return filled(form.result, [&](const Index& index) {
    Index from_a, from_b;
    for (int dim = 0; dim < a.shape.rank(); ++dim) {
      from_a.push_back(dim < 2 || a.shape[dim] == 1 ? 0 : index[static_cast<std::size_t>(dim)]);
    }
    for (int dim = 0; dim < b.shape.rank(); ++dim) {
      from_b.push_back(dim < 2 || b.shape[dim] == 1 ? 0 : index[static_cast<std::size_t>(dim)]);
    }
    from_a[form.options.transpose_a ? 1 : 0] = index[0];
    if (b.shape.rank() > 1) from_b[form.options.transpose_b ? 0 : 1] = index[1];
    Real total = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      from_a[form.options.transpose_a ? 0 : 1] = k;
      from_b[form.options.transpose_b ? 1 : 0] = k;
      const Real term = a.at[static_cast<std::size_t>(flat_at(a.shape, from_a))] *
                        b.at[static_cast<std::size_t>(flat_at(b.shape, from_b))];
      total += of_sizes ? std::fabs(term) : term;
    }
    return total;
  });
}

Call call_of(const Form& form, DType dtype) {
  return {.operation = "matmul",
          .where = text_of(form),
          .run = [&](const std::vector<Tensor>& x) { return matmul(x[0], x[1], form.options); },
          .reference = [&](const std::vector<Array>& x) { return product(form, x[0], x[1], false); },
          .magnitude = [&](const std::vector<Array>& x) { return product(form, x[0], x[1], true).at; },
          .result = dtype == boolean ? i32 : dtype,
          .bounds = {4, 16}};
}

}  // namespace

void check_product(Check& check) {
  const std::vector<DType> gradients = gradient_types(check);
  for (const DType dtype : check.types({u8, i64, bf16, f16, f32, f64})) {
    const bool spares = check.spares_kernels() && dtype != f32;
    for (const Form& form : forms(check.is_full() || dtype == f32)) {
      // Each way of transposing is a kernel.
      if (spares && (form.options.transpose_a || form.options.transpose_b)) continue;
      const Array a = check.numbers(form.a, dtype, -3, 3), b = check.numbers(form.b, dtype, -3, 3);
      check_forward(check, call_of(form, dtype), dtype, {a, b});
      const bool has_gradient = std::ranges::find(gradients, dtype) != gradients.end();
      const bool is_enough =
          check.spares_kernels() && (form.options.transpose_a || form.a.rank() != form.b.rank() || form.a.rank() > 3);
      if (!has_gradient || is_enough || form.result.numel() > 100 || form.result.numel() == 0 || a.at.empty()) continue;
      check_gradient(check, call_of(form, dtype), dtype, {a, b});
    }
  }
}

}  // namespace sluice::conformance
