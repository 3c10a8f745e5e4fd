#include "tools/sluice/conformance_check.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "src/device/device_impl.hpp"

namespace sluice::conformance {
namespace {

/// Whether the device takes the least normal float divided by 4 for 0.
bool takes_denormals_for_zero(const Device& device) {
  const Tensor x = from(std::vector<float>{std::numeric_limits<float>::min(), 0x1p-140f}) | device;
  const Array got = array_of(mul(x, from(std::vector<float>{0.25f, 1.0f}) | device));
  return got.at[0] == 0 || got.at[1] == 0;
}

std::string text_of(Real x) {
  char text[48];
  std::snprintf(text, sizeof text, "%.10Lg", x);
  return text;
}

std::string text_of(double x) { return text_of(Real(x)); }

}  // namespace

double Bounds::of(DType dtype) const {
  if (!dtype.is_floating()) return 0;
  if (dtype == f64) return wide;
  if (dtype == f32) return single;
  if (half > 0) return half;
  // The error of the float in units of the half, beside the rounding.
  return 0.5 + std::ldexp(single, format_of(dtype).digits - format_of(f32).digits);
}

Check::Check(const Device& device, bool is_full)
    : device_(device), is_full_(is_full), compiled_before_(device.impl()->made_kernels()) {
  if (!has(f64)) report_.note("f64 is left out: the device has no doubles");
  attempt("mul", f32, "denormals", [this] {
    flushes_ = takes_denormals_for_zero(device_);
    if (flushes_) report_.note("the device takes denormals of f32 for 0, as it may");
  });
}

bool Check::spares_kernels() const { return !is_full_ && !device_.impl()->is_host(); }
bool Check::has(DType dtype) const { return dtype != f64 || device_.impl()->has_f64(); }
std::size_t Check::compiled() const { return device_.impl()->made_kernels() - compiled_before_; }
Judge Check::judge(DType dtype) const { return {dtype, flushes_}; }

std::vector<DType> Check::types() const {
  std::vector<DType> list;
  for (const DType dtype : kAllTypes) {
    if (has(dtype)) list.push_back(dtype);
  }
  return list;
}

std::vector<DType> Check::floating_types() const {
  std::vector<DType> list = types();
  std::erase_if(list, [](DType dtype) { return !dtype.is_floating(); });
  return list;
}

std::vector<DType> Check::types(std::initializer_list<DType> quick) const {
  std::vector<DType> list = types();
  if (spares_kernels()) {
    std::erase_if(list, [&](DType dtype) { return std::ranges::find(quick, dtype) == quick.end(); });
  }
  return list;
}

bool Check::is_placed(const std::string& operation, DType dtype, const std::string& where, const Tensor& got,
                      DType type, const Shape& shape) {
  std::string why;
  if (!got) why = "the result holds nothing";
  else if (got.device() != device_) why = "the result is on " + to_string(got.device());
  else if (got.dtype() != type)
    why = "the result is " + std::string(got.dtype().name()) + ", not " + std::string(type.name());
  else if (got.shape() != shape) why = "the result has shape " + to_string(got.shape()) + ", not " + to_string(shape);
  if (!why.empty()) report_.fail(operation, dtype, where, why);
  return why.empty();
}

void Check::compare(const std::string& operation, DType dtype, const std::string& where, const Tensor& got,
                    const Expected& expected) {
  if (!is_placed(operation, dtype, where, got, expected.dtype, expected.values.shape)) return;
  const Array values = array_of(got);
  const Judge judge = this->judge(expected.dtype);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < values.at.size(); ++i) {
    const Real magnitude = expected.magnitude.empty() ? 0 : expected.magnitude[i];
    const double error = judge.error(values.at[i], expected.values.at[i], magnitude);
    if (error <= worst) continue;
    worst = error;
    at = i;
  }
  if (worst <= expected.bound) return report_.pass(operation, dtype, where, worst, expected.bound);
  const std::string why = "element " + std::to_string(at) + " is " + text_of(values.at[at]) + ", not " +
                          text_of(expected.values.at[at]) + ": off by " + text_of(worst) + ", bound " +
                          text_of(expected.bound);
  report_.fail(operation, dtype, where, why, worst, expected.bound);
}

void Check::compare_bits(const std::string& operation, DType dtype, const std::string& where, const Tensor& got,
                         const Tensor& expected) {
  if (!is_placed(operation, dtype, where, got, expected.dtype(), expected.shape())) return;
  const Tensor here = got | cpu_device();
  const auto [a, b] = std::ranges::mismatch(here.bytes(), expected.bytes());
  if (a == here.bytes().end()) return report_.pass(operation, dtype, where, 0, 0);
  const auto at = static_cast<std::size_t>(a - here.bytes().begin()) / here.dtype().size();
  report_.fail(operation, dtype, where, "element " + std::to_string(at) + " has other bits");
}

void Check::attempt(const std::string& operation, DType dtype, const std::string& where,
                    const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& error) {
    report_.fail(operation, dtype, where, std::string("threw: ") + error.what());
  }
}

Array Check::numbers(const Shape& shape, DType dtype, double low, double high) {
  Array result{shape, std::vector<Real>(static_cast<std::size_t>(shape.numel()))};
  std::uniform_real_distribution<double> any(low, high);
  for (Real& x : result.at) {
    const double value = any(random_);
    x = rounded(dtype == boolean      ? Real(value < (low + high) / 2)
                : dtype.is_floating() ? value
                                      : std::round(value),
                dtype);
  }
  return result;
}

Array Check::distinct_numbers(const Shape& shape, DType dtype) {
  Array result{shape, std::vector<Real>(static_cast<std::size_t>(shape.numel()))};
  const auto half = static_cast<std::int64_t>(result.at.size() / 2);
  for (std::size_t i = 0; i < result.at.size(); ++i) {
    const Real whole = static_cast<Real>(static_cast<std::int64_t>(i) - half);
    result.at[i] = rounded(dtype.is_floating() ? whole / 64 : whole, dtype);
  }
  std::ranges::shuffle(result.at, random_);
  return result;
}

}  // namespace sluice::conformance
