// Where the greatest and least elements are.
#include <string>

#include "src/core/reduce.hpp"

namespace sluice::detail {

Tensor run_argreduce(const Tensor& x, bool greatest) {
  Tensor output = empty(x.shape().with(1, 1), i64, device_of_rep(x));
  if (output.numel() > 0) device_of_rep(x)->argreduce(axis_call(x, output), greatest);
  output.rep()->storage->range = {0, x.shape()[1] - 1};
  return output;
}

namespace {

Tensor argreduce(std::string_view operation, const Tensor& x, int dim, const ReduceOptions& options, bool greatest) {
  require_value(x, operation);
  const ReducedDims dims = reduced_dims(x.shape(), dim, options.keepdims, operation);
  if (dims.length == 0 && dims.kept.numel() > 0) {
    throw ArgumentError(std::string(operation) + ": nothing to choose from along dimension " + std::to_string(dim) +
                        " of a tensor of size " + to_string(x.shape()));
  }
  if (dims.kept.numel() == 0) return empty(dims.result, options.dtype.value_or(i64), device_of_rep(x));
  const Tensor places = run_argreduce(axis_view(detach(x), dims).x, greatest);
  return cast(reshape(places, dims.result), options.dtype.value_or(i64));
}

}  // namespace
}  // namespace sluice::detail

namespace sluice::inline v0 {

Tensor argmax(const Tensor& x, int dim, ReduceOptions options) {
  return detail::argreduce("argmax", x, dim, options, true);
}

Tensor argmin(const Tensor& x, int dim, ReduceOptions options) {
  return detail::argreduce("argmin", x, dim, options, false);
}

}  // namespace sluice::inline v0
