#include "tools/sluice/conformance_report.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::conformance {
namespace {

constexpr std::size_t kFailuresKept = 5;

double share_of(double error, double bound) { return error == 0 ? 0 : bound == 0 ? HUGE_VAL : error / bound; }

}  // namespace

double Finding::share() const { return failed > 0 ? HUGE_VAL : share_of(worst, bound); }

Finding& Report::finding(const std::string& operation, DType dtype) {
  const auto found = std::ranges::find_if(
      findings_, [&](const Finding& each) { return each.operation == operation && each.dtype == dtype; });
  if (found != findings_.end()) return *found;
  findings_.push_back({operation, dtype, 0, 0, 0, 0, "", {}});
  return findings_.back();
}

void Report::remember(Finding& finding, const std::string& where, double error, double bound) {
  const bool is_first = finding.where.empty();
  if (!is_first && share_of(error, bound) <= share_of(finding.worst, finding.bound)) return;
  finding.worst = error;
  finding.bound = bound;
  finding.where = where;
}

void Report::pass(const std::string& operation, DType dtype, const std::string& where, double error, double bound) {
  Finding& each = finding(operation, dtype);
  ++each.passed;
  remember(each, where, error, bound);
}

void Report::fail(const std::string& operation, DType dtype, const std::string& where, const std::string& why,
                  double error, double bound) {
  Finding& each = finding(operation, dtype);
  ++each.failed;
  remember(each, where, error, bound);
  if (each.failures.size() < kFailuresKept) each.failures.push_back(where + ": " + why);
}

int Report::passed() const {
  int total = 0;
  for (const Finding& each : findings_) total += each.passed;
  return total;
}

int Report::failed() const {
  int total = 0;
  for (const Finding& each : findings_) total += each.failed;
  return total;
}

std::vector<std::string> Report::operations() const {
  std::vector<std::string> names;
  for (const Finding& each : findings_) {
    if (std::ranges::find(names, each.operation) == names.end()) names.push_back(each.operation);
  }
  return names;
}

const Finding& Report::worst_of(const std::string& operation) const {
  const Finding* worst = nullptr;
  for (const Finding& each : findings_) {
    if (each.operation == operation && (worst == nullptr || each.share() > worst->share())) worst = &each;
  }
  return *worst;
}

}  // namespace sluice::conformance
