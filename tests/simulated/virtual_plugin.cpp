// What makes the virtual backend one of several: its name, dialect and vendor libraries, and the two symbols of a
// plug-in. Compiled once for each plug-in, with SLUICE_VIRTUAL_NAME and perhaps the others set.
#include "sluice/backend.h"
#include "tests/simulated/virtual_backend.hpp"

#ifndef SLUICE_VIRTUAL_NAME
#define SLUICE_VIRTUAL_NAME Virtual
#endif
#ifndef SLUICE_VIRTUAL_DIALECT
#define SLUICE_VIRTUAL_DIALECT SLUICE_DIALECT_CUDA
#endif
#ifndef SLUICE_VIRTUAL_BLAS
#define SLUICE_VIRTUAL_BLAS VirtualBLAS
#endif
#ifndef SLUICE_VIRTUAL_DNN
#define SLUICE_VIRTUAL_DNN VirtualDNN
#endif
#ifndef SLUICE_VIRTUAL_FORGETS_CURRENT
#define SLUICE_VIRTUAL_FORGETS_CURRENT false
#endif
#define SLUICE_TEXT(name) SLUICE_TEXT_OF(name)
#define SLUICE_TEXT_OF(name) #name

namespace virtual_gpu {

const char backend_name[] = SLUICE_TEXT(SLUICE_VIRTUAL_NAME);

const Identity identity = {SLUICE_VIRTUAL_DIALECT,
                           {SLUICE_TEXT(SLUICE_VIRTUAL_BLAS), SLUICE_TEXT(SLUICE_VIRTUAL_DNN)},
                           SLUICE_VIRTUAL_FORGETS_CURRENT};

}  // namespace virtual_gpu

#ifndef SLUICE_VIRTUAL_ODD
const uint32_t sluice_backend_abi = SLUICE_BACKEND_ABI;

const sluice_backend* sluice_backend_open(uint32_t host_abi) {
  return host_abi == SLUICE_BACKEND_ABI ? &virtual_gpu::table : nullptr;
}
#endif
