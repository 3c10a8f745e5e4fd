// OpenCL C for the C++ compiler of the tests.
#include "host.h"

typedef unsigned int uint;
typedef unsigned long ulong;

#define __kernel extern "C"
#define __global
#define __constant const
#define __local VIRTUAL_LOCAL
#define reqd_work_group_size(x, y, z) unused
#define CLK_LOCAL_MEM_FENCE 1
#define barrier(fence) VIRTUAL_WAIT
#define get_local_id(axis) ((unsigned long)virtual_now->item)
#define get_group_id(axis) ((unsigned long)virtual_now->group)
#define get_num_groups(axis) ((unsigned long)virtual_now->groups)
#define get_global_id(axis) ((unsigned long)virtual_now->group * virtual_now->group_size + virtual_now->item)
#define FP_FAST_FMAF 1

static inline int as_int(float x) { return virtual_bits<int>(x); }
static inline float as_float(int bits) { return virtual_bits<float>(bits); }
static inline ulong as_ulong(double x) { return virtual_bits<ulong>(x); }
static inline double as_double(ulong bits) { return virtual_bits<double>(bits); }

static inline float floor(float x) { return floorf(x); }
static inline float sqrt(float x) { return sqrtf(x); }
static inline float fabs(float x) { return fabsf(x); }
static inline float rint(float x) { return rintf(x); }
static inline float sin(float x) { return sinf(x); }
static inline float cos(float x) { return cosf(x); }
static inline float fmod(float x, float y) { return fmodf(x, y); }
static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
