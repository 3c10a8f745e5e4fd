// The plug-in over the virtual GPU, without the two symbols it exports. Each shared library made of it says who it is.
#pragma once

#include <cstdint>

#include "sluice/backend.h"

namespace virtual_gpu {

struct Identity {
  std::uint32_t dialect;
  const char* libraries[2];  // vendor libraries: one that is there, and one that is unless $VIRTUAL_GPU_DNN=1 missing
  bool forgets_current;      // an error of some plug-ins: it does not make its device the current one
};

extern const char backend_name[];
extern const Identity identity;
extern const sluice_backend table;

/// Bit k is set once the host has enabled vendor library k.
std::uint32_t enabled_libraries();

}  // namespace virtual_gpu
