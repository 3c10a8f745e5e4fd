#include "backends/hip/hip_api.hpp"
#include "tests/stream_functions.hpp"

namespace sluice::tests {

std::vector<std::string> hip_functions() {
#define SLUICE_NAME(ours, theirs, parameters) #theirs,
  return {SLUICE_HIP_FUNCTIONS(SLUICE_NAME)};
#undef SLUICE_NAME
}

}  // namespace sluice::tests
