// What a test finds in its environment, whatever its user has: no kernels of earlier runs, which would not be compiled.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kSet = setenv("SLUICE_KERNEL_CACHE", "off", 1);

}  // namespace
