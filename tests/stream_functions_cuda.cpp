#include "backends/cuda/cuda_api.hpp"
#include "tests/stream_functions.hpp"

namespace sluice::tests {

std::vector<std::string> cuda_functions() {
#define SLUICE_NAME(ours, theirs, parameters) #theirs,
  return {SLUICE_CUDA_FUNCTIONS(SLUICE_NAME)};
#undef SLUICE_NAME
}

}  // namespace sluice::tests
