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

std::vector<Fault> read_faults() {
  const std::string variable = "SIMULATED_" + std::string(virtual_gpu::backend_name) + "_FAULTS";
  std::vector<Fault> faults;
  for (const std::string& entry : list_of(variable.c_str(), "")) {
    const std::size_t equals = entry.find('='), at = entry.find('@');
    if (equals == std::string::npos) continue;
    const std::string code = entry.substr(equals + 1);
    faults.push_back({entry.substr(0, equals), code.starts_with("abort") ? kAbort : std::atoi(code.c_str()),
                      at == std::string::npos ? 0 : std::atoi(entry.c_str() + at + 1)});
  }
  return faults;
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
  std::istringstream in(text_of(variable, otherwise));
  std::vector<std::string> entries;
  for (std::string entry; std::getline(in, entry, ',');) entries.push_back(entry);
  return entries;
}

int planned_fault(const std::string& function) {
  static const auto* const faults = new std::vector<Fault>(read_faults());
  static auto* const calls = new std::map<std::string, int>;
  static auto* const mutex = new std::mutex;
  if (faults->empty()) return 0;
  const std::lock_guard guard(*mutex);
  const int call = ++(*calls)[function];
  for (const Fault& fault : *faults) {
    if (fault.function != function || (fault.call != 0 && fault.call != call)) continue;
    if (fault.code == kAbort) std::abort();
    return fault.code;
  }
  return 0;
}

}  // namespace simulated
