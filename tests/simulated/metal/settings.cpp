#include "tests/simulated/metal/settings.hpp"

#include <cstdlib>
#include <exception>
#include <map>
#include <sstream>
#include <vector>

#include "tests/simulated/metal/objc.hpp"
#include "tests/simulated/virtual_backend.hpp"

namespace virtual_gpu {

// The virtual GPU reads the variables of its Metal backend, and shares its compiled kernels.
const char backend_name[] = "Metal";
const Identity identity = {SLUICE_DIALECT_METAL, {nullptr, nullptr}, false};

}  // namespace virtual_gpu

namespace simulated_metal {
namespace {

struct Fault {
  std::string call;
  int code;
  int number;  // 0: every one
};

std::vector<Fault> read_faults() {
  const char* const plan = std::getenv("SIMULATED_METAL_FAULTS");
  std::istringstream in(plan == nullptr ? "" : plan);
  std::vector<Fault> faults;
  for (std::string entry; std::getline(in, entry, ',');) {
    const std::size_t equals = entry.find('='), at = entry.find('@');
    if (equals == std::string::npos) die("SIMULATED_METAL_FAULTS: \"" + entry + "\" has no code");
    faults.push_back({entry.substr(0, equals), std::atoi(entry.c_str() + equals + 1),
                      at == std::string::npos ? 0 : std::atoi(entry.c_str() + at + 1)});
  }
  return faults;
}

virtual_gpu::Settings read() {
  try {
    virtual_gpu::Settings settings = virtual_gpu::read_settings();
    if (!virtual_gpu::find_setting("KIND")) {
      settings.kinds.assign(settings.kinds.size(), virtual_gpu::Kind::integrated);
    }
    return settings;
  } catch (const std::exception& error) {
    die(error.what());
  }
}

}  // namespace

const virtual_gpu::Settings& settings() {
  static const auto* const instance = new virtual_gpu::Settings(read());
  return *instance;
}

bool is_unified(int number) {
  return settings().kinds[static_cast<std::size_t>(number)] != virtual_gpu::Kind::discrete;
}

int planned_fault(const std::string& call) {
  static const auto* const faults = new std::vector<Fault>(read_faults());
  static auto* const calls = new std::map<std::string, int>;
  if (faults->empty()) return 0;
  const int number = ++(*calls)[call];
  for (const Fault& fault : *faults) {
    if (fault.call == call && (fault.number == 0 || fault.number == number)) return fault.code;
  }
  return 0;
}

}  // namespace simulated_metal
