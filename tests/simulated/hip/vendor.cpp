// What makes the common parts those of HIP.
#include "tests/simulated/streams/call.hpp"

namespace virtual_gpu {

// The variables of the environment are VIRTUAL_HIP_... .
const char backend_name[] = "HIP";
const Identity identity = {SLUICE_DIALECT_HIP, {nullptr, nullptr}, false};

}  // namespace virtual_gpu

namespace simulated {

// HIP starts itself at the first call of a process, and each thread begins with the first device.
int prepare(Driver& driver) {
  if (const int code = driver.start()) return code;
  if (current() == nullptr) current() = driver.contexts.front().get();
  return 0;
}

}  // namespace simulated
