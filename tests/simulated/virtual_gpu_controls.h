/* What tests may do to a virtual GPU behind a backend's back. A plug-in made of tests/simulated/ exports these
   functions; a test finds them with dlsym (see controls.hpp). They are not part of the driver: no fault hits them, no
   counter counts them, and they work in a forked child.

   One device that runs kernels, called Virtual:0, for any program:
     SLUICE_BACKEND_PATH=<build>/tests/plugins/virtual VIRTUAL_GPU_COUNT=1

   The environment sets a virtual GPU up when a backend first uses it. Each variable is looked up as
   VIRTUAL_<BACKEND>_X, then as VIRTUAL_GPU_X, so that several backends in one process can differ (VIRTUAL_CUDA_COUNT,
   VIRTUAL_OPENCL_COUNT):

     COUNT    devices that are plugged in, 3 unless set
     VISIBLE  numbers of those that can be seen, in their new order; the list ends at the first entry that is no such
              number
     MEMORY   bytes of each device, 1 GiB unless set
     POISON   0: new blocks hold zeros, freed ones are left as they are
     KIND     discrete, integrated or cpu for each device that is plugged in, separated by commas; discrete unless set
     CARD     what the name of the card begins with, its number follows; without it the card is unknown
     DIALECT  cuda, hip, opencl or metal: the language of kernels; unless set that of the backend
     F64      0: no doubles, which is so for metal unless set
     ORDER    forward, backward or shuffled: the order of the items of a group; shuffled unless set
     SEED     of the shuffling, 0 unless set
     CACHE    the folder of compiled kernels; in the build folder unless set
     PROMPT   1: writes happen at once when nothing is queued; for benchmarks
     DNN      1: the second vendor library is there
     FAULTS   a plan of faults, see virtual_gpu_set_faults */
#ifndef SLUICE_TESTS_SIMULATED_VIRTUAL_GPU_CONTROLS_H
#define SLUICE_TESTS_SIMULATED_VIRTUAL_GPU_CONTROLS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VIRTUAL_GPU_EXPORT __attribute__((visibility("default")))

/* What memory holds that nothing was written to: NaN in every floating type. */
#define VIRTUAL_GPU_FRESH_BYTE 0xFFu
/* What memory holds after its block was freed: a large number, not NaN. */
#define VIRTUAL_GPU_FREED_BYTE 0xFDu

/* What lies around each block; kernels may neither read nor write it. */
#define VIRTUAL_GPU_GUARD_BYTE 0xFBu

/* The exit code of a process that calls a driver which has shut down, under the fault strict-exit. */
#define VIRTUAL_GPU_EXIT_CODE 86

/* Calls of the driver. */
enum {
  VIRTUAL_GPU_INITIALISE,
  VIRTUAL_GPU_COUNT,
  VIRTUAL_GPU_GET_CURRENT,
  VIRTUAL_GPU_SET_CURRENT,
  VIRTUAL_GPU_OPEN,
  VIRTUAL_GPU_PROPERTIES,
  VIRTUAL_GPU_ALLOC,
  VIRTUAL_GPU_FREE,
  VIRTUAL_GPU_ALLOC_HOST,
  VIRTUAL_GPU_FREE_HOST,
  VIRTUAL_GPU_WRITE,
  VIRTUAL_GPU_READ,
  VIRTUAL_GPU_WRITE_ASYNC,
  VIRTUAL_GPU_READ_ASYNC,
  VIRTUAL_GPU_WAIT,
  VIRTUAL_GPU_COPY,
  VIRTUAL_GPU_PEER_COPY,
  VIRTUAL_GPU_COMPILE,
  VIRTUAL_GPU_BINARY,
  VIRTUAL_GPU_LOAD,
  VIRTUAL_GPU_LAUNCH,
  VIRTUAL_GPU_PROBE,
  VIRTUAL_GPU_NATIVE,
  VIRTUAL_GPU_WRAP,
  VIRTUAL_GPU_SYNC,
  VIRTUAL_GPU_FREE_BYTES,
  VIRTUAL_GPU_CALLS
};

typedef struct virtual_gpu_counters {
  uint64_t all;                      /* every call of the driver, also those that failed */
  uint64_t calls[VIRTUAL_GPU_CALLS]; /* the same by kind */
  uint64_t traps;                    /* accesses that the device could not make: memory of a device that is not current,
                                        of none, beyond a block's end, or host memory that is not pinned; kernels
                                        that write beside a block, or whose items do not all reach a barrier */
  uint64_t overlaps;                 /* calls of the backend for a device that was in a call already */
  uint64_t host_reads;               /* copies from a device to the host, and their bytes */
  uint64_t host_read_bytes;
} virtual_gpu_counters;

VIRTUAL_GPU_EXPORT void virtual_gpu_read_counters(virtual_gpu_counters* counters);
VIRTUAL_GPU_EXPORT void virtual_gpu_reset_counters(void);
VIRTUAL_GPU_EXPORT uint64_t virtual_gpu_traps(void);

/* Sets the plan of faults and counts calls for it from here on; lost devices work again. Null: as the environment says.
   Answers 0, or 1 and changes nothing if the plan has an error. A comma list of:

     alloc:3       the third allocation is out of memory
     compile:1     the first compilation fails with a log
     copy:2        the second copy of any kind fails
     launch:1      the first launch computes wrong numbers
     launch-error:1, open:1, free:1, alloc-host:1, free-host:1, write:1, read:1, write-async:1, read-async:1, wait:1,
     device-copy:1, peer-copy:1, binary:1, load:1, probe:1, native:1, wrap:1, sync:1, free-bytes:1, properties:1
                   the first such call fails
     late:2        the second piece of queued work fails when it runs; the next call that waits reports it
     lost:5        the fifth call for a device loses that device for good
     throw:4       the fourth call for a device throws a C++ exception
     slow-open:200 opening a device takes 200 ms
     abort-probe, hang-probe
                   the first call into a vendor library ends the process, or never returns
     no-driver, old-driver, no-device
                   there is none; it is too old; it sees no device
     strict-exit   a call after the driver has shut down at exit ends the process with VIRTUAL_GPU_EXIT_CODE */
VIRTUAL_GPU_EXPORT int32_t virtual_gpu_set_faults(const char* plan);

/* The calling thread's current device. */
VIRTUAL_GPU_EXPORT int32_t virtual_gpu_get_current(void);
VIRTUAL_GPU_EXPORT void virtual_gpu_set_current(int32_t number);

/* Blocks and bytes that are allocated and not freed; wrapped memory is not counted. */
VIRTUAL_GPU_EXPORT void virtual_gpu_live(uint32_t number, uint64_t* blocks, uint64_t* bytes);
/* Pieces of queued work of a device that have not run yet. */
VIRTUAL_GPU_EXPORT uint64_t virtual_gpu_pending(uint32_t number);
/* Bit k is set if the backend may use vendor library k. */
VIRTUAL_GPU_EXPORT uint32_t virtual_gpu_enabled(void);

#ifdef __cplusplus
}
#endif
#endif
