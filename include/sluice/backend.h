/* The C interface between the library and a backend, a shared library that makes one kind of device usable. Valid C11;
   includes nothing of the library. A backend is one file `libsluice-<name>.so` that exports two symbols:

     const uint32_t sluice_backend_abi = SLUICE_BACKEND_ABI;
     const sluice_backend* sluice_backend_open(uint32_t host_abi);

   The number is read before anything runs; another number is refused. The function returns a constant table, or null.

   Rules for every function of the table:
   - It may be called from any thread; calls for one device come one at a time, except `last_error`, those that may wait
     (`read`, `wait`) and those that make kernels (`compile`, `kernel_binary`, `load_binary`): these come while other
     threads are in any call for the same device.
   - It returns a status. Unless that is SLUICE_OK, `last_error` says in words what went wrong in this thread. Nothing
     is thrown, nothing aborts, nothing is printed.
   - It leaves the thread's current device of the vendor's library as it found it, also when it fails.
   - Memory that one side has allocated is freed by that side. Text passed out is copied at once.
   - Work is queued in order on one queue per device. Only `read`, `wait`, `sync` and `free_host` wait for it.

   Growing: fields are only appended. Every struct but sluice_argument, which is fixed, begins with its size, set by
   whoever fills it; what lies beyond it, and every null function, counts as unsupported. A backend without `compile`
   and `launch` holds memory, but is not functional. */
#ifndef SLUICE_BACKEND_H
#define SLUICE_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_BACKEND_ABI 1u

#if defined(_WIN32)
#define SLUICE_BACKEND_EXPORT __declspec(dllexport)
#else
#define SLUICE_BACKEND_EXPORT __attribute__((visibility("default")))
#endif

/* ---- Status of a call. */
typedef int32_t sluice_status;
#define SLUICE_OK 0
#define SLUICE_ERROR 1         /* anything else */
#define SLUICE_OUT_OF_MEMORY 2 /* try again after memory was freed */
#define SLUICE_DEVICE_LOST 3   /* this device has failed for good */
#define SLUICE_UNSUPPORTED 4   /* never possible on this device */
#define SLUICE_BAD_SOURCE 5    /* kernel text that does not compile; last_error has the compiler's log */

/* ---- What the host holds but cannot look into. */
typedef struct sluice_device sluice_device;
typedef struct sluice_kernel sluice_kernel;
typedef uint64_t sluice_memory; /* a block of device memory; 0 is none */
typedef uint64_t sluice_ticket; /* a point in a device's queue */

/* ---- What a device is. */
#define SLUICE_KIND_OTHER 0u
#define SLUICE_KIND_DISCRETE 1u   /* has memory of its own */
#define SLUICE_KIND_INTEGRATED 2u /* shares the host's memory */
#define SLUICE_KIND_CPU 3u        /* a processor in the dress of a device; never chosen unasked */

/* The language of kernel text. */
#define SLUICE_DIALECT_CUDA 1u
#define SLUICE_DIALECT_HIP 2u
#define SLUICE_DIALECT_OPENCL 3u
#define SLUICE_DIALECT_METAL 4u

#define SLUICE_FEATURE_F64 1u     /* stores and computes doubles */
#define SLUICE_FEATURE_UNIFIED 2u /* host and device share physical memory */

typedef struct sluice_device_info {
  uint32_t size;           /* set by the host: room for this many bytes */
  uint32_t kind;           /* SLUICE_KIND_... */
  uint32_t dialect;        /* SLUICE_DIALECT_... */
  uint32_t features;       /* SLUICE_FEATURE_... or'ed */
  uint64_t memory_bytes;   /* in all; 0 if unknown */
  uint32_t max_group_size; /* work items of a group */
  uint32_t local_bytes;    /* local (shared) memory of a group */
  char name[128];          /* "NVIDIA H200"; all text is UTF-8 and ends with 0 */
  char architecture[64];   /* what the compiler calls it: "sm_90" */
  char driver[64];         /* version of the driver */
  char card[64];           /* names the physical card alike in every backend, for example by its PCI address
                              "0000:41:00.0"; empty if unknown */
} sluice_device_info;

/* ---- Kernels. */
typedef struct sluice_source {
  uint32_t size;
  uint32_t flags;      /* 0 */
  const char* text;    /* in the device's dialect, ends with 0 */
  const char* entry;   /* name of the kernel function */
  const char* options; /* for the compiler, may be empty; never null */
} sluice_source;

/* One kernel argument: a block of memory with an offset, or `bytes` bytes at `value`. */
typedef struct sluice_argument {
  sluice_memory memory; /* 0: pass the value */
  uint64_t offset;      /* bytes into the block */
  const void* value;
  uint32_t bytes;
  uint32_t reserved; /* 0 */
} sluice_argument;

typedef struct sluice_launch {
  uint32_t size;
  uint32_t argument_count;
  uint32_t groups[3];
  uint32_t group_size[3];
  const sluice_argument* arguments;
} sluice_launch;

/* c = alpha op(a) op(b) + beta c, column-major, `batch` times. */
typedef struct sluice_gemm {
  uint32_t size;
  uint32_t dtype; /* SLUICE_DTYPE_... of all three */
  uint32_t transpose_a, transpose_b;
  int64_t m, n, k, batch;
  int64_t lda, ldb, ldc;
  int64_t stride_a, stride_b, stride_c; /* elements from one matrix to the next; 0 repeats it */
  sluice_memory a, b, c;
  uint64_t offset_a, offset_b, offset_c; /* bytes */
  double alpha, beta;
  uint32_t flags; /* SLUICE_GEMM_... or'ed */
  uint32_t reserved;
} sluice_gemm;
#define SLUICE_GEMM_TF32 1u /* the user allows factors of f32 to be rounded to TF32 */
#define SLUICE_DTYPE_F16 6u
#define SLUICE_DTYPE_BF16 7u
#define SLUICE_DTYPE_F32 8u
#define SLUICE_DTYPE_F64 9u

/* A vendor's math library that the backend can use, for example cuDNN. */
#define SLUICE_COMPONENT_MISSING 0u
#define SLUICE_COMPONENT_FOUND 1u /* opened, nothing called yet: `probe` makes the first call */
typedef struct sluice_component {
  uint32_t size;
  uint32_t state;   /* SLUICE_COMPONENT_... */
  char name[32];    /* "cuBLAS" */
  char file[256];   /* what was opened, empty if nothing */
  char version[32]; /* empty if unknown */
  char reason[256]; /* why it is missing */
} sluice_component;

typedef struct sluice_backend {
  uint32_t size; /* sizeof(sluice_backend) when the backend was compiled */
  uint32_t reserved;
  const char* name; /* "CUDA", "AMDGPU", "Metal", "OpenCL" or another one; constant */

  /* Why the last call of this thread failed; valid until its next call. */
  const char* (*last_error)(void);

  /* Opens the driver at the first call and counts devices. SLUICE_UNSUPPORTED: no driver is installed, which is no news
     to the user; SLUICE_ERROR: there is one that cannot be used, and the user is told why. A driver that sees no device
     is SLUICE_OK and 0, and then last_error may say more. */
  sluice_status (*device_count)(uint32_t* count);
  /* Opens device `number`, once per process. It stays open. */
  sluice_status (*open)(uint32_t number, sluice_device** device);
  sluice_status (*info)(sluice_device* device, sluice_device_info* info);

  /* Device memory, aligned to 256 bytes; bytes > 0. `free` may be called while queued work uses the block. */
  sluice_status (*alloc)(sluice_device* device, uint64_t bytes, sluice_memory* memory);
  sluice_status (*free)(sluice_device* device, sluice_memory memory);
  /* Host memory that the device reaches at full speed (pinned). */
  sluice_status (*alloc_host)(sluice_device* device, uint64_t bytes, void** memory);
  sluice_status (*free_host)(sluice_device* device, void* memory);

  /* Copies from the host, after all queued work. The source may be reused when `write` returns. */
  sluice_status (*write)(sluice_device* device, sluice_memory to, uint64_t offset, const void* from, uint64_t bytes);
  /* Copies to the host, after all queued work, and waits for it. */
  sluice_status (*read)(sluice_device* device, sluice_memory from, uint64_t offset, void* to, uint64_t bytes);
  /* The same without waiting; host memory comes from alloc_host and stays untouched until wait(ticket). */
  sluice_status (*write_async)(sluice_device* device, sluice_memory to, uint64_t offset, const void* from,
                               uint64_t bytes, sluice_ticket* ticket);
  sluice_status (*read_async)(sluice_device* device, sluice_memory from, uint64_t offset, void* to, uint64_t bytes,
                              sluice_ticket* ticket);
  /* Waits until the queue has passed the ticket. */
  sluice_status (*wait)(sluice_device* device, sluice_ticket ticket);
  /* Copies within a device. */
  sluice_status (*copy)(sluice_device* device, sluice_memory to, uint64_t to_offset, sluice_memory from,
                        uint64_t from_offset, uint64_t bytes);
  /* Copies between two devices of this backend: after all queued work of both, before later work of either. */
  sluice_status (*peer_copy)(sluice_device* to_device, sluice_memory to, uint64_t to_offset, sluice_device* from_device,
                             sluice_memory from, uint64_t from_offset, uint64_t bytes);

  sluice_status (*compile)(sluice_device* device, const sluice_source* source, sluice_kernel** kernel);
  /* The compiled form, for a cache on disk. With buffer null only `bytes` is set; else it holds
     the room when called and what was written after. */
  sluice_status (*kernel_binary)(sluice_kernel* kernel, void* buffer, uint64_t* bytes);
  /* A binary that is foreign, broken or out of date is SLUICE_ERROR; the host then compiles the text. */
  sluice_status (*load_binary)(sluice_device* device, const void* binary, uint64_t bytes, const char* entry,
                               sluice_kernel** kernel);
  sluice_status (*launch)(sluice_device* device, sluice_kernel* kernel, const sluice_launch* launch);
  /* May answer SLUICE_UNSUPPORTED; the host then uses its own kernels, as it does where these are quicker. It is asked
     only after component 0, if there is one, was enabled: that is the library that multiplies. */
  sluice_status (*gemm)(sluice_device* device, const sluice_gemm* gemm);

  /* Component number k, from 0; SLUICE_UNSUPPORTED past the last. Makes no call into the component. */
  sluice_status (*component)(uint32_t k, sluice_component* component);
  /* The first call into component k. It may hang or abort: the host calls it in a process of its own only. */
  sluice_status (*probe)(sluice_device* device, uint32_t k);
  /* From then on the backend may use component k. */
  sluice_status (*enable)(uint32_t k);

  /* The vendor's handle of the device (CUdevice, hipDevice_t, id<MTLDevice>, cl_device_id) as a number. */
  sluice_status (*native_handle)(sluice_device* device, uint64_t* handle);
  /* Memory of the device that somebody else owns, as a block; `free` then only forgets it. */
  sluice_status (*wrap)(sluice_device* device, uint64_t address, uint64_t bytes, sluice_memory* memory);
  /* Waits for all queued work and reports what it met. */
  sluice_status (*sync)(sluice_device* device);
  /* Memory of the device that is free now, in bytes, for messages. */
  sluice_status (*free_bytes)(sluice_device* device, uint64_t* bytes);
  /* Where a block begins, as the vendor's own libraries take it (CUdeviceptr, hipDeviceptr_t). Work that is queued may
     still write it. */
  sluice_status (*address)(sluice_device* device, sluice_memory memory, uint64_t* address);
} sluice_backend;

typedef const sluice_backend* (*sluice_backend_open_function)(uint32_t host_abi);

extern SLUICE_BACKEND_EXPORT const uint32_t sluice_backend_abi;
SLUICE_BACKEND_EXPORT const sluice_backend* sluice_backend_open(uint32_t host_abi);

#ifdef __cplusplus
}
#endif
#endif
