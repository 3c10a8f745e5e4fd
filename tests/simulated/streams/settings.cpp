#include "tests/simulated/streams/settings.hpp"

#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>

#include "tests/simulated/virtual_backend.hpp"

namespace simulated {
namespace {

constexpr int kAbort = -1;

struct Fault {
  std::string function;
  int code;
  int call;  // 0: every one
};

std::vector<std::string> entries_of(const std::string& list) {
  std::istringstream in(list);
  std::vector<std::string> entries;
  for (std::string entry; std::getline(in, entry, ',');) entries.push_back(entry);
  return entries;
}

std::vector<Fault> read_faults(const std::string& plan) {
  std::vector<Fault> faults;
  for (const std::string& entry : entries_of(plan)) {
    const std::size_t equals = entry.find('='), at = entry.find('@');
    if (equals == std::string::npos) continue;
    const std::string code = entry.substr(equals + 1);
    faults.push_back({entry.substr(0, equals), code.starts_with("abort") ? kAbort : std::atoi(code.c_str()),
                      at == std::string::npos ? 0 : std::atoi(entry.c_str() + at + 1)});
  }
  return faults;
}

struct Plan {
  std::vector<Fault> faults;
  std::map<std::string, int> calls;
  int given = 0;
};

std::mutex plan_lock;

Plan& plan() {
  static auto* const instance = [] {
    const std::string variable = "SIMULATED_" + std::string(virtual_gpu::backend_name) + "_FAULTS";
    return new Plan{read_faults(text_of(variable.c_str(), "")), {}, 0};
  }();
  return *instance;
}

}  // namespace

std::string text_of(const char* variable, const std::string& otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : text;
}

int number_of(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::vector<std::string> list_of(const char* variable, const std::string& otherwise) {
  return entries_of(text_of(variable, otherwise));
}

int planned_fault(const std::string& function) {
  const std::lock_guard guard(plan_lock);
  Plan& now = plan();
  if (now.faults.empty()) return 0;
  const int call = ++now.calls[function];
  for (const Fault& fault : now.faults) {
    if (fault.function != function || (fault.call != 0 && fault.call != call)) continue;
    if (fault.code == kAbort) std::abort();
    ++now.given;
    return fault.code;
  }
  return 0;
}

int set_faults(const char* text) {
  const std::lock_guard guard(plan_lock);
  const int given = plan().given;
  plan() = Plan{read_faults(text), {}, 0};
  return given;
}

}  // namespace simulated
