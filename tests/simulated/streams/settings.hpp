// A vendor's driver, run-time compiler and BLAS without a GPU: libraries under the names of the real ones, which the
// vendor's backend finds when their folder stands in $LD_LIBRARY_PATH, and which it cannot tell from them. Kernels run
// on the virtual GPU. ../cuda/ and ../hip/ have the functions that they export, in terms of what is here.
//
//   LD_LIBRARY_PATH=<build>/tests/simulated/cuda VIRTUAL_CUDA_COUNT=2 <build>/bin/sluice doctor
//   LD_LIBRARY_PATH=<build>/tests/simulated/hip VIRTUAL_HIP_COUNT=2 <build>/bin/sluice doctor
//
// Queued work runs as late as it may, when somebody waits for it, so what is not ordered by streams and events gives
// wrong numbers. Memory, streams, events and kernels of another device than the current one are refused.
//
// The environment sets it up. VIRTUAL_CUDA_ or VIRTUAL_HIP_ before COUNT, MEMORY, POISON, ORDER, SEED and CACHE are as
// in
// ../virtual_gpu_controls.h; beside them:
//   SIMULATED_CUDA_VERSION       of the driver, 12040 unless set
//   SIMULATED_CUDA_CAPABILITY    of the devices, 90 unless set
//   SIMULATED_NVRTC_VERSION      12040 unless set
//   SIMULATED_NVRTC_CAPABILITIES those that it compiles for, "75,80,86,90,100" unless set
//   SIMULATED_HIP_VERSION        of the run-time, 70051831 unless set
//   SIMULATED_HIP_ARCHITECTURE   of the devices, "gfx90a:sramecc+:xnack-" unless set
//   SIMULATED_HIP_KNOWN          architectures that hipRTC compiles for, "gfx906,gfx90a,gfx942,gfx1030,gfx1100" unless
//                                set; with another one it ends the process, as the real one may
//   SIMULATED_CUDA_FAULTS        "cuInit=34": every call gives this code; "cuMemAlloc_v2=2@4": the 4th one does;
//   SIMULATED_HIP_FAULTS         "kernel=700@3": the 3rd kernel that runs breaks its device with it;
//                                "rocblas_create_handle=abort": the call ends the process; separated by commas
#pragma once

#include <string>
#include <vector>

namespace simulated {

/// A variable of the environment.
std::string text_of(const char* variable, const std::string& otherwise);
int number_of(const char* variable, int otherwise);
/// The entries of a list that is separated by commas.
std::vector<std::string> list_of(const char* variable, const std::string& otherwise);

/// The code with which this call of a function fails, 0 if it does not. Counts calls.
int planned_fault(const std::string& function);
/// Another plan from now on, in the form of the variable; calls are counted anew. How many faults the last one gave.
/// The driver exports it as cuSimulatedFaults or hipSimulatedFaults.
int set_faults(const char* plan);

}  // namespace simulated
