// CUDA C++, and HIP with it, for the compiler of the tests.
#include "host.h"

#define __device__
#define __global__
#define __forceinline__ inline
#define __shared__ VIRTUAL_LOCAL
#define __launch_bounds__(items)
#define __syncthreads() VIRTUAL_WAIT
#define threadIdx (virtual_place{virtual_now->item})
#define blockIdx (virtual_place{virtual_now->group})
#define blockDim (virtual_place{virtual_now->group_size})
#define gridDim (virtual_place{virtual_now->groups})

struct virtual_place {
  unsigned int x;
};

static inline int __float_as_int(float x) { return virtual_bits<int>(x); }
static inline float __int_as_float(int bits) { return virtual_bits<float>(bits); }
static inline long long __double_as_longlong(double x) { return virtual_bits<long long>(x); }
static inline double __longlong_as_double(long long bits) { return virtual_bits<double>(bits); }
