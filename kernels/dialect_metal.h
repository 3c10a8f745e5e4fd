// The kernels' C dialect on the Metal shading language. See dialect.h. There is no double. The compiler is called
// without fast maths.
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp contract(off)

typedef long k_i64;
typedef ulong k_u64;

#define KFN static inline
#define K_KERNEL(name) [[max_total_threads_per_threadgroup(K_GROUP_SIZE)]] kernel void name
#define K_IDS                                                                                      \
  , uint k_item [[thread_position_in_threadgroup]], uint k_group [[threadgroup_position_in_grid]], \
      uint k_groups [[threadgroups_per_grid]]
#define K_GLOBAL device
#define K_READ(T, name, slot) device const T* name [[buffer(slot)]]
#define K_WRITE(T, name, slot) device T* name [[buffer(slot)]]
#define K_VALUES(T, name, slot) constant T& name [[buffer(slot)]]
#define K_LOCAL(T, name, count) threadgroup T name[count]
#define K_LOCAL_POINTER(T) threadgroup T*
#define K_BARRIER threadgroup_barrier(mem_flags::mem_threadgroup)
#define K_ITEM k_item
#define K_GROUP k_group
#define K_GROUPS k_groups

KFN int k_bits(float x) { return as_type<int>(x); }
KFN float k_float(int bits) { return as_type<float>(bits); }
KFN float k_floor(float x) { return floor(x); }
KFN float k_sqrt(float x) { return precise::sqrt(x); }
KFN float k_abs(float x) { return fabs(x); }
KFN float k_rint(float x) { return rint(x); }
KFN float k_fmod_f32(float x, float y) { return precise::fmod(x, y); }
KFN float k_device_sin(float x) { return precise::sin(x); }
KFN float k_device_cos(float x) { return precise::cos(x); }
KFN float k_multiply_add_f32(float x, float y, float z) { return fma(x, y, z); }
