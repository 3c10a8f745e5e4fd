// One run of the conformance check: the device, how much is asked for, the random numbers, the report; and the two
// things every check does with it, to call the device and to judge what it gave.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "sluice/sluice.hpp"
#include "tools/sluice/conformance_report.hpp"
#include "tools/sluice/conformance_values.hpp"

namespace sluice::conformance {

/// What a result must be.
struct Expected {
  Array values;
  DType dtype;
  double bound;                 ///< in units of the last place for floats, else a difference
  std::vector<Real> magnitude;  ///< per element, what the units are taken at; empty for the values themselves
};

/// Units of the last place that a result may be off, by element type.
struct Bounds {
  double single = 4;
  double wide = 450;  ///< of f64, 1e-13
  double half = 0;    ///< of f16 and bf16; 0 stands for one rounding of the float
  double of(DType dtype) const;
};
/// Results that are one rounding away.
inline constexpr Bounds kRounded{0.51, 0.51};

class Check {
 public:
  Check(const Device& device, bool is_full);

  const Device& device() const { return device_; }
  Report& report() { return report_; }
  std::mt19937_64& random() { return random_; }
  bool is_full() const { return is_full_; }
  /// Whether few kernels may be compiled: a quick run on a device that compiles.
  bool spares_kernels() const;
  bool has(DType dtype) const;
  /// The element types that the device has.
  std::vector<DType> types() const;
  /// Those of them that are floating.
  std::vector<DType> floating_types() const;
  /// Of `quick` those that the device has, where few kernels may be compiled; else all.
  std::vector<DType> types(std::initializer_list<DType> quick) const;
  bool flushes() const { return flushes_; }
  /// Kernels compiled since the start.
  std::size_t compiled() const;
  Judge judge(DType dtype) const;

  Tensor move(const Tensor& x) const { return x | device_; }
  /// Whether the result is on the device, of the right type and shape, and every element within the bound.
  void compare(const std::string& operation, DType dtype, const std::string& where, const Tensor& got,
               const Expected& expected);
  /// The same for bits that must not change.
  void compare_bits(const std::string& operation, DType dtype, const std::string& where, const Tensor& got,
                    const Tensor& expected);
  /// Calls `f`; what it throws is a failed check.
  void attempt(const std::string& operation, DType dtype, const std::string& where, const std::function<void()>& f);

  /// Uniform in [low, high], rounded to the type; whole numbers for integers.
  Array numbers(const Shape& shape, DType dtype, double low, double high);
  /// Different numbers in random order, at least 1/64 apart.
  Array distinct_numbers(const Shape& shape, DType dtype);

 private:
  bool is_placed(const std::string& operation, DType dtype, const std::string& where, const Tensor& got, DType type,
                 const Shape& shape);

  Device device_;
  bool is_full_;
  bool flushes_ = false;
  std::size_t compiled_before_;
  Report report_;
  std::mt19937_64 random_{20261130};
};

}  // namespace sluice::conformance
