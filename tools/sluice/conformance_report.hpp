// What the conformance check has found: for every operation and element type how many checks passed, the worst error
// with the case where it was seen, and what failed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sluice/dtype.hpp"

namespace sluice::conformance {

/// One operation on one element type.
struct Finding {
  std::string operation;
  DType dtype;
  int passed = 0, failed = 0;
  double worst = 0;                   ///< error where it is the greatest share of its bound
  double bound = 0;                   ///< the bound there
  std::string where;                  ///< the case there
  std::vector<std::string> failures;  ///< the first few

  double share() const;
};

class Report {
 public:
  /// Counts one check; a failed one says why.
  void pass(const std::string& operation, DType dtype, const std::string& where, double error, double bound);
  void fail(const std::string& operation, DType dtype, const std::string& where, const std::string& why,
            double error = 0, double bound = 0);
  void note(std::string text) { notes_.push_back(std::move(text)); }

  const std::vector<Finding>& findings() const { return findings_; }
  /// What was left out, and why.
  const std::vector<std::string>& notes() const { return notes_; }
  int passed() const;
  int failed() const;
  /// Names of the operations, in the order of their first check.
  std::vector<std::string> operations() const;
  /// Of an operation's findings the one nearest to its bound, or beyond it.
  const Finding& worst_of(const std::string& operation) const;

 private:
  Finding& finding(const std::string& operation, DType dtype);
  static void remember(Finding& finding, const std::string& where, double error, double bound);

  std::vector<Finding> findings_;
  std::vector<std::string> notes_;
};

}  // namespace sluice::conformance
