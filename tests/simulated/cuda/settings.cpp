#include "tests/simulated/cuda/settings.hpp"

#include <cstdlib>
#include <map>
#include <sstream>

#include "tests/simulated/virtual_backend.hpp"

namespace virtual_gpu {

// The virtual GPU reads the variables of its CUDA backend, and shares its compiled kernels.
const char backend_name[] = "CUDA";
const Identity identity = {SLUICE_DIALECT_CUDA, {nullptr, nullptr}, false};

}  // namespace virtual_gpu

namespace simulated_cuda {
namespace {

struct Fault {
  std::string function;
  int code;
  int call;  // 0: every one
};

std::vector<Fault> read_faults() {
  const char* const plan = std::getenv("SIMULATED_CUDA_FAULTS");
  std::istringstream in(plan == nullptr ? "" : plan);
  std::vector<Fault> faults;
  for (std::string entry; std::getline(in, entry, ',');) {
    const std::size_t equals = entry.find('='), at = entry.find('@');
    if (equals == std::string::npos) continue;
    faults.push_back({entry.substr(0, equals), std::atoi(entry.c_str() + equals + 1),
                      at == std::string::npos ? 0 : std::atoi(entry.c_str() + at + 1)});
  }
  return faults;
}

}  // namespace

int number_of(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::vector<int> numbers_of(const char* variable, const std::string& otherwise) {
  const char* const text = std::getenv(variable);
  std::istringstream in(text == nullptr ? otherwise : text);
  std::vector<int> numbers;
  for (std::string number; std::getline(in, number, ',');) numbers.push_back(std::atoi(number.c_str()));
  return numbers;
}

int planned_fault(const std::string& function) {
  static const auto* const faults = new std::vector<Fault>(read_faults());
  static auto* const calls = new std::map<std::string, int>;
  if (faults->empty()) return 0;
  const int call = ++(*calls)[function];
  for (const Fault& fault : *faults) {
    if (fault.function == function && (fault.call == 0 || fault.call == call)) return fault.code;
  }
  return 0;
}

}  // namespace simulated_cuda
