// A CUDA driver, an NVRTC and a cuBLAS without a GPU: libraries under the names of the real ones, which the CUDA
// backend finds when their folder stands in $LD_LIBRARY_PATH, and which it cannot tell from them. Kernels run on the
// virtual GPU.
//
//   LD_LIBRARY_PATH=<build>/tests/simulated/cuda VIRTUAL_CUDA_COUNT=2 <build>/bin/sluice doctor
//
// Queued work runs as late as it may, when somebody waits for it, so what is not ordered by streams and events gives
// wrong numbers. Memory, streams, events and kernels of another context than the current one are refused.
//
// The environment sets it up. COUNT, MEMORY, POISON, ORDER, SEED and CACHE are as in ../virtual_gpu_controls.h; beside
// them:
//   SIMULATED_CUDA_VERSION       of the driver, 12040 unless set
//   SIMULATED_CUDA_CAPABILITY    of the devices, 90 unless set
//   SIMULATED_CUDA_FAULTS        "cuInit=34" every call gives this code, "cuMemAlloc_v2=2@4" the 4th one does,
//                                "kernel=700@3" the 3rd kernel that runs breaks its context with it; separated by
//                                commas
//   SIMULATED_NVRTC_VERSION      12040 unless set
//   SIMULATED_NVRTC_CAPABILITIES those that it compiles for, "75,80,86,90,100" unless set
#pragma once

#include <string>
#include <vector>

namespace simulated_cuda {

/// A variable of the environment that holds a number.
int number_of(const char* variable, int otherwise);
/// The numbers of a list that is separated by commas.
std::vector<int> numbers_of(const char* variable, const std::string& otherwise);

/// The code with which this call of a function fails, 0 if it does not. Counts calls; the caller holds a lock.
int planned_fault(const std::string& function);

}  // namespace simulated_cuda
