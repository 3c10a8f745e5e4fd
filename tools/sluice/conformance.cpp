// `sluice conformance`; main.cpp describes the JSON.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "sluice/backends.hpp"
#include "tools/sluice/commands.hpp"
#include "tools/sluice/conformance_kernels.hpp"
#include "tools/sluice/output.hpp"

namespace sluice::command {
namespace {

using conformance::Check;
using conformance::Finding;
using conformance::KernelCheck;
using conformance::Report;

constexpr std::size_t kQuickKernels = 200;
constexpr const char* kOperationOfBudget = "kernels compiled";

/// "OpenCL:1" or "CPU".
Device device_named(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string backend = text.substr(0, colon);
  int number = 0;
  if (colon != std::string::npos) {
    const std::string digits = text.substr(colon + 1);
    const bool is_number = !digits.empty() && digits.size() < 5 &&
                           std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) throw ArgumentError("conformance: " + text + " is no device; write for example OpenCL:0");
    number = std::stoi(digits);
  }
  if (backend == "CPU" && number > 0) throw ArgumentError("conformance: " + text + ": there is one CPU device, CPU:0");
  try {
    return get_device(backend, number);
  } catch (const Error& error) {
    std::string why = error.what();
    if (why.back() == '.') why.pop_back();
    throw ArgumentError(why + "; `sluice devices` lists those that are there");
  }
}

std::vector<KernelCheck> chosen_checks(const std::vector<std::string>& only) {
  const auto all = conformance::kernel_checks();
  if (only.empty()) return {all.begin(), all.end()};
  std::vector<KernelCheck> chosen;
  for (const std::string& name : only) {
    const auto found = std::ranges::find(all, name, &KernelCheck::name);
    if (found == all.end()) {
      std::string names;
      for (const KernelCheck& check : all) names += (names.empty() ? "" : ", ") + std::string(check.name);
      throw ArgumentError("conformance: there is no kernel " + name + "; there are " + names);
    }
    chosen.push_back(*found);
  }
  return chosen;
}

/// A line that is written over again and again, on a terminal only.
class Progress {
 public:
  void show(const std::string& text) const {
    if (is_shown_) std::fprintf(stderr, "\r\033[K%s", text.c_str());
  }
  ~Progress() { show(""); }
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  bool is_shown_ = isatty(STDERR_FILENO) != 0;
};

void judge_budget(Check& check) {
  const std::size_t compiled = check.compiled();
  if (!check.spares_kernels()) return;
  const std::string where = "a quick run";
  if (compiled <= kQuickKernels) return check.report().pass(kOperationOfBudget, f32, where, 0, 0);
  check.report().fail(
      kOperationOfBudget, f32, where,
      std::to_string(compiled) + " kernels were compiled, at most " + std::to_string(kQuickKernels) + " may be");
}

std::string number_text(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), std::isinf(x) ? "-" : "%.3g", x);
  return text.data();
}

std::string text_of(const Report& report) {
  Table table({"OPERATION", "CHECKS", "WORST", "BOUND", "TYPE", "CASE", "VERDICT"});
  std::string failures;
  for (const std::string& operation : report.operations()) {
    int checks = 0, failed = 0;
    for (const Finding& each : report.findings()) {
      if (each.operation != operation) continue;
      checks += each.passed + each.failed;
      failed += each.failed;
      for (const std::string& failure : each.failures) {
        failures += "FAILED " + operation + " " + std::string(each.dtype.name()) + ", " + failure + "\n";
      }
    }
    const Finding& worst = report.worst_of(operation);
    table.add({operation, std::to_string(checks), number_text(worst.worst), number_text(worst.bound),
               std::string(worst.dtype.name()), worst.where,
               failed == 0 ? "passed" : std::to_string(failed) + " failed"});
  }
  return failures + (failures.empty() ? "" : "\n") + table.text();
}

Json json_of(const Check& check, const Report& report, double seconds) {
  Json findings = Json::array();
  for (const Finding& each : report.findings()) {
    findings.push_back({{"operation", each.operation},
                        {"dtype", std::string(each.dtype.name())},
                        {"passed", each.passed},
                        {"failed", each.failed},
                        {"worst", std::isinf(each.worst) ? Json(nullptr) : Json(each.worst)},
                        {"bound", each.bound},
                        {"case", each.where},
                        {"failures", each.failures}});
  }
  return {{"device", to_string(check.device())},
          {"mode", check.is_full() ? "full" : "quick"},
          {"passed", report.passed()},
          {"failed", report.failed()},
          {"kernels_compiled", check.compiled()},
          {"seconds", seconds},
          {"notes", report.notes()},
          {"findings", std::move(findings)}};
}

std::string summary_of(const Check& check, const Report& report, double seconds) {
  std::string text = "\nWORST and BOUND are units of the last place of TYPE, for integers differences.\n";
  for (const std::string& note : report.notes()) text += note + "\n";
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), "%s, %s: %zu kernels compiled, %.1f s\n", to_string(check.device()).c_str(),
                check.is_full() ? "full" : "quick", check.compiled(), seconds);
  text += line.data();
  return text + std::to_string(report.passed()) + " passed, " + std::to_string(report.failed()) + " failed\n";
}

}  // namespace

int check_conformance(const ConformanceOptions& options) {
  const std::vector<KernelCheck> checks = chosen_checks(options.only);
  const auto start = std::chrono::steady_clock::now();
  Check check(options.device ? device_named(*options.device) : get_device(), options.full);
  {
    const Progress progress;
    for (const KernelCheck& each : checks) {
      progress.show(to_string(check.device()) + ": " + std::string(each.name));
      each.run(check);
    }
  }
  judge_budget(check);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Report& report = check.report();
  if (options.json) print(json_of(check, report, seconds));
  else print(text_of(report) + summary_of(check, report, seconds));
  return report.failed() == 0 ? kFine : kFinding;
}

}  // namespace sluice::command
