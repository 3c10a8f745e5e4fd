// What makes the common parts those of CUDA.
#include "tests/simulated/streams/call.hpp"

namespace virtual_gpu {

// The virtual GPU reads the variables of its CUDA backend, and shares its compiled kernels.
const char backend_name[] = "CUDA";
const Identity identity = {SLUICE_DIALECT_CUDA, {nullptr, nullptr}, false};

}  // namespace virtual_gpu

namespace simulated {

// cuInit() starts the driver.
int prepare(Driver&) { return 0; }

}  // namespace simulated
