// Comparing whole tensors.
#include "sluice/ops.hpp"
#include "src/core/reduce.hpp"

namespace sluice::detail {
namespace {

template <class F>
bool all_of_pairs(std::string_view operation, const Tensor& a, const Tensor& b, F&& f) {
  const std::array<Tensor, 2> inputs{detach(a), detach(b)};
  common_device(inputs, operation);
  if (a.numel() == 0) return true;
  const Function function = trace<2>(f);
  return map_reduce_program(function.program(), function.params(), inputs, Combine::min, {}, {}).item<bool>();
}

/// Differences of narrow or unsigned integers would wrap.
Tensor comparable(const Tensor& x) { return x.dtype().is_floating() ? x : cast(x, f64); }

}  // namespace
}  // namespace sluice::detail

namespace sluice::inline v0 {

bool equal(const Tensor& a, const Tensor& b) {
  detail::require_value(a, "equal");
  detail::require_value(b, "equal");
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  return detail::all_of_pairs("equal", a, b, [](Expr x, Expr y) { return x == y; });
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol) {
  detail::require_value(a, "allclose");
  detail::require_value(b, "allclose");
  if (a.shape() != b.shape()) return false;
  // Equal infinities are close, though their difference is NaN.
  const auto close = [rtol, atol](Expr x, Expr y) { return (x == y) | (abs(x - y) <= atol + rtol * abs(y)); };
  return detail::all_of_pairs("allclose", detail::comparable(a), detail::comparable(b), close);
}

}  // namespace sluice::inline v0
